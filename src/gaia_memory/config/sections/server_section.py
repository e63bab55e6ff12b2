"""The section `server`: who may use the HTTP server, and under which names it is reached."""

from __future__ import annotations

import re
from collections.abc import Mapping
from ipaddress import ip_network

from pydantic import Field, field_validator

from gaia_memory.config.sections.provider_section import Section

_AUTH = re.compile(r"token|header:[A-Za-z][A-Za-z0-9-]*")
_TOKEN_HASH = re.compile(r"sha256:[0-9a-f]{64}")
_ROLE = re.compile(r"admin|reader|user:.+", re.DOTALL)
_HOSTNAME = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?")


class ServerConfig(Section):
    """The HTTP server of `gaia serve` and `memory_app`: who may use it."""

    auth: str = Field(
        default="token",
        description=(
            "How requests say who sends them. `token`: by a token alone. `header:NAME`: also by this header, in which "
            "a reverse proxy names the user; it counts from `server.trusted_hosts` only."
        ),
        json_schema_extra={"allowed": "`token` or `header:NAME`, such as `header:X-User`"},
    )
    tokens: Mapping[str, str] = Field(
        default={},
        description=(
            "Further tokens, by their hash. `admin` may do everything, `reader` reads everybody's memory, `user:ID` "
            "reads and changes the memory of this user. `gaia serve token` makes such an entry."
        ),
        json_schema_extra={"allowed": '`"sha256:HASH": ROLE` lines, indented'},
    )
    trusted_hosts: tuple[str, ...] = Field(
        default=(),
        description="The addresses of the reverse proxies whose header is believed.",
        json_schema_extra={"allowed": "a list of IP addresses or networks, such as `127.0.0.1` or `10.0.0.0/8`"},
    )
    hostnames: tuple[str, ...] = Field(
        default=(),
        description=(
            "The names by which browsers and proxies reach the server, besides `localhost` and plain IP addresses. "
            "Requests for other names are refused."
        ),
        json_schema_extra={"allowed": "a list of host names without ports, such as `memory.example.com`"},
    )

    @field_validator("auth")
    @classmethod
    def _auth(cls, value: str) -> str:
        if not _AUTH.fullmatch(value):
            raise ValueError("is neither `token` nor `header:` with the name of a header")
        return value

    @field_validator("tokens")
    @classmethod
    def _tokens(cls, value: Mapping[str, str]) -> Mapping[str, str]:
        for hashed, role in value.items():
            if not _TOKEN_HASH.fullmatch(hashed):
                raise ValueError("has an entry that is no hash of a token: `gaia serve token` prints one")
            if not _ROLE.fullmatch(role):
                raise ValueError("has an entry whose role is not `admin`, `reader` or `user:ID`")
        return value

    @field_validator("trusted_hosts")
    @classmethod
    def _trusted_hosts(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for each in value:
            try:
                ip_network(each)
            except ValueError as error:
                raise ValueError("has an entry that is neither an IP address nor a network") from error
        return value

    @field_validator("hostnames")
    @classmethod
    def _hostnames(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        names = tuple(each.lower() for each in value)
        if not all(_HOSTNAME.fullmatch(each) for each in names):
            raise ValueError("has an entry that is no host name: write it without scheme and port")
        return names

    @property
    def identity_header(self) -> str | None:
        """The name of the header with the user id, lower-case; None if only tokens count."""
        return self.auth.partition(":")[2].lower() or None
