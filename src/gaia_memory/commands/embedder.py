"""/memory embedder: lets an admin switch to another embedder, after explaining the consequences."""

from __future__ import annotations

import re

from gaia_memory.commands.command import Call
from gaia_memory.errors import ConfigError
from gaia_memory.redaction.redact_locations import redact_locations

_REQUEST = re.compile(r"embedder(?:\s+(?P<name>[^\s/]+)(?:/(?P<model>\S+))?(?P<yes>\s+yes[.!]*)?)?", re.IGNORECASE)
_PATH = ("memory", "embedder")

_NOT_ADMIN = "Only an admin can change the embedder. Nothing was changed."
_USAGE = (
    "Usage: /memory embedder PROVIDER or /memory embedder PROVIDER/MODEL, for example "
    "/memory embedder openai/text-embedding-3-small. It asks before it changes anything."
)
_CONFIRMATION = """This changes the embedder to `{name}`, for all users. Nothing has been changed yet.
- No fact is lost: each keeps its text.
- The change takes effect at the next start. Until then {current} stays in use.
- Facts stored before then match by words only, until `gaia memory reindex` has embedded them again. If you switch \
back, their old vectors are used again.
- {cost}

Send /memory embedder {name} yes to confirm; anything else changes nothing."""
_COST_NOTE = "Each new fact and each question is sent to that provider, which may cost money."
_FREE_NOTE = "The offline embedder calls no provider and costs nothing."
_REINDEX_ANSWER = (
    "The embedder in gaia.yaml is `{name}`. The change takes effect at the next start. No fact is lost; facts stored "
    "before then match by words only, until you run `gaia memory reindex`."
)
_IN_FORCE = "The embedder in gaia.yaml is `{name}`, which is already in use."


def parse_embedder_request(argument: str) -> re.Match[str] | None:
    """Match the argument of `/memory embedder …`; return None for any other argument of /memory."""
    return _REQUEST.fullmatch(argument)


async def switch_embedder(call: Call, request: re.Match[str]) -> str:
    """Explain what another embedder changes; after a yes to that explanation, write it to gaia.yaml."""
    if not call.is_admin:
        return _NOT_ADMIN
    if request["name"] is None:
        return _USAGE
    setting = {"provider": request["name"].lower(), **({"model": request["model"]} if request["model"] else {})}
    name = "/".join(setting.values())
    try:
        await call.settings.validate_change(_PATH, setting)
        if request["yes"] and call.pending_confirmations.pop(call.key, "memory", f"embedder {name}"):
            needs_restart = await call.settings.change_at_restart(_PATH, setting)
            return (_REINDEX_ANSWER if needs_restart else _IN_FORCE).format(name=name)
    except ConfigError as error:
        return f"The embedder was not changed: {redact_locations('; '.join(error.problems))}."
    call.pending_confirmations.add(call.key, "memory", f"embedder {name}", [name])
    current = (await call.memory.status(call.scope)).embedder or "the current one"
    cost = _FREE_NOTE if setting["provider"] == "offline" else _COST_NOTE
    return _CONFIRMATION.format(name=name, current=current, cost=cost)
