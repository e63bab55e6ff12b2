"""`gaia memory profile`: what an agent is told about a person, as it stands in the prompt."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gaia_memory.cli.engines import (
    AppOption,
    ConfigOption,
    JsonOption,
    UserOption,
    load_config,
    name_other_apps,
    quiet_engine,
    run,
)
from gaia_memory.cli.ui.fact_output import print_json
from gaia_memory.cli.ui.terminal import counted, say_lines
from gaia_memory.language.printable_text import on_one_line

if TYPE_CHECKING:
    from gaia_memory.config.sources.load import LoadedConfig
    from gaia_memory.engine import Engine
    from gaia_memory.models import LedgerRow
    from gaia_memory.profile.distil import Outlook

EXAMPLES = """
Examples:

`gaia memory profile --user itay` shows what itay's running sessions are told, and what the next one will be.

`gaia memory profile --user itay --refresh` lets the model write the next one now, if anything changed.

`gaia memory profile --user itay --json | jq -r .next.block` prints the block alone.
"""

_OFF = "memory.preload is false: agents are told nothing"
_UNKNOWN = "nothing is remembered: agents are told nothing"
_OFFLINE = "the offline model"
_TO_MAKE = "something changed since the last one: the model is asked when the next session starts"


def profile(
    user: UserOption,
    refresh: Annotated[
        bool, typer.Option("--refresh", help="Ask the model now for the next profile, if anything changed.")
    ] = False,
    app_name: AppOption = None,
    as_json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Show exactly what agents are told about a person, or why nothing. Asks no model without `--refresh`."""
    told = run(_look(load_config(config), user, app_name, refresh=refresh))
    if as_json:
        print_json(told)
    else:
        say_lines("\n\n".join(_paragraphs(told)))


async def _look(loaded: LoadedConfig, user: str, app_name: str | None, *, refresh: bool) -> dict[str, Any]:
    async with quiet_engine(loaded) as engine:
        scope = engine.scope(app_name or engine.config.app, user)
        is_on = engine.config.memory.preload
        if refresh and is_on:
            await engine.memory.profile(scope)
        outlook = await engine.memory.distiller.outlook(scope)
        async with engine.database.reading() as tx:
            rows = await engine.ledger.with_profile(tx, user=user, app=scope.app)
        if not outlook.facts:
            await name_other_apps(engine, scope)
        return {
            "user": user,
            "facts": outlook.facts,
            "sessions": [_session(engine, row) for row in rows] if is_on else [],
            "next": _next(engine, outlook) if is_on else _block("", None, _OFF),
        }


def _next(engine: Engine, outlook: Outlook) -> dict[str, Any]:
    from gaia_memory.profile.render import render_block

    if not outlook.plain.bullets:
        return _block("", None, _UNKNOWN)
    if outlook.profile is not None:
        made = _block(render_block(outlook.profile), "model", "", outlook.profile.made_at)
        return {**made, "model": _model(engine)}
    plain = render_block(outlook.plain)
    return _block(plain, "fallback", f"{_TO_MAKE} ({engine.memory.describe()}); this is told if it does not answer")


def _session(engine: Engine, row: LedgerRow) -> dict[str, Any]:
    """Return what a session is told; which model wrote it is known while the configuration is that of then."""
    block = row.profile or ""
    note = "" if block else "nothing was known when it began"
    is_of_now = row.profile_key == engine.live.fingerprint
    if not is_of_now:
        note = "the configuration changed since: a new profile is made at its next turn"
    told = _block(block, row.profile_made_by, note, _moment(row))
    model = _model(engine) if is_of_now and told["made_by"] == "model" else None
    return {"session": row.key.session, "app": row.key.app, **told, "model": model}


def _model(engine: Engine) -> str:
    """Return which model writes profiles; the offline one follows rules."""
    model = engine.backend.language_model
    return _OFFLINE if model.provider.name == "offline" else model.identity


def _moment(row: LedgerRow) -> datetime | None:
    return None if row.profile_made_at is None else datetime.fromtimestamp(row.profile_made_at, UTC)


def _block(block: str, made_by: str | None, note: str, made_at: datetime | None = None) -> dict[str, Any]:
    when = None if made_at is None else made_at.isoformat(timespec="seconds")
    made = {"made_by": made_by if block else None, "model": None, "made_at": when if block else None}
    return {"block": block, **made, "note": note}


def _made(told: dict[str, Any]) -> str:
    """Return when a block was made and by whom, as far as that was noted."""
    how = {"model": "written by the model", "fallback": "made without the model", None: "made by an earlier version"}
    by = how[told["made_by"]]
    if told["model"] == _OFFLINE:
        by = "put together by the rules of the offline model"
    elif told["model"] is not None:
        by = f"written by {told['model']}"
    return by + (f" at {told['made_at']}" if told["made_at"] else "")


def _paragraphs(told: dict[str, Any]) -> list[str]:
    facts = counted(told["facts"], "fact")
    paragraphs = []
    for session in told["sessions"]:
        head = f"Session {session['session']} is told this at each turn, {_made(session)}"
        paragraphs.append(_paragraph(head, session, nothing=f"Session {session['session']} is told nothing"))
    coming = told["next"]
    made_of = f"{_made(coming)} from {facts}" if coming["made_by"] == "model" else f"there are {facts}"
    head = f"The next session of {told['user']} is told this, {made_of}"
    return [*paragraphs, _paragraph(head, coming, nothing=f"The next session of {told['user']} is told nothing")]


def _paragraph(head: str, told: dict[str, Any], *, nothing: str) -> str:
    note = f" ({told['note']})" if told["note"] else ""
    first = on_one_line(f"{head}{note}:" if told["block"] else f"{nothing}{note}.")
    return f"{first}\n{told['block']}" if told["block"] else first
