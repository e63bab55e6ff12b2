"""What requests may contain: the parameters of each route and the bodies. Anything else is refused."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Any
from urllib.parse import unquote

from fastapi import Body, Path, Query
from fastapi.exceptions import RequestValidationError
from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    Json,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)
from starlette.requests import Request

from gaia_memory.growth import MAX_USAGE_DAYS, USAGE_DAYS
from gaia_memory.models.validation import MAX_KEY_CHARACTERS
from gaia_memory.recall.browse import MAX_PAGE_FACTS
from gaia_memory.recall.memory_overview_reading import MAX_TIMELINE_DAYS


def _range(minimum: int, maximum: int) -> WrapValidator:
    """Return a validator whose message names the range of a number."""

    def check(value: object, validate: ValidatorFunctionWrapHandler) -> object:
        try:
            return validate(value)
        except ValueError as error:
            raise ValueError(f"pass a whole number from {minimum} to {maximum}") from error

    return WrapValidator(check)


_Scalar = bool | int | float | str
_MAX_INT = 2**63 - 1
_MAX_DUE_DAYS = 36_500
_Offset = Annotated[int, Field(ge=0, le=_MAX_INT), _range(0, _MAX_INT)]
_FactLimit = Annotated[int, Field(ge=1, le=MAX_PAGE_FACTS), _range(1, MAX_PAGE_FACTS)]
_HitLimit = Annotated[int, Field(ge=1, le=50), _range(1, 50)]
_DayCount = Annotated[int, Field(ge=1, le=MAX_TIMELINE_DAYS), _range(1, MAX_TIMELINE_DAYS)]
_DueDays = Annotated[int, Field(ge=0, le=_MAX_DUE_DAYS), _range(0, _MAX_DUE_DAYS)]
_UsageDays = Annotated[int, Field(ge=1, le=MAX_USAGE_DAYS), _range(1, MAX_USAGE_DAYS)]
_PersonLimit = Annotated[int, Field(ge=1, le=1000), _range(1, 1000)]
_Label = Annotated[str | None, Field(max_length=200)]
_Key = Annotated[str | None, Field(max_length=MAX_KEY_CHARACTERS)]

AppName = Annotated[str, Path(description="The app, as `app` in gaia.yaml names it.")]
UserId = Annotated[str, AfterValidator(unquote), Path(description="The id of the user, percent-encoded.")]
FactId = Annotated[str, Path(description="The id of a fact.")]


class Form(BaseModel):
    """A part of a request without unknown names."""

    model_config = ConfigDict(extra="forbid")


class NoParameters(Form):
    """A query without parameters."""


_SENSITIVE: Any = Field(False, description="Whether sensitive facts may be among them.")


_AS_OF: Any = Field(None, description="List what was true at this time, which needs a zone: `2026-03-01T00:00:00Z`.")
_KNOWN_AT: Any = Field(None, description="Only by what was known at this time.")


class FactQuery(Form):
    """The query of a list of facts."""

    offset: _Offset = Field(0, description="How many facts to leave out.")
    limit: _FactLimit = Field(20, description="The most facts to return.")
    q: str = Field("", max_length=1000, description="Only facts that contain each of these words or parts of words.")
    filters: Json[dict[str, Any]] | None = Field(None, description='Filters as JSON: `{"category": "health"}`.')
    as_of: AwareDatetime | None = _AS_OF
    known_at: AwareDatetime | None = _KNOWN_AT


class SearchQuery(Form):
    """The query of a search."""

    q: str = Field(max_length=10_000, description="A question, or words.")
    limit: _HitLimit | None = Field(None, description="The most hits. Default: `memory.recall_limit`.")
    filters: Json[dict[str, Any]] | None = Field(None, description='Filters as JSON: `{"category": "health"}`.')
    include_sensitive: bool = _SENSITIVE
    as_of: AwareDatetime | None = _AS_OF
    known_at: AwareDatetime | None = _KNOWN_AT


class DueQuery(Form):
    """The query of what is due."""

    days: _DueDays = Field(7, description="How many days ahead.")
    include_sensitive: bool = _SENSITIVE


class DeletionQuery(Form):
    """The query of a deletion."""

    settled: bool = Field(False, description="Answer only when no file contains the text any more.")


class TimelineQuery(Form):
    """The query of a timeline."""

    days: _DayCount = Field(30, description="How many days, today included.")


class UsageQuery(Form):
    """The query of a digest of use."""

    days: _UsageDays = Field(USAGE_DAYS, description="How many days, today included.")


class PeopleQuery(Form):
    """The query of the list of people."""

    offset: _Offset = Field(0, description="How many people to leave out.")
    limit: _PersonLimit = Field(100, description="The most people to return.")
    q: str = Field("", max_length=1000, description="Only people whose id contains this.")


class FactForm(Form):
    """A new fact. Its fields are those of `NewFact`."""

    text: str = Field(description="One statement about the person.")
    metadata: dict[str, _Scalar] = Field({}, description="Flat values of your own.")
    category: _Label = None
    entity: _Label = Field(None, description="Whom or what it is about.")
    context: str = Field("global", max_length=200)
    agent: _Label = None
    key: _Key = Field(None, description="What there is one of at a time: `whose/what`, such as `user/home`.")
    sensitive: bool = False
    due_at: AwareDatetime | None = None
    due_zone: str | None = Field(None, max_length=200, description="An IANA time zone.")
    due_all_day: bool = False
    every: str | None = Field(None, max_length=1000, description="`daily`, `weekly`, `monthly`, `yearly` or an RRULE.")
    valid_from: AwareDatetime | None = None
    valid_until: AwareDatetime | None = None


class CorrectionForm(Form):
    """A correction: another text, another key, other metadata."""

    text: str | None = None
    key: _Key = Field(None, description="What there is one of at a time: `user/home`; null removes it.")
    metadata: dict[str, _Scalar | None] | None = Field(None, description="Names to set; null removes one.")


class RetirementForm(Form):
    """Why a fact was never true."""

    why: str = Field(min_length=1, max_length=500, description="Why it was never true, for its history.")


class DeletionForm(Form):
    """The confirmation of a deletion."""

    confirm: str = Field(description="The id of the user, once more.")
    session_id: str | None = Field(
        None, min_length=1, description="Forget only what this conversation alone taught; without it, everything."
    )


class LearnForm(Form):
    """Which conversation to learn."""

    session_id: str = Field(min_length=1, max_length=1000, description="The id of the conversation's session.")


class SweepForm(Form):
    """How to sweep."""

    force: bool = Field(False, description="Ignore idle time, back-off and parking.")


def refuse_repeated_parameters(request: Request) -> None:
    """Check that no parameter of the query stands twice: all but the last would be ignored.

    Raises:
        RequestValidationError: one does.
    """
    counts = Counter(name for name, _ in request.query_params.multi_items())
    if repeated := [name for name, count in counts.items() if count > 1]:
        raise RequestValidationError([{"loc": ("query", name), "msg": "pass it once"} for name in repeated])


Facts = Annotated[FactQuery, Query()]
Search = Annotated[SearchQuery, Query()]
Due = Annotated[DueQuery, Query()]
Deletion = Annotated[DeletionQuery, Query()]
Timeline = Annotated[TimelineQuery, Query()]
Usage = Annotated[UsageQuery, Query()]
People = Annotated[PeopleQuery, Query()]
Empty = Annotated[NoParameters, Query()]
Sweep = Annotated[SweepForm, Body(default_factory=SweepForm)]
