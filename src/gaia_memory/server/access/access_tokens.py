"""Tokens: the admin's, which is in a file of the home, and those that `server.tokens` lists by their hashes."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Mapping
from pathlib import Path

from gaia_memory.errors import ConfigError
from gaia_memory.files.private_files import create_private_file

TOKEN_FILE_NAME = "server.token"
ADMIN = "admin"


def new_token() -> str:
    """Return a random token."""
    return secrets.token_urlsafe(32)


def hash_token(token: str) -> str:
    """Return the hash of a token as `server.tokens` lists it. Tokens are random, so one fast hash is enough."""
    return "sha256:" + hashlib.sha256(token.encode(errors="surrogatepass")).hexdigest()


def find_role(hashed: str, roles: Mapping[str, str]) -> str | None:
    """Return the role of a hashed token; takes as long for a wrong one as for a right one."""
    found = None
    for known, role in roles.items():
        if hmac.compare_digest(known, hashed):
            found = role
    return found


def ensure_admin_token(home: Path) -> tuple[str, bool]:
    """Return the admin's token, and whether this call made it. Blocking.

    Raises:
        ConfigError: the file is empty.
    """
    path = home / TOKEN_FILE_NAME
    try:
        create_private_file(path)
    except FileExistsError:
        if token := path.read_text(encoding="utf-8").strip():
            return token, False
        raise ConfigError(["it is empty: delete it, and the next start makes a new token"], source=str(path)) from None
    token = new_token()
    path.write_text(f"{token}\n", encoding="utf-8")
    return token, True
