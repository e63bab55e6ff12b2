"""`gaia memory profile`: the profile of a user, as the prompt contains it."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gaia_memory.cli.engines import AppOption, ConfigOption, JsonOption, UserOption, open_scope, print_other_scopes
from gaia_memory.cli.ui.fact_output import print_json
from gaia_memory.cli.ui.terminal import pluralize, print_note, print_text
from gaia_memory.language.printable_text import escape_line

if TYPE_CHECKING:
    from gaia_memory.engine import Engine
    from gaia_memory.profile.distil import ProfilePreview
    from gaia_memory.profile.session_profiles import SessionProfile

EXAMPLES = """
Examples:

`gaia memory profile --user ada` shows the profiles of ada's running sessions and of the next one.

`gaia memory profile --user ada --refresh` makes the model write the next one now, if anything changed.

`gaia memory profile --user ada --json | jq -r .next.block` prints only the block.
"""

_OFFLINE_MODEL, _OFFLINE_RULES = "the offline model", "the offline rules"


async def profile(
    user: UserOption,
    refresh: Annotated[
        bool, typer.Option("--refresh", help="Ask the model for the next profile now, if anything changed.")
    ] = False,
    app_name: AppOption = None,
    as_json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Show the profile that agents get in their prompt, or why there is none. Asks no model without `--refresh`."""
    from gaia_memory.ports.external import MISSING_AGENT_MODEL

    async with open_scope(config, app_name, user) as (engine, scope):
        is_enabled = engine.config.memory.preload
        if refresh and is_enabled:
            if not engine.agent_models.has_model_for(scope.app or engine.config.app):
                print_note(f"the model is not asked: {MISSING_AGENT_MODEL}")
            await engine.memory.profile(scope)
        preview = await engine.memory.preview_profile(scope)
        sessions = await engine.memory.session_profiles(scope) if is_enabled else []
        if not preview.fact_count:
            await print_other_scopes(engine, scope)
        writer = _shown_name(_model_name(engine))
        view = {
            "user": user,
            "facts": preview.fact_count,
            "sessions": [_session_block(engine, session) for session in sessions],
            "next": _next_block(engine, preview),
        }
    if as_json:
        print_json(view)
    else:
        print_text("\n\n".join(_paragraphs(view, writer)))


def _next_block(engine: Engine, preview: ProfilePreview) -> dict[str, Any]:
    from gaia_memory.profile.prompts import render_block

    if not engine.config.memory.preload:
        return _block(note="memory.preload is false: prompts get no profile")
    if not preview.fallback.bullets:
        return _block(note="there are no facts")
    if preview.profile is None:
        note = f"the next session asks the model for a profile: {engine.describe_model()}"
        return _block(render_block(preview.fallback), "fallback", note=note)
    return _block(render_block(preview.profile), "model", _model_name(engine), preview.profile.made_at)


def _session_block(engine: Engine, session: SessionProfile) -> dict[str, Any]:
    """Return the block of a session; the model that wrote it is known while the configuration is the same."""
    note = "" if session.block else "nothing was known when it began"
    if not session.is_current:
        note = "the configuration changed since: its next turn makes a new profile"
    model = _model_name(engine) if session.is_current and session.made_by == "model" else None
    block = _block(session.block, session.made_by, model, session.made_at, note=note)
    return {"session": session.key.session, "app": session.key.app, **block}


def _block(
    block: str = "",
    made_by: str | None = None,
    model: str | None = None,
    made_at: datetime | None = None,
    *,
    note: str = "",
) -> dict[str, Any]:
    """Return a block as data for JSON; an empty one was made by nothing."""
    timestamp = None if made_at is None else made_at.isoformat(timespec="seconds")
    provenance = {"made_by": made_by, "model": model, "made_at": timestamp}
    return {"block": block, **(provenance if block else dict.fromkeys(provenance)), "note": note}


def _model_name(engine: Engine) -> str:
    return _OFFLINE_MODEL if engine.model_name.startswith("offline/") else engine.model_name


def _shown_name(model: str) -> str:
    return _OFFLINE_RULES if model == _OFFLINE_MODEL else model


def _provenance_text(view: dict[str, Any]) -> str:
    """Return when a block was made and by what, as far as that is known."""
    author = {"model": "written under another configuration", "fallback": "made without the model"}.get(
        view["made_by"], "made by an earlier version"
    )
    if view["model"] is not None:
        author = f"written by {_shown_name(view['model'])}"
    return author + (f" at {view['made_at']}" if view["made_at"] else "")


def _paragraphs(view: dict[str, Any], writer: str) -> list[str]:
    """Return a paragraph for each session and one for the next session, whose profile `writer` writes."""
    paragraphs = []
    for each in view["sessions"]:
        verb = f"has this profile, {_provenance_text(each)}" if each["block"] else "has no profile"
        paragraphs.append(_paragraph(f"Session {each['session']} {verb}", each))
    facts, following = pluralize(view["facts"], "fact"), view["next"]
    subject = f"The next session of {view['user']}"
    if following["made_by"] == "fallback":
        head = f"{subject} gets a profile of {facts}, which {writer} will write. If that fails, it is:"
        return [*paragraphs, f"{escape_line(head)}\n{following['block']}"]
    verb = f"gets this profile, {_provenance_text(following)} from {facts}" if following["block"] else "gets no profile"
    return [*paragraphs, _paragraph(f"{subject} {verb}", following)]


def _paragraph(head: str, view: dict[str, Any]) -> str:
    note = f" ({view['note']})" if view["note"] else ""
    return f"{escape_line(head + note)}:\n{view['block']}" if view["block"] else escape_line(f"{head}{note}.")
