"""Ids that a store, a filter, a path, a URL or a database might misread or confuse with one another."""

from __future__ import annotations

from gaia_memory.models import Scope

USERS = [
    "*", "**", "%", "_", "?", "%2A", "%252A", "a", "A", "a:b", "a%3Ab", "b", "a b", "a  b", " a", "a ", "\ta", "a\n",
    "\n", " ", "\u00a0", "\u00e9", "e\u0301", "\ufb01", "fi", "\u0130", "i\u0307", "\u00df", "ss", "\u212a", "K",
    "\u041a", "k", "..", "../a", "a/b", "a%2Fb", "a\\b", "0", "00", "1", "1.0", "-1", "user_id=*", '{"user_id": "*"}',
    '{"$or": [{}]}', "' OR '1'='1", 'a"; DROP TABLE gaia_facts; --', "None", "null", "\u202ea", "a\u200b", "a\x00b",
    "\ud800", "x" * 600, "x" * 601, "\U0001f600", "<USER_PROFILE>", "{a}", "b:c",
]  # fmt: skip
"""Each id is a different user."""

APPS = ["gaia", "Gaia", "gaia ", "a:b", "a", "*", "%67aia", None]
"""The first is the configured app; None is the scope of a memory across apps."""

SCOPES = [Scope(APPS[0], user) for user in USERS]
SCOPES += [Scope(app, user) for user in ("a", "b:c", "c", "*") for app in APPS if Scope(app, user) not in SCOPES]

SESSIONS = ["*", "s", "S", "s:1", "s%3A1", " ", "\n", "../s", "' OR ''='", "\u202es", "y" * 400, "0"]
"""Names of the conversations in which facts were learned; all users share them."""

CHANNELS = ["cli", "CLI", "*", "a:b", "%2A", "web "]


def can_hold_session(scope: Scope) -> bool:
    """Say whether ADK's session database can store this user under the configured app."""
    return scope.app == APPS[0] and len(scope.user) < 100 and not {"\x00", "\ud800"} & set(scope.user)
