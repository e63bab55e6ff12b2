"""`gaia memory`: list, add, search, forget and move what is remembered about a person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gaia_memory.cli.engines import (
    AppOption,
    ConfigOption,
    JsonOption,
    UserOption,
    engine_without_background,
    load_config,
    print_other_apps,
    require_texts,
    run_async,
)
from gaia_memory.cli.memory.filter_options import SinceOption, UntilOption, WhereOption, build_filters
from gaia_memory.cli.memory.forget import EXAMPLES as FORGET_EXAMPLES
from gaia_memory.cli.memory.forget import forget
from gaia_memory.cli.memory.profile import EXAMPLES as PROFILE_EXAMPLES
from gaia_memory.cli.memory.profile import profile
from gaia_memory.cli.memory.reindex import EXAMPLES as REINDEX_EXAMPLES
from gaia_memory.cli.memory.reindex import reindex
from gaia_memory.cli.memory.transfer import EXPORT_EXAMPLES, IMPORT_EXAMPLES, export, import_
from gaia_memory.cli.ui.explain import print_recall, recall_to_dict
from gaia_memory.cli.ui.fact_output import fact_to_dict, print_facts, print_hits, print_json
from gaia_memory.cli.ui.read_input import is_interactive, read_fact_lines
from gaia_memory.cli.ui.terminal import pluralize, print_line, progress_bar

if TYPE_CHECKING:
    from gaia_memory.config.sources.load import LoadedConfig
    from gaia_memory.engine import Engine
    from gaia_memory.models import Fact, Origin, Page, RecallResult, Scope
    from gaia_memory.ports import Clock

app = typer.Typer(no_args_is_help=True, help="List, add, search, forget and move what is remembered about a person.")

_TIMESTAMP_TOLERANCE = timedelta(microseconds=2)
"""Times are kept as floating point numbers."""

_LIST_EXAMPLES = """
Examples:

`gaia memory list --user itay` shows every fact.

`gaia memory list --user itay --where category=health --since 2026-03-01` shows those facts alone.

`gaia memory list --user itay --limit 20 --offset 20` shows the second twenty.

`gaia memory list --user itay --json | jq -r '.memories[].text'` prints the texts alone.
"""
_ADD_EXAMPLES = """
Examples:

`gaia memory add --user itay "Allergic to nuts" "Has a sister called Noa"` keeps two facts.

`printf 'Lives in Haifa\\nLikes tea\\n' | gaia memory add --user itay` keeps one fact a line; `--file` reads a file.
"""
_SEARCH_EXAMPLES = """
Examples:

`gaia memory search --user itay "Do I have an allergy to nuts?"` shows the facts that answer best.

`gaia memory search --user itay --limit 1 --json nuts` prints the best one with its score.

`gaia memory search --user itay --until 2025-12-31 "Where do I live?"` answers by what was said until then.

`gaia memory search --user itay --explain "my sister's dog"` shows what each score is made of.
"""


def _scope(engine: Engine, app_name: str | None, user: str) -> Scope:
    return engine.scope(app_name or engine.config.app, user)


@app.command("list", epilog=_LIST_EXAMPLES)
def list_facts(
    user: UserOption,
    where: WhereOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    offset: Annotated[int, typer.Option("--offset", min=0, help="How many facts to leave out first.")] = 0,
    limit: Annotated[
        int | None, typer.Option("--limit", "-n", min=1, help="How many facts at most; else all.", show_default=False)
    ] = None,
    app_name: AppOption = None,
    as_json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Show everything that is remembered about a person, oldest first, or only what is asked for."""
    filters = build_filters(where, since, until)
    facts, origins = run_async(_list(load_config(config), user, app_name))
    page = _page(facts, filters, offset=offset, limit=limit)
    if as_json:
        from gaia_memory.transfer.export_format import origin_to_dict

        sources = {fact.id: [origin_to_dict(origin) for origin in origins.get(fact.id, ())] for fact in page.facts}
        memories = [{**fact_to_dict(fact), "sources": sources[fact.id]} for fact in page.facts]
        print_json({"user": user, "memories": memories, "total": page.total, "has_more": page.has_more})
        return
    qualifier = " that is asked for" if facts else ""
    print_facts(page.facts, empty_message=f"Nothing{qualifier} is remembered about {user}.")
    if page.has_more:
        after = offset + len(page.facts)
        print_line(f"{len(page.facts)} of {pluralize(page.total, 'fact')}; `--offset {after}` shows what comes after.")


def _page(facts: list[Fact], filters: Mapping[str, Any] | None, *, offset: int, limit: int | None) -> Page:
    from gaia_memory.models import Page, compile_filters

    matching = facts if filters is None else list(filter(compile_filters(filters), facts))
    selected = matching[offset:] if limit is None else matching[offset : offset + limit]
    return Page(facts=tuple(selected), total=len(matching), offset=offset)


async def _list(
    loaded: LoadedConfig, user: str, app_name: str | None
) -> tuple[list[Fact], Mapping[str, Sequence[Origin]]]:
    async with engine_without_background(loaded) as engine:
        scope = _scope(engine, app_name, user)
        facts = await engine.memory.facts(scope)
        if not facts:
            await print_other_apps(engine, scope)
        async with engine.database.read_transaction() as tx:
            return facts, await engine.facts.origins(tx, scope)


@app.command("add", epilog=_ADD_EXAMPLES)
def add(
    user: UserOption,
    texts: Annotated[
        list[str] | None, typer.Argument(help="The facts, each in quotes.", show_default=False, callback=require_texts)
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--file", "-f", help="Read one fact a line from a file; `-` is standard input.")
    ] = None,
    app_name: AppOption = None,
    as_json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Keep facts about a person, word for word: all of them or, when one is refused, none."""
    loaded = load_config(config)
    entries = [text.strip() for text in [*(texts or []), *_read_texts(file, has_texts=bool(texts))]]
    entries = [text for text in entries if text]
    if not entries:
        raise typer.BadParameter("there is no fact to add: pass texts, --file, or lines on standard input")
    if any("\0" in text for text in entries):
        raise typer.BadParameter("a fact holds a NUL character, which no text does")
    facts, added, total = run_async(_add(loaded, user, app_name, entries))
    if as_json:
        print_json({"user": user, "added": added, "memories": [fact_to_dict(f) for f in facts]})
        return
    known = len(entries) - added
    known_note = f" ({known} of them {'was' if known == 1 else 'were'} known already)" if known else ""
    print_line(f"{pluralize(len(entries), 'fact')} kept{known_note}; {pluralize(total, 'fact')} about {user} now.")


def _read_texts(file: Path | None, *, has_texts: bool) -> list[str]:
    return [] if file is None and (has_texts or is_interactive()) else read_fact_lines(file)


class _RecordingClock:
    """A clock that remembers the last time it told."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.last_time: datetime | None = None

    def now(self) -> datetime:
        """Return the time."""
        self.last_time = self._clock.now()
        return self.last_time


async def _add(loaded: LoadedConfig, user: str, app_name: str | None, texts: list[str]) -> tuple[list[Fact], int, int]:
    """Return the facts, how many of them were not known before, and how many there are now."""
    from gaia_memory.models import NewFact

    async with engine_without_background(loaded) as engine:
        scope = _scope(engine, app_name, user)
        clock = _RecordingClock(engine.clock)
        memory = replace(engine.memory, clock=clock)
        with progress_bar("Keeping facts") as advance:
            facts = await memory.add(scope, [NewFact(text) for text in texts], progress=advance)
        # What was made in this write bears its time; counts before and after would count what others add, too.
        added = {
            fact.id
            for fact in facts
            if clock.last_time and abs(fact.created_at - clock.last_time) < _TIMESTAMP_TOLERANCE
        }
        return facts, len(added), await memory.count(scope)


@app.command("search", epilog=_SEARCH_EXAMPLES)
def search(
    user: UserOption,
    query: Annotated[list[str], typer.Argument(help="What to look for.", show_default=False)],
    limit: Annotated[int | None, typer.Option("--limit", "-n", min=1, max=50, help="How many facts at most.")] = None,
    where: WhereOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show what each score is made of, and what was left out.")
    ] = False,
    app_name: AppOption = None,
    as_json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Show what is remembered about something, best first."""
    query_text, loaded = " ".join(query), load_config(config)
    recalled = run_async(_search(loaded, user, app_name, query_text, limit, build_filters(where, since, until)))
    empty_message = f"Nothing about that is remembered about {user}."
    if as_json:
        memories: list[dict[str, Any]] = [{**fact_to_dict(hit.fact), "score": hit.score} for hit in recalled.hits]
        print_json(
            {"user": user, "query": query_text, **(recall_to_dict(recalled) if explain else {"memories": memories})}
        )
    elif explain:
        print_recall(recalled, threshold=loaded.config.memory.score_threshold, empty_message=empty_message)
    else:
        print_hits(recalled.hits, empty_message=empty_message)


async def _search(
    loaded: LoadedConfig,
    user: str,
    app_name: str | None,
    query: str,
    limit: int | None,
    filters: Mapping[str, Any] | None,
) -> RecallResult:
    async with engine_without_background(loaded) as engine:
        scope = _scope(engine, app_name, user)
        await engine.backend.preload_embedder()
        recalled = await engine.memory.explain(scope, query, limit=limit, filters=filters)
        if not recalled.hits and not await engine.memory.count(scope):
            await print_other_apps(engine, scope)
        return recalled


app.command("profile", epilog=PROFILE_EXAMPLES)(profile)
app.command("forget", epilog=FORGET_EXAMPLES)(forget)
app.command("reindex", epilog=REINDEX_EXAMPLES)(reindex)
app.command("export", epilog=EXPORT_EXAMPLES)(export)
app.command("import", epilog=IMPORT_EXAMPLES)(import_)
