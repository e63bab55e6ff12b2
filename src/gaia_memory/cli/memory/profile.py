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
    engine_without_background,
    load_config,
    print_other_apps,
    run_async,
)
from gaia_memory.cli.ui.fact_output import print_json
from gaia_memory.cli.ui.terminal import pluralize, print_text
from gaia_memory.language.printable_text import escape_line

if TYPE_CHECKING:
    from gaia_memory.config.sources.load import LoadedConfig
    from gaia_memory.engine import Engine
    from gaia_memory.models import LedgerRow
    from gaia_memory.profile.distil import ProfilePreview

EXAMPLES = """
Examples:

`gaia memory profile --user itay` shows what itay's running sessions are told, and what the next one will be.

`gaia memory profile --user itay --refresh` lets the model write the next one now, if anything changed.

`gaia memory profile --user itay --json | jq -r .next.block` prints the block alone.
"""

_DISABLED_NOTE = "memory.preload is false: agents are told nothing"
_NO_FACTS_NOTE = "nothing is remembered: agents are told nothing"
_OFFLINE_MODEL = "the offline model"
_STALE_NOTE = "something changed since the last one: the model is asked when the next session starts"


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
    view = run_async(_load_view(load_config(config), user, app_name, refresh=refresh))
    if as_json:
        print_json(view)
    else:
        print_text("\n\n".join(_paragraphs(view)))


async def _load_view(loaded: LoadedConfig, user: str, app_name: str | None, *, refresh: bool) -> dict[str, Any]:
    async with engine_without_background(loaded) as engine:
        scope = engine.scope(app_name or engine.config.app, user)
        is_enabled = engine.config.memory.preload
        if refresh and is_enabled:
            await engine.memory.profile(scope)
        outlook = await engine.memory.distiller.preview(scope)
        async with engine.database.read_transaction() as tx:
            rows = await engine.ledger.rows_with_profile(tx, user=user, app=scope.app)
        if not outlook.fact_count:
            await print_other_apps(engine, scope)
        return {
            "user": user,
            "facts": outlook.fact_count,
            "sessions": [_session_block(engine, row) for row in rows] if is_enabled else [],
            "next": _next_block(engine, outlook) if is_enabled else _block_to_dict("", None, _DISABLED_NOTE),
        }


def _next_block(engine: Engine, outlook: ProfilePreview) -> dict[str, Any]:
    from gaia_memory.profile.prompts import render_block

    if not outlook.fallback.bullets:
        return _block_to_dict("", None, _NO_FACTS_NOTE)
    if outlook.profile is not None:
        block = _block_to_dict(render_block(outlook.profile), "model", "", outlook.profile.made_at)
        return {**block, "model": _model_name(engine)}
    fallback_block = render_block(outlook.fallback)
    return _block_to_dict(
        fallback_block,
        "fallback",
        f"{_STALE_NOTE} ({engine.memory.describe_model()}); this is told if it does not answer",
    )


def _session_block(engine: Engine, row: LedgerRow) -> dict[str, Any]:
    """Return what a session is told; which model wrote it is known while the configuration is that of then."""
    block = row.profile or ""
    note = "" if block else "nothing was known when it began"
    is_current = row.profile_key == engine.live.fingerprint
    if not is_current:
        note = "the configuration changed since: a new profile is made at its next turn"
    data = _block_to_dict(block, row.profile_made_by, note, _made_at(row))
    model = _model_name(engine) if is_current and data["made_by"] == "model" else None
    return {"session": row.key.session, "app": row.key.app, **data, "model": model}


def _model_name(engine: Engine) -> str:
    """Return which model writes profiles; the offline one follows rules."""
    model = engine.backend.language_model
    return _OFFLINE_MODEL if model.provider.name == "offline" else model.identity


def _made_at(row: LedgerRow) -> datetime | None:
    return None if row.profile_made_at is None else datetime.fromtimestamp(row.profile_made_at, UTC)


def _block_to_dict(block: str, made_by: str | None, note: str, made_at: datetime | None = None) -> dict[str, Any]:
    timestamp = None if made_at is None else made_at.isoformat(timespec="seconds")
    provenance = {"made_by": made_by if block else None, "model": None, "made_at": timestamp if block else None}
    return {"block": block, **provenance, "note": note}


def _provenance_text(view: dict[str, Any]) -> str:
    """Return when a block was made and by whom, as far as that was noted."""
    authors = {
        "model": "written by the model",
        "fallback": "made without the model",
        None: "made by an earlier version",
    }
    author = authors[view["made_by"]]
    if view["model"] == _OFFLINE_MODEL:
        author = "put together by the rules of the offline model"
    elif view["model"] is not None:
        author = f"written by {view['model']}"
    return author + (f" at {view['made_at']}" if view["made_at"] else "")


def _paragraphs(view: dict[str, Any]) -> list[str]:
    facts = pluralize(view["facts"], "fact")
    paragraphs = []
    for session in view["sessions"]:
        head = f"Session {session['session']} is told this at each turn, {_provenance_text(session)}"
        paragraphs.append(_paragraph(head, session, empty_message=f"Session {session['session']} is told nothing"))
    next_block = view["next"]
    basis = f"{_provenance_text(next_block)} from {facts}" if next_block["made_by"] == "model" else f"there are {facts}"
    head = f"The next session of {view['user']} is told this, {basis}"
    return [
        *paragraphs,
        _paragraph(head, next_block, empty_message=f"The next session of {view['user']} is told nothing"),
    ]


def _paragraph(head: str, view: dict[str, Any], *, empty_message: str) -> str:
    note = f" ({view['note']})" if view["note"] else ""
    first = escape_line(f"{head}{note}:" if view["block"] else f"{empty_message}{note}.")
    return f"{first}\n{view['block']}" if view["block"] else first
