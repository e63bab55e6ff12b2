"""The section `memory.recall`: what leads when facts are looked for, and the optional steps."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, model_validator
from pydantic.config import JsonDict

from gaia_memory.config.sections.provider_section import (
    Amount,
    Count,
    Days,
    ProviderConfig,
    Section,
    Share,
    reject_bool,
)

Weight = Annotated[float, Field(ge=0, le=10, allow_inf_nan=False), BeforeValidator(reject_bool)]

_Tokens = Annotated[int, Field(ge=10, le=100_000), BeforeValidator(reject_bool)]

RecallLimit = Annotated[int, Field(ge=1, le=50), BeforeValidator(reject_bool)] | Literal["auto"]

_POINTS: JsonDict = {"unit": "points"}


class RecallWeights(Section):
    """What each reason counts when facts are put in order; 0 switches it off."""

    keywords: Weight = Field(
        default=1.0,
        description="The words of the question in a fact and its neighbours (BM25). 0: only vectors find facts.",
        json_schema_extra=_POINTS,
    )
    vectors: Weight = Field(
        default=0.15,
        description=(
            "The likeness of meaning, in standard deviations of the cosine. 0: only words find facts, and the embedder "
            "is not asked."
        ),
        json_schema_extra=_POINTS,
    )
    surroundings: Weight = Field(
        default=0.1,
        description="How much of the question stands within three turns of a fact.",
        json_schema_extra=_POINTS,
    )
    conversation: Weight = Field(
        default=0.1,
        description="How much of the question was found in the same conversation.",
        json_schema_extra=_POINTS,
    )
    phrases: Weight = Field(
        default=0.2,
        description="Words that follow each other as in the question.",
        json_schema_extra=_POINTS,
    )
    speaker: Weight = Field(
        default=0.6,
        description="Said by the one person whom the question names.",
        json_schema_extra=_POINTS,
    )
    subject: Weight = Field(
        default=0.4,
        description="Begins with the one name in the question.",
        json_schema_extra=_POINTS,
    )
    names: Weight = Field(
        default=0.5,
        description="Holds a name or a number of the question that few facts hold.",
        json_schema_extra=_POINTS,
    )
    dates: Weight = Field(
        default=1.0,
        description="Said in the month, on the day or in the year that the question names.",
        json_schema_extra=_POINTS,
    )
    kinds: Weight = Field(
        default=0.5,
        description="Holds what is asked for: a time for when, a number for how many, a place for where.",
        json_schema_extra=_POINTS,
    )
    asking: Share = Field(
        default=0.3,
        le=0.9,
        description="The share that a fact loses where all of it only asks something.",
        json_schema_extra={"unit": "what it has"},
    )
    recency: Weight = Field(
        default=0.05,
        description="Said lately. Much more than the default puts what is new above what answers better.",
        json_schema_extra=_POINTS,
    )
    diversity: Share = Field(
        default=0.5,
        description="The share that a fact loses which says the same, in nearly the same words, as a better one.",
        json_schema_extra={"unit": "what it has"},
    )

    @model_validator(mode="after")
    def _can_find(self) -> RecallWeights:
        if not self.keywords and not self.vectors:
            raise ValueError("leaves nothing to find facts by: keywords and vectors are both 0")
        return self


class RecallConfig(Section):
    """How facts are found and put in order."""

    weights: RecallWeights = Field(
        default=RecallWeights(),
        description=RecallWeights.__doc__,
        json_schema_extra={"allowed": "a section of weights; `keywords` or `vectors` above 0"},
    )
    recency_half_life_days: Days = Field(
        default=90,
        description="After how many days what was said counts as half as recent.",
        json_schema_extra={"unit": "days"},
    )
    candidates: Count = Field(
        default=100,
        ge=10,
        le=1000,
        description="How many facts each way of searching may find before they are put in order.",
        json_schema_extra={"unit": "facts"},
    )
    tokens: _Tokens | None = Field(
        default=None,
        description=(
            "How many tokens the facts of one recall have at most, by a cautious estimate; the best one is always "
            "returned."
        ),
        json_schema_extra={"unit": "tokens"},
    )
    seconds: Amount = Field(
        default=5.0,
        ge=0.1,
        le=60,
        allow_inf_nan=False,
        description="How long recall waits for each way of searching, for rewriting and for the reranker.",
        json_schema_extra={"unit": "seconds"},
    )
    rewrite: bool = Field(
        default=False,
        description=(
            "Ask `memory.llm` once a recall for other words of the question, and look for these, too. The question "
            "is sent to it; the offline model is not asked."
        ),
    )
    rerank_first: Count = Field(
        default=30,
        ge=2,
        le=100,
        description="How many of the best facts the reranker is shown.",
        json_schema_extra={"unit": "facts"},
    )
    rerank_share: Share = Field(
        default=1.0,
        description="The share that the reranker has in the order of these, beside all else. 1: it alone decides.",
        json_schema_extra={"unit": "the order"},
    )


class RerankerConfig(ProviderConfig):
    """Who reads the question beside each of the best facts and puts them in order."""

    provider: str = Field(
        default="none",
        min_length=1,
        description="The reranker's name: `none`, `local`, or one of mem0's.",
        json_schema_extra={"allowed": "the name of a reranker"},
    )
