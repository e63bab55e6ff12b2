"""/memory embedder: an admin names another embedder, after being told what that means."""

from __future__ import annotations

import re
from collections.abc import Mapping

from gaia_memory.commands.command import Call
from gaia_memory.commands.redact_locations import redact_locations
from gaia_memory.errors import ConfigError

_REQUEST = re.compile(r"embedder(?:\s+(?P<name>[^\s/]+)(?:/(?P<model>\S+))?(?P<yes>\s+yes[.!]*)?)?", re.IGNORECASE)
_PATH = ("memory", "embedder")

_NOT_ADMIN = "Only an admin can change the embedder. Nothing was changed."
_USAGE = (
    "Usage: /memory embedder PROVIDER or /memory embedder PROVIDER/MODEL, for example "
    "/memory embedder openai/text-embedding-3-small; it asks first"
)
_CONFIRMATION = """This makes `{name}` the embedder of this memory, for everybody. Nothing has been changed yet.
- All that is remembered keeps its text. No fact is lost.
- It is in force when memory is started again; until then {current} goes on.
- What is remembered already is then found by its words alone, until `gaia memory reindex` has embedded it anew; \
back on the embedder of now its vectors count again.
- {cost}

/memory embedder {name} yes does it; anything else leaves it as it is."""
_COST_NOTE = "Each new fact and each question is sent to that provider, which may cost money."
_FREE_NOTE = "The offline embedder asks nobody and costs nothing; it finds less by meaning."
_DONE = (
    "gaia.yaml names `{name}` as the embedder now. It is in force when memory is started again; all that is remembered "
    "keeps its text, and is then found by its words alone until `gaia memory reindex` has run."
)
_IN_FORCE = "gaia.yaml names `{name}` as the embedder, which is in force."


def parse_embedder_request(argument: str) -> re.Match[str] | None:
    """Return what an argument of /memory says of an embedder; None where it is something else."""
    return _REQUEST.fullmatch(argument)


async def switch_embedder(call: Call, request: re.Match[str]) -> str:
    """Say what another embedder would mean, or write it into gaia.yaml where that was said in this conversation."""
    if not call.is_admin:
        return _NOT_ADMIN
    if request["name"] is None:
        return _USAGE
    setting = {"provider": request["name"].lower(), **({"model": request["model"]} if request["model"] else {})}
    name = "/".join(setting.values())
    try:
        await call.settings.validate_change(_PATH, setting)
        if request["yes"] and call.pending_confirmations.pop(call.key, "memory", f"embedder {name}"):
            return await _apply_switch(call, name, setting)
    except ConfigError as error:
        return f"The embedder stays as it is: {redact_locations('; '.join(error.problems))}."
    call.pending_confirmations.add(call.key, "memory", f"embedder {name}", [name])
    current = (await call.memory.status(call.scope)).embedder or "the present one"
    cost = _FREE_NOTE if setting["provider"] == "offline" else _COST_NOTE
    return _CONFIRMATION.format(name=name, current=current, cost=cost)


async def _apply_switch(call: Call, name: str, setting: Mapping[str, str]) -> str:
    needs_restart = await call.settings.change_at_restart(_PATH, setting)
    return (_DONE if needs_restart else _IN_FORCE).format(name=name)
