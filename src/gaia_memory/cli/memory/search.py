"""`gaia memory search`: the facts that answer a question."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from gaia_memory.cli.engines import (
    AppOption,
    ConfigOption,
    JsonOption,
    LongOption,
    UserOption,
    open_scope,
    print_other_scopes,
    print_storage_problem,
)
from gaia_memory.cli.memory.filter_options import (
    AsOfOption,
    CategoryOption,
    SinceOption,
    UntilOption,
    WhereOption,
    build_filters,
    conditions_of,
    explain_nothing,
    parse_as_of,
)
from gaia_memory.cli.ui.fact_output import fact_to_dict, print_facts, print_json, print_rows, shorten_ids
from gaia_memory.cli.ui.terminal import pluralize, print_line
from gaia_memory.models.fact import OTHER_VECTORS
from gaia_memory.threads import run_in_thread

if TYPE_CHECKING:
    from gaia_memory.memory import Memory
    from gaia_memory.models import Hit, OutdatedHit, RecallResult, Scope

EXAMPLES = """
Examples:

`gaia memory search --user ada "Do I have an allergy to nuts?"` shows the facts that answer best.

`gaia memory search --user ada --limit 1 --json nuts` prints the best one with its score.

`gaia memory search --user ada --until 2025-12-31 "Where do I live?"` answers from facts said by that day.

`gaia memory search --user ada --as-of 2025-12-31 "Where do I live?"` answers with what was true on that day.

`gaia memory search --user ada --explain "my sister's dog"` shows the parts of each score.
"""

AnyHit = TypeVar("AnyHit", bound="Hit")

_SCORE_NOTE = "A score from 0 to 1 says how well a fact answers; `why` shows what it consists of."
_LOWEST_SHOWN_SCORE = 0.005
"""A lower score would be shown as 0.00: such a fact only fills the list."""
_OTHER_SUBJECT_WEIGHT = 0.25
"""Share of the score of a fact about somebody else than the one who asks: less than one in other words has."""

_PART_NAMES = {
    "vectors": "the search by meaning",
    "rewriting": "the words that the model would have added",
    "reranker": "the reranker",
}
"""What a user reads for the name of a part that failed."""


async def search(
    user: UserOption,
    query: Annotated[list[str], typer.Argument(help="The question, or some words.", show_default=False)],
    limit: Annotated[
        int | None, typer.Option("--limit", "-n", min=1, max=50, help="The maximum number of facts.")
    ] = None,
    category: CategoryOption = None,
    where: WhereOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    as_of: AsOfOption = None,
    explain: Annotated[
        bool,
        typer.Option(
            "--explain", help="Show the parts of each score, and the facts that were dropped or are outdated."
        ),
    ] = False,
    include_sensitive: Annotated[
        bool, typer.Option("--sensitive", help="Let sensitive facts answer, too; a list shows them in any case.")
    ] = False,
    app_name: AppOption = None,
    long_ids: LongOption = False,
    as_json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Show the facts that answer a question, best first."""
    conditions = conditions_of(where, category)
    query_text, filters, moment = " ".join(query), build_filters(conditions, since, until), parse_as_of(as_of)
    if not query_text.strip():
        raise typer.BadParameter("the question is blank: pass words to look for, or use `gaia memory list`")
    async with open_scope(config, app_name, user) as (engine, scope):
        options: dict[str, Any] = {"limit": limit, "filters": filters, "as_of": moment}
        options["include_sensitive"] = include_sensitive
        recalled = await _recall(engine.memory, scope, query_text, options)
        if not recalled.hits and not await engine.memory.count(scope):
            await print_other_scopes(engine, scope)
        if not recalled.hits:
            await explain_nothing(engine, scope, conditions)
        await print_storage_problem(engine)
        threshold = engine.config.memory.score_threshold
        allow_numbers = engine.config.memory.allow_numbers
    recalled = _mask_hits(recalled, allow_numbers=allow_numbers)
    empty_message = f"No fact about {user} answers that."
    shown = [hit for hit in recalled.hits if hit.score >= _LOWEST_SHOWN_SCORE]
    shown = shown if any("vectors" in hit.why for hit in shown) else _without_padding(shown, query_text)
    if as_json:
        memories: list[dict[str, Any]] = [{**fact_to_dict(hit.fact), "score": hit.score} for hit in shown]
        found = _recall_to_dict(recalled) if explain else {"memories": memories}
        print_json({"user": user, "query": query_text, **found})
    elif explain:
        _print_recall(recalled, threshold=threshold, long_ids=long_ids, empty_message=empty_message)
    else:
        facts, scores = [hit.fact for hit in shown], [hit.score for hit in shown]
        print_facts(facts, scores=scores, long_ids=long_ids, empty_message=empty_message)
        if facts:
            print_line(f"{user}: {pluralize(len(facts), 'fact')}.")
        _print_missing(recalled.missing)


async def _recall(memory: Memory, scope: Scope, question: str, options: Mapping[str, Any]) -> RecallResult:
    recalled = await memory.explain(scope, question, **options)
    if any("vectors" in hit.why for hit in recalled.hits):
        return recalled
    return await _add_other_wordings(memory, scope, question, recalled, options)


async def _add_other_wordings(
    memory: Memory, scope: Scope, question: str, recalled: RecallResult, options: Mapping[str, Any]
) -> RecallResult:
    """Return a recall by words alone with the facts that answer in others, as those of the offline chat model do.

    "User moved to Oslo" answers "Where do I live?" with half the score that its own words would give, "User's mom lives
    in Rome" with a quarter.
    """
    from gaia_memory.adk.models.offline.subjects import asks_about_self, is_about_another
    from gaia_memory.adk.models.offline.topic_words import related_words
    from gaia_memory.recall.query.expansion import ADDED_TERM_WEIGHT

    related = await run_in_thread(related_words, question)
    known = {hit.fact.id for hit in recalled.hits}
    found = (
        [hit for hit in await memory.recall(scope, related, **options) if hit.fact.id not in known] if related else []
    )
    best = max((hit.score for hit in found), default=0.0) or 1.0
    others = [_weigh(hit, ADDED_TERM_WEIGHT / best) for hit in _without_padding(found, question)]
    hits = [*recalled.hits, *others]
    if asks_about_self(question):
        asked = sorted(_content_words(question))
        is_other = [is_about_another(asked, hit.fact.text) for hit in hits]
        hits = [_weigh(hit, _OTHER_SUBJECT_WEIGHT if other else 1.0) for hit, other in zip(hits, is_other, strict=True)]
    hits.sort(key=lambda hit: -hit.score)
    return replace(recalled, hits=tuple(hits[: options["limit"] or len(hits)]))


def _weigh(hit: Hit, weight: float) -> Hit:
    return replace(hit, score=weight * hit.score, why={name: weight * part for name, part in hit.why.items()})


def _mask_hits(recalled: RecallResult, *, allow_numbers: bool) -> RecallResult:
    return replace(
        recalled,
        hits=tuple(_mask(hit, allow_numbers=allow_numbers) for hit in recalled.hits),
        dropped=tuple(_mask(hit, allow_numbers=allow_numbers) for hit in recalled.dropped),
        outdated=tuple(_mask(hit, allow_numbers=allow_numbers) for hit in recalled.outdated),
    )


def _mask(hit: AnyHit, *, allow_numbers: bool) -> AnyHit:
    from gaia_memory.models.masked_fact import mask_fact

    return replace(hit, fact=mask_fact(hit.fact, allow_numbers=allow_numbers))


def _without_padding(hits: Sequence[Hit], question: str) -> list[Hit]:
    """Return the hits that share a word with the question or, if there is none, those found by a name or a date.

    Without vectors that have a meaning, others have only the neighbours or some letters of one that was meant.
    """
    from gaia_memory.adk.models.offline.topic_words import is_same_word
    from gaia_memory.language.tokenizer import index_tokens

    content = _content_words(question)
    sharing = [
        hit for hit in hits if any(is_same_word(one, other) for one in content for other in index_tokens(hit.fact.text))
    ]
    return sharing or [hit for hit in hits if any(hit.why.get(part, 0.0) > 0 for part in ("dates", "names", "subject"))]


def _content_words(question: str) -> Collection[str]:
    from gaia_memory.language.function_words import FUNCTION_WORDS
    from gaia_memory.language.tokenizer import index_tokens

    asked = index_tokens(question)
    return set(asked).difference(*FUNCTION_WORDS.values()) or asked


def _recall_to_dict(recalled: RecallResult) -> dict[str, Any]:
    """Return a recall as data for JSON: each memory with its score and its parts, the largest first."""
    return {
        "memories": [_hit_to_dict(hit) for hit in recalled.hits],
        "dropped": [_hit_to_dict(hit) for hit in recalled.dropped],
        "outdated": [_outdated_to_dict(hit) for hit in recalled.outdated],
        "limit": recalled.limit,
        "missing": list(recalled.missing),
        "added": list(recalled.expansions),
    }


def _print_recall(recalled: RecallResult, *, threshold: float | None, long_ids: bool, empty_message: str) -> None:
    """Print the facts with the parts of their scores, then what was dropped or added, and which parts are missing."""
    if recalled.hits:
        print_rows(("score", "why", "fact", "id"), _hit_rows(recalled.hits, long_ids=long_ids))
        print_line()
        print_line(_SCORE_NOTE)
    else:
        print_line(empty_message)
    if recalled.dropped:
        reason = "beyond memory.recall.tokens" if threshold is None else f"memory.score_threshold is {threshold:g}"
        print_line(f"Dropped from the best {recalled.limit} ({reason}): {pluralize(len(recalled.dropped), 'fact')}")
        print_rows(("score", "why", "fact", "id"), _hit_rows(recalled.dropped, long_ids=long_ids))
    if recalled.outdated:
        print_line(f"Left out as outdated: {pluralize(len(recalled.outdated), 'fact')}")
        print_rows(("ended", "why", "fact", "id"), _outdated_rows(recalled.outdated, long_ids=long_ids))
    if recalled.expansions:
        print_line(f"Also searched for, as memory.llm proposed: {'; '.join(recalled.expansions)}")
    _print_missing(recalled.missing)


def _print_missing(missing: Collection[str]) -> None:
    if OTHER_VECTORS in missing:
        print_line("Facts that another embedder has embedded were found by their words alone: `gaia memory reindex`.")
    if not {OTHER_VECTORS}.issuperset(missing):
        failed = ", ".join(_PART_NAMES[name] for name in missing if name in _PART_NAMES)
        print_line(f"These results are without {failed}, which failed: try again, or see `gaia doctor`.")


def _hit_to_dict(hit: Hit) -> dict[str, Any]:
    return {**fact_to_dict(hit.fact), "score": hit.score, "why": dict(_score_parts(hit))}


def _outdated_to_dict(hit: OutdatedHit) -> dict[str, Any]:
    ending = hit.ending
    reasons = {"ended_at": ending.ended_at.isoformat(), "ended_by": ending.ended_by, "actor": ending.actor}
    return {**_hit_to_dict(hit), "reason": ending.why, **reasons}


def _outdated_rows(hits: Sequence[OutdatedHit], *, long_ids: bool) -> list[Sequence[str]]:
    ids = [hit.fact.id for hit in hits]
    days = [hit.ending.ended_at.astimezone().date().isoformat() for hit in hits]
    reasons = [f"{hit.ending.why} by {hit.ending.actor}" for hit in hits]
    texts = [hit.fact.text for hit in hits]
    return list(zip(days, reasons, texts, ids if long_ids else shorten_ids(ids), strict=True))


def _hit_rows(hits: Sequence[Hit], *, long_ids: bool) -> list[Sequence[str]]:
    ids = [hit.fact.id for hit in hits]
    return [_hit_row(hit, shown) for hit, shown in zip(hits, ids if long_ids else shorten_ids(ids), strict=True)]


def _hit_row(hit: Hit, shown_id: str) -> Sequence[str]:
    terms = [f"{'-' if part < 0 else '+'} {abs(part):.2f} {name}" for name, part in _score_parts(hit)]
    return f"{hit.score:.2f}", " ".join(terms).removeprefix("+ "), hit.fact.text, shown_id


def _score_parts(hit: Hit) -> list[tuple[str, float]]:
    """Return the parts of a score, the largest first."""
    return sorted(hit.why.items(), key=lambda part: (-abs(part[1]), part[0]))
