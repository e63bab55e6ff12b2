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
    each_given,
    load_config,
    name_other_apps,
    quiet_engine,
    run,
)
from gaia_memory.cli.memory.filter_options import SinceOption, UntilOption, WhereOption, filters_of
from gaia_memory.cli.memory.forget import EXAMPLES as FORGET_EXAMPLES
from gaia_memory.cli.memory.forget import forget
from gaia_memory.cli.memory.profile import EXAMPLES as PROFILE_EXAMPLES
from gaia_memory.cli.memory.profile import profile
from gaia_memory.cli.memory.reindex import EXAMPLES as REINDEX_EXAMPLES
from gaia_memory.cli.memory.reindex import reindex
from gaia_memory.cli.memory.transfer import EXPORT_EXAMPLES, IMPORT_EXAMPLES, export, import_
from gaia_memory.cli.ui.explain import explained_data, print_explained
from gaia_memory.cli.ui.fact_output import as_data, print_facts, print_hits, print_json
from gaia_memory.cli.ui.read_input import at_terminal, fact_lines
from gaia_memory.cli.ui.terminal import bar, counted, say

if TYPE_CHECKING:
    from gaia_memory.config.sources.load import LoadedConfig
    from gaia_memory.engine import Engine
    from gaia_memory.models import Fact, Origin, Page, Recalled, Scope
    from gaia_memory.ports import Clock

app = typer.Typer(no_args_is_help=True, help="List, add, search, forget and move what is remembered about a person.")

_ROUNDING = timedelta(microseconds=2)
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
    filters = filters_of(where, since, until)
    facts, origins = run(_list(load_config(config), user, app_name))
    page = _page(facts, filters, offset=offset, limit=limit)
    if as_json:
        from gaia_memory.transfer.export_format import origin_as_data

        sources = {fact.id: [origin_as_data(origin) for origin in origins.get(fact.id, ())] for fact in page.facts}
        memories = [{**as_data(fact), "sources": sources[fact.id]} for fact in page.facts]
        print_json({"user": user, "memories": memories, "total": page.total, "has_more": page.has_more})
        return
    asked = " that is asked for" if facts else ""
    print_facts(page.facts, nothing=f"Nothing{asked} is remembered about {user}.")
    if page.has_more:
        after = offset + len(page.facts)
        say(f"{len(page.facts)} of {counted(page.total, 'fact')}; `--offset {after}` shows what comes after.")


def _page(facts: list[Fact], filters: Mapping[str, Any] | None, *, offset: int, limit: int | None) -> Page:
    from gaia_memory.models import Page, holds

    meant = facts if filters is None else list(filter(holds(filters), facts))
    shown = meant[offset:] if limit is None else meant[offset : offset + limit]
    return Page(facts=tuple(shown), total=len(meant), offset=offset)


async def _list(
    loaded: LoadedConfig, user: str, app_name: str | None
) -> tuple[list[Fact], Mapping[str, Sequence[Origin]]]:
    async with quiet_engine(loaded) as engine:
        scope = _scope(engine, app_name, user)
        facts = await engine.memory.facts(scope)
        if not facts:
            await name_other_apps(engine, scope)
        async with engine.database.reading() as tx:
            return facts, await engine.facts.origins(tx, scope)


@app.command("add", epilog=_ADD_EXAMPLES)
def add(
    user: UserOption,
    texts: Annotated[
        list[str] | None, typer.Argument(help="The facts, each in quotes.", show_default=False, callback=each_given)
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
    wanted = [text.strip() for text in [*(texts or []), *_lines(file, given=bool(texts))]]
    wanted = [text for text in wanted if text]
    if not wanted:
        raise typer.BadParameter("there is no fact to add: pass texts, --file, or lines on standard input")
    if any("\0" in text for text in wanted):
        raise typer.BadParameter("a fact holds a NUL character, which no text does")
    facts, added, total = run(_add(loaded, user, app_name, wanted))
    if as_json:
        print_json({"user": user, "added": added, "memories": [as_data(f) for f in facts]})
        return
    known = len(wanted) - added
    already = f" ({known} of them {'was' if known == 1 else 'were'} known already)" if known else ""
    say(f"{counted(len(wanted), 'fact')} kept{already}; {counted(total, 'fact')} about {user} now.")


def _lines(file: Path | None, *, given: bool) -> list[str]:
    return [] if file is None and (given or at_terminal()) else fact_lines(file)


class _Noted:
    """A clock that remembers the last time it told."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.told: datetime | None = None

    def now(self) -> datetime:
        """Return the time."""
        self.told = self._clock.now()
        return self.told


async def _add(loaded: LoadedConfig, user: str, app_name: str | None, texts: list[str]) -> tuple[list[Fact], int, int]:
    """Return the facts, how many of them were not known before, and how many there are now."""
    from gaia_memory.models import NewFact

    async with quiet_engine(loaded) as engine:
        scope = _scope(engine, app_name, user)
        clock = _Noted(engine.clock)
        memory = replace(engine.memory, clock=clock)
        with bar("Keeping facts") as advance:
            facts = await memory.add(scope, [NewFact(text) for text in texts], progress=advance)
        # What was made in this write bears its time; counts before and after would count what others add, too.
        added = {fact.id for fact in facts if clock.told and abs(fact.created_at - clock.told) < _ROUNDING}
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
    words, loaded = " ".join(query), load_config(config)
    recalled = run(_search(loaded, user, app_name, words, limit, filters_of(where, since, until)))
    nothing = f"Nothing about that is remembered about {user}."
    if as_json:
        memories: list[dict[str, Any]] = [{**as_data(hit.fact), "score": hit.score} for hit in recalled.hits]
        print_json({"user": user, "query": words, **(explained_data(recalled) if explain else {"memories": memories})})
    elif explain:
        print_explained(recalled, threshold=loaded.config.memory.score_threshold, nothing=nothing)
    else:
        print_hits(recalled.hits, nothing=nothing)


async def _search(
    loaded: LoadedConfig,
    user: str,
    app_name: str | None,
    query: str,
    limit: int | None,
    filters: Mapping[str, Any] | None,
) -> Recalled:
    async with quiet_engine(loaded) as engine:
        scope = _scope(engine, app_name, user)
        await engine.backend.load_embedder()
        recalled = await engine.memory.explain(scope, query, limit=limit, filters=filters)
        if not recalled.hits and not await engine.memory.count(scope):
            await name_other_apps(engine, scope)
        return recalled


app.command("profile", epilog=PROFILE_EXAMPLES)(profile)
app.command("forget", epilog=FORGET_EXAMPLES)(forget)
app.command("reindex", epilog=REINDEX_EXAMPLES)(reindex)
app.command("export", epilog=EXPORT_EXAMPLES)(export)
app.command("import", epilog=IMPORT_EXAMPLES)(import_)
