"""`gaia memory profile`: the profile of a user, as the prompt contains it."""

from __future__ import annotations

from datetime import datetime
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
    scope_of,
)
from gaia_memory.cli.ui.fact_output import print_json
from gaia_memory.cli.ui.terminal import pluralize, print_text
from gaia_memory.language.printable_text import escape_line

if TYPE_CHECKING:
    from gaia_memory.config.sources.load import LoadedConfig
    from gaia_memory.engine import Engine
    from gaia_memory.profile.distil import ProfilePreview
    from gaia_memory.profile.session_profiles import SessionProfile

EXAMPLES = """
Examples:

`gaia memory profile --user itay` shows the profiles of itay's running sessions and of the next one.

`gaia memory profile --user itay --refresh` makes the model write the next one now, if anything changed.

`gaia memory profile --user itay --json | jq -r .next.block` prints only the block.
"""

_DISABLED_NOTE = "memory.preload is false: prompts get no profile"
_NO_FACTS_NOTE = "there are no facts"
_OFFLINE_MODEL = "the offline model"
_STALE_NOTE = "something changed since the last one: the next session asks the model"


def profile(
    user: UserOption,
    refresh: Annotated[
        bool, typer.Option("--refresh", help="Ask the model for the next profile now, if anything changed.")
    ] = False,
    app_name: AppOption = None,
    as_json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Show the profile that agents get in their prompt, or why there is none. Asks no model without `--refresh`."""
    view = run_async(_load_view(load_config(config), user, app_name, refresh=refresh))
    if as_json:
        print_json(view)
    else:
        print_text("\n\n".join(_paragraphs(view)))


async def _load_view(loaded: LoadedConfig, user: str, app_name: str | None, *, refresh: bool) -> dict[str, Any]:
    async with engine_without_background(loaded) as engine:
        scope = scope_of(engine, app_name, user)
        is_enabled = engine.config.memory.preload
        if refresh and is_enabled:
            await engine.memory.profile(scope)
        preview = await engine.memory.preview_profile(scope)
        sessions = await engine.memory.session_profiles(scope) if is_enabled else []
        if not preview.fact_count:
            await print_other_apps(engine, scope)
        return {
            "user": user,
            "facts": preview.fact_count,
            "sessions": [_session_block(engine, session) for session in sessions],
            "next": _next_block(engine, preview) if is_enabled else _block_to_dict("", None, _DISABLED_NOTE),
        }


def _next_block(engine: Engine, preview: ProfilePreview) -> dict[str, Any]:
    from gaia_memory.profile.prompts import render_block

    if not preview.fallback.bullets:
        return _block_to_dict("", None, _NO_FACTS_NOTE)
    if preview.profile is not None:
        block = _block_to_dict(render_block(preview.profile), "model", "", preview.profile.made_at)
        return {**block, "model": _model_name(engine)}
    note = f"{_STALE_NOTE} ({engine.describe_model()}); this is the block if it gives no answer"
    return _block_to_dict(render_block(preview.fallback), "fallback", note)


def _session_block(engine: Engine, session: SessionProfile) -> dict[str, Any]:
    """Return the block of a session; the model that wrote it is known while the configuration is the same."""
    note = "" if session.block else "nothing was known when it began"
    if not session.is_current:
        note = "the configuration changed since: its next turn makes a new profile"
    data = _block_to_dict(session.block, session.made_by, note, session.made_at)
    model = _model_name(engine) if session.is_current and data["made_by"] == "model" else None
    return {"session": session.key.session, "app": session.key.app, **data, "model": model}


def _model_name(engine: Engine) -> str:
    return _OFFLINE_MODEL if engine.model_name.startswith("offline/") else engine.model_name


def _block_to_dict(block: str, made_by: str | None, note: str, made_at: datetime | None = None) -> dict[str, Any]:
    timestamp = None if made_at is None else made_at.isoformat(timespec="seconds")
    provenance = {"made_by": made_by if block else None, "model": None, "made_at": timestamp if block else None}
    return {"block": block, **provenance, "note": note}


def _provenance_text(view: dict[str, Any]) -> str:
    """Return when a block was made and by what, as far as that is known."""
    authors = {
        "model": "written by the model",
        "fallback": "made without the model",
        None: "made by an earlier version",
    }
    author = authors[view["made_by"]]
    if view["model"] == _OFFLINE_MODEL:
        author = "written by the rules of the offline model"
    elif view["model"] is not None:
        author = f"written by {view['model']}"
    return author + (f" at {view['made_at']}" if view["made_at"] else "")


def _paragraphs(view: dict[str, Any]) -> list[str]:
    facts = pluralize(view["facts"], "fact")
    paragraphs = []
    for session in view["sessions"]:
        head = f"Session {session['session']} has this profile, {_provenance_text(session)}"
        paragraphs.append(_paragraph(head, session, empty_message=f"Session {session['session']} has no profile"))
    next_block = view["next"]
    basis = f"{_provenance_text(next_block)} from {facts}" if next_block["made_by"] == "model" else f"there are {facts}"
    head = f"The next session of {view['user']} gets this profile, {basis}"
    return [
        *paragraphs,
        _paragraph(head, next_block, empty_message=f"The next session of {view['user']} gets no profile"),
    ]


def _paragraph(head: str, view: dict[str, Any], *, empty_message: str) -> str:
    note = f" ({view['note']})" if view["note"] else ""
    first = escape_line(f"{head}{note}:" if view["block"] else f"{empty_message}{note}.")
    return f"{first}\n{view['block']}" if view["block"] else first
