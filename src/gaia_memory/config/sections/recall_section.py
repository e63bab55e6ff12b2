"""The section `memory.recall`: the weights of the score, and the optional steps."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, model_validator

from gaia_memory.config.sections.provider_section import (
    Amount,
    Count,
    ProviderConfig,
    Section,
    Share,
    reject_bool,
)

Weight = Annotated[
    float,
    Field(ge=0, le=10, allow_inf_nan=False, json_schema_extra={"unit": "points"}),
    BeforeValidator(reject_bool),
]

_Tokens = Annotated[int, Field(ge=10, le=100_000), BeforeValidator(reject_bool)]

RecallLimit = Annotated[int, Field(ge=1, le=50), BeforeValidator(reject_bool)] | Literal["auto"]


ScoreThreshold = Share | Literal["auto"]


class RecallWeights(Section):
    """The weight of each part of the score; 0 switches it off."""

    keywords: Weight = Field(
        default=1.0,
        description="Words of the question in a fact and its neighbours (BM25). 0: only vectors find facts.",
    )
    vectors: Weight = Field(
        default=0.15,
        description="Similarity, in standard deviations of the cosine. 0: only words find facts, without the embedder.",
    )
    surroundings: Weight = Field(default=0.1, description="Words of the question within three turns of a fact.")
    conversation: Weight = Field(default=0.2, description="Words of the question in the same conversation.")
    speaker: Weight = Field(
        default=0.6, description="Said by the only person that the question names, or by the user if it names nobody."
    )
    subject: Weight = Field(default=0.6, description="Starts with the only name in the question.")
    names: Weight = Field(default=0.5, description="Contains a rare name or number of the question.")
    dates: Weight = Field(default=1.0, description="Said on the day, in the month or year of the question.")
    asking: Share = Field(
        default=0.5,
        le=0.9,
        description="Share of the score that a fact loses if it is only a question.",
        json_schema_extra={"unit": "its score"},
    )

    @model_validator(mode="after")
    def _can_find(self) -> RecallWeights:
        if not self.keywords and not self.vectors:
            raise ValueError("cannot find any fact: keywords and vectors are both 0")
        return self


class RecallConfig(Section):
    """How facts are found and ranked."""

    weights: RecallWeights = Field(
        default=RecallWeights(),
        description=RecallWeights.__doc__,
        json_schema_extra={"allowed": "a section of weights; `keywords` or `vectors` above 0"},
    )
    candidates: Count = Field(
        default=100,
        ge=10,
        le=1000,
        description="Maximum facts that the vectors add to the ranking.",
        json_schema_extra={"unit": "facts"},
    )
    tokens: _Tokens | None = Field(
        default=None,
        description=(
            "Maximum tokens per recall, by a cautious estimate; the best fact is cut if it alone has more. Null: 4,000 "
            "in an answer to the model, unlimited in `memory.recall`."
        ),
        json_schema_extra={"unit": "tokens"},
    )
    cache_mb: Count = Field(
        default=256,
        ge=1,
        le=100_000,
        description=(
            "Memory of a process for the facts of those who asked last: mostly vectors, 2 kB a fact "
            "with the embedder `offline`. One person who has more is kept alone."
        ),
        json_schema_extra={"unit": "megabytes"},
    )
    seconds: Amount = Field(
        default=5.0,
        ge=0.1,
        le=60,
        allow_inf_nan=False,
        description=(
            "How long a recall may take. A model that is late is left out a second before, or after half of the time."
        ),
        json_schema_extra={"unit": "seconds"},
    )
    rewrite: bool = Field(
        default=False,
        description=(
            "Send the question to `memory.llm` once per recall and search for its rewording too. Not with the offline "
            "model."
        ),
    )
    rerank_first: Count = Field(
        default=30,
        ge=2,
        le=100,
        description="Number of best facts that the reranker gets.",
        json_schema_extra={"unit": "facts"},
    )
    rerank_share: Share = Field(
        default=1.0,
        description="Weight of the reranker against the score. 1: it alone decides the order.",
        json_schema_extra={"unit": "the order"},
    )


class RerankerConfig(ProviderConfig):
    """The model that reorders the best facts for the question."""

    provider: str = Field(
        default="none",
        min_length=1,
        description="The reranker's name: `none`, `local`, or one of mem0's.",
        json_schema_extra={"allowed": "the name of a reranker"},
    )
