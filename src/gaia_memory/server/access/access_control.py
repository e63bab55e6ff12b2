"""Finds out who sent a request: by a token, a login session, or a trusted proxy's header."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING

from starlette.requests import HTTPConnection

from gaia_memory.server.access.access_tokens import (
    ADMIN,
    Caller,
    LoginSessions,
    caller_of,
    ensure_admin_token,
    find_role,
    hash_token,
)
from gaia_memory.threads import run_in_thread

if TYPE_CHECKING:
    from gaia_memory.adk.gaia import Gaia
    from gaia_memory.config.sections.server_section import ServerConfig


SESSION_COOKIE = "gaia_session"
_LOCAL_NAME = "localhost"

WINDOW_SECONDS = 60.0
MAX_WRONG_TOKENS = 10
_MAX_PEERS = 1000


class AccessControl:
    """Knows the tokens, the login sessions and the proxies of one server."""

    def __init__(self, gaia: Gaia) -> None:
        """Take the open memory, whose home has the admin's token."""
        self._gaia = gaia
        self._admin_hash = ""
        self.failures = FailureLimit(time.monotonic)
        self.sessions = LoginSessions(time.monotonic)

    @property
    def config(self) -> ServerConfig:
        """The settings in force."""
        return self._gaia.config.server

    async def refresh(self) -> None:
        """Read what changed in the configuration: a token that was taken out of it ends here."""
        await self._gaia.engine.reload_config()
        if not self._admin_hash:
            token, _ = await run_in_thread(ensure_admin_token, self._gaia.config.home)
            self._admin_hash = hash_token(token)

    def identify(self, request: HTTPConnection) -> Caller | None:
        """Return who sent a request; None if it does not say so, or not rightly."""
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            return self.check_token(request, token.strip())
        if (session := request.cookies.get(SESSION_COOKIE)) and (hashed := self.sessions.token_of(session)):
            return self._caller_with(hashed)
        if user := self._user_in_header(request):
            person = self._gaia.config.people.users.get(user)
            return caller_of(ADMIN) if person is not None and person.admin else Caller("user", user)
        return None

    def check_token(self, request: HTTPConnection, token: str) -> Caller | None:
        """Return the caller with a token; None, and the failure is noted, if there is none."""
        hashed = hash_token(token)
        caller = self._caller_with(hashed)
        if caller is None:
            self.failures.note(self._address_of(request), hashed)
        return caller

    def retry_after(self, request: HTTPConnection) -> float:
        """Return for how many seconds no token from this address is looked at; 0 if one is."""
        return self.failures.retry_after(self._address_of(request))

    def is_from_proxy(self, request: HTTPConnection) -> bool:
        """Return whether a request comes from one of `server.trusted_hosts`."""
        return self._is_trusted(peer_of(request))

    def _is_trusted(self, address: str) -> bool:
        try:
            peer = ip_address(address)
        except ValueError:
            return False
        return any(peer in ip_network(each) for each in self.config.trusted_hosts)

    def is_encrypted(self, request: HTTPConnection) -> bool:
        """Return whether the browser speaks TLS, with this server or with a trusted proxy."""
        forwarded = request.headers.get("x-forwarded-proto", "") if self.is_from_proxy(request) else ""
        return "https" in (request.url.scheme, forwarded)

    def is_known_host(self, host: str) -> bool:
        """Return whether the name in a request is one of this server's; an IP address cannot be rebound."""
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
        name = name.lower().removesuffix(".").removeprefix("[").removesuffix("]")
        if name == _LOCAL_NAME or name in self.config.hostnames:
            return True
        try:
            ip_address(name)
        except ValueError:
            return False
        return True

    def _address_of(self, request: HTTPConnection) -> str:
        """Return whose wrong tokens count together: the nearest address that is no trusted proxy.

        Each proxy appends the address that it was asked by; what stands before the first untrusted one may be invented.
        """
        forwarded = ",".join(request.headers.getlist("x-forwarded-for")).split(",")
        addresses = [each.strip() for each in forwarded if each.strip()] + [peer_of(request)]
        while len(addresses) > 1 and self._is_trusted(addresses[-1]):
            addresses.pop()
        return addresses[-1]

    def _user_in_header(self, request: HTTPConnection) -> str | None:
        """Return the user whom a trusted proxy names; None if it names none, or a client of it named another."""
        header = self.config.identity_header
        if header is None or not self.is_from_proxy(request):
            return None
        users = request.headers.getlist(header)
        try:
            return users[0].encode("latin-1").decode() if len(users) == 1 else None
        except UnicodeDecodeError:
            return None

    def _caller_with(self, hashed: str) -> Caller | None:
        role = find_role(hashed, {**self.config.tokens, self._admin_hash: ADMIN})
        return None if role is None else caller_of(role)


def peer_of(request: HTTPConnection) -> str:
    """Return the address at the other end of the connection; empty if the host of this app does not tell it."""
    return request.client.host if request.client is not None else ""


class FailureLimit:
    """Counts the different wrong tokens of each address; the same one again, as of an old script, is no guess."""

    def __init__(self, now: Callable[[], float]) -> None:
        """Take a monotonic clock in seconds."""
        self._now = now
        self._failures: OrderedDict[str, dict[str, float]] = OrderedDict()

    def retry_after(self, peer: str) -> float:
        """Return for how many seconds no token of this address is looked at; 0 if one is."""
        times = sorted(self._recent(peer).values())
        return 0.0 if len(times) < MAX_WRONG_TOKENS else times[-MAX_WRONG_TOKENS] + WINDOW_SECONDS - self._now()

    def note(self, peer: str, hashed: str) -> None:
        """Note a wrong token."""
        self._failures[peer] = {**self._recent(peer), hashed: self._now()}
        self._failures.move_to_end(peer)
        while len(self._failures) > _MAX_PEERS:
            self._failures.popitem(last=False)

    def _recent(self, peer: str) -> dict[str, float]:
        since = self._now() - WINDOW_SECONDS
        return {hashed: at for hashed, at in self._failures.get(peer, {}).items() if at > since}
