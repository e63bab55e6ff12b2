"""`gaia memory profile`: the profile of a user, as the prompt contains it."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gaia_memory.cli.memory.target import Target
from gaia_memory.cli.ui.fact_output import print_json
from gaia_memory.cli.ui.terminal import print_note, print_text
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


async def profile(
    target: Target,
    refresh: Annotated[
        bool, typer.Option("--refresh", help="Ask the model for the next profile now, if anything changed.")
    ] = False,
) -> None:
    """Show the profile that agents get in their prompt, or why there is none. Asks no model without `--refresh`."""
    from gaia_memory.ports.external import MISSING_AGENT_MODEL

    async with target.open() as opened:
        engine, memory, scope = opened.engine, opened.memory, opened.scope
        is_enabled = engine.config.memory.preload
        if refresh and is_enabled:
            if not engine.agent_models.has_model_for(scope.app or engine.config.app):
                print_note(f"the model is not asked: {MISSING_AGENT_MODEL}")
            await memory.profile(scope)
        preview = await memory.preview_profile(scope)
        sessions = await memory.session_profiles(scope) if is_enabled else []
        if not preview.fact_count:
            await opened.print_other_scopes()
        blocks = [_session_block(engine, session) for session in sessions]
        following = _next_block(engine, preview)
    if target.as_json:
        print_json({"user": target.user, "facts": preview.fact_count, "sessions": blocks, "next": following})
        return
    shown = [(f"Session {each['session']}", each) for each in blocks]
    shown.append((f"The next session of {target.user}", following))
    print_text("\n\n".join(_paragraph(*each) for each in shown))


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
    key, is_known = session.key, session.is_current and session.made_by == "model"
    made = (session.made_by, _model_name(engine) if is_known else None, session.made_at) if session.block else ()
    return {"session": key.session, "app": key.app, **_block(session.block, *made, note=note)}


def _block(
    block: str = "",
    made_by: str | None = None,
    model: str | None = None,
    made_at: datetime | None = None,
    *,
    note: str = "",
) -> dict[str, Any]:
    timestamp = None if made_at is None else made_at.isoformat(timespec="seconds")
    return {"block": block, "made_by": made_by, "model": model, "made_at": timestamp, "note": note}


def _model_name(engine: Engine) -> str:
    return "the offline model" if engine.model_name.startswith("offline/") else engine.model_name


def _paragraph(head: str, view: dict[str, Any]) -> str:
    """Return which profile a session has, when it was made and by what, as far as that is known."""
    if not view["block"]:
        return escape_line(f"{head} has no profile ({view['note']}).")
    author = f"written by {view['model']}" if view["model"] else f"made by {view['made_by']}"
    moment, note = f" at {view['made_at']}" if view["made_at"] else "", f" ({view['note']})" if view["note"] else ""
    return f"{escape_line(f'{head} has this profile, {author}{moment}{note}')}:\n{view['block']}"
