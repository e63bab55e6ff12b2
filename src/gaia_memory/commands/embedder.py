"""/memory embedder: an admin names another embedder, after being told what that means."""

from __future__ import annotations

import re
from collections.abc import Mapping

from gaia_memory.commands.command import Call
from gaia_memory.commands.redact_locations import without_places
from gaia_memory.errors import ConfigError

_ASKED = re.compile(r"embedder(?:\s+(?P<name>[^\s/]+)(?:/(?P<model>\S+))?(?P<yes>\s+yes[.!]*)?)?", re.IGNORECASE)
_PATH = ("memory", "embedder")

_NOT_ADMIN = "Only an admin can change the embedder. Nothing was changed."
_USAGE = (
    "Usage: /memory embedder PROVIDER or /memory embedder PROVIDER/MODEL, for example "
    "/memory embedder openai/text-embedding-3-small; it asks first"
)
_MEANS = """This makes `{name}` the embedder of this memory, for everybody. Nothing has been changed yet.
- All that is remembered keeps its text. No fact is lost.
- It is in force when memory is started again; until then {current} goes on.
- What is remembered already is then found by its words alone, until `gaia memory reindex` has embedded it anew; \
back on the embedder of now its vectors count again.
- {cost}

/memory embedder {name} yes does it; anything else leaves it as it is."""
_COSTS = "Each new fact and each question is sent to that provider, which may cost money."
_FREE = "The offline embedder asks nobody and costs nothing; it finds less by meaning."
_DONE = (
    "gaia.yaml names `{name}` as the embedder now. It is in force when memory is started again; all that is remembered "
    "keeps its text, and is then found by its words alone until `gaia memory reindex` has run."
)
_IN_FORCE = "gaia.yaml names `{name}` as the embedder, which is in force."


def asks_for_embedder(argument: str) -> re.Match[str] | None:
    """Return what an argument of /memory says of an embedder; None where it is something else."""
    return _ASKED.fullmatch(argument)


async def switch_embedder(call: Call, asked: re.Match[str]) -> str:
    """Say what another embedder would mean, or write it into gaia.yaml where that was said in this conversation."""
    if not call.is_admin:
        return _NOT_ADMIN
    if asked["name"] is None:
        return _USAGE
    wanted = {"provider": asked["name"].lower(), **({"model": asked["model"]} if asked["model"] else {})}
    name = "/".join(wanted.values())
    try:
        await call.settings.allow(_PATH, wanted)
        if asked["yes"] and call.shown.take(call.key, "memory", f"embedder {name}"):
            return await _switched(call, name, wanted)
    except ConfigError as error:
        return f"The embedder stays as it is: {without_places('; '.join(error.problems))}."
    call.shown.keep(call.key, "memory", f"embedder {name}", [name])
    current = (await call.memory.status(call.scope)).embedder or "the present one"
    cost = _FREE if wanted["provider"] == "offline" else _COSTS
    return _MEANS.format(name=name, current=current, cost=cost)


async def _switched(call: Call, name: str, wanted: Mapping[str, str]) -> str:
    waits = await call.settings.change_at_restart(_PATH, wanted)
    return (_DONE if waits else _IN_FORCE).format(name=name)
