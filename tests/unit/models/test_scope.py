"""Scopes keep users apart."""

from uuid import UUID

import pytest

from gaia_memory import Scope
from gaia_memory.errors import InvalidInputError
from gaia_memory.models import SessionKey

HOSTILE = [
    "*",
    "a b",
    " itay",
    "itay",
    "Itay",
    "../x",
    "a:b",
    "caf\u00e9",
    "cafe\u0301",
    "%2A",
    "x" * 4000,
    "\ud800",
    "7",
]


def test_every_pair_of_different_scopes_has_different_partitions():
    """Ids differ when their bytes differ, and `a:b` + `c` never meets `a` + `b:c`."""
    scopes = [Scope(app, user) for app in [None, *HOSTILE] for user in HOSTILE]

    assert len({scope.partition for scope in scopes}) == len(scopes)


@pytest.mark.parametrize("user", HOSTILE)
def test_a_partition_is_plain_ascii_without_wildcards_or_space(user):
    """mem0 reads `*` as all users and refuses white space."""
    partition = Scope("gaia", user).partition

    assert partition.isascii()
    assert not set(partition) & set("* \t\n")


def test_ids_are_converted_to_text():
    """Telegram sends numbers."""
    assert Scope("gaia", 7) == Scope("gaia", "7")  # type: ignore[arg-type]


@pytest.mark.parametrize(("app", "user"), [("", "u"), (True, "u"), ("a", ""), ("a", None), ("a", True), ("a", ["u"])])
def test_an_invalid_id_is_refused(app, user):
    """Otherwise all users called None would share one memory."""
    with pytest.raises(InvalidInputError, match=r"Scope\.(app|user) is .*: pass a non-empty id"):
        Scope(app, user)


def test_a_uuid_is_a_valid_id():
    """Many hosts use only UUIDs."""
    person = UUID("12345678-1234-5678-1234-567812345678")

    assert Scope("gaia", person) == Scope("gaia", str(person))  # type: ignore[arg-type]


def test_an_app_wide_scope_has_a_partition_that_no_user_can_have():
    """A percent-encoded user contains no colon."""
    shared = Scope.app_wide("a:b")

    assert shared.partition == "a%3Ab::app"
    assert shared.is_app_wide
    assert not Scope("a:b", ":app").is_app_wide
    assert shared == Scope.app_wide("a:b") != Scope.app_wide("c")
    assert {Scope("a:b", user).partition for user in (":app", "app", "%3Aapp", "app:")}.isdisjoint({shared.partition})
    with pytest.raises(InvalidInputError, match="app is ''"):
        Scope.app_wide("")


@pytest.mark.parametrize(
    ("user", "session", "channel"),
    [("itay", "itay:cli", "cli"), ("a:b", "a:b:web", "web"), ("itay", "itay:", None), ("itay", "itayx", None)],
)
def test_the_channel_is_the_rest_of_a_session_id_that_begins_with_the_user(user, session, channel):
    """Other hosts name their sessions as they like."""
    assert SessionKey("gaia", user, session).channel == channel
