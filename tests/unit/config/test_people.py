"""`people:` maps senders to users and refuses ambiguous entries."""

from __future__ import annotations

import pytest

from gaia_memory.config.schema import GaiaConfig, PeopleConfig
from gaia_memory.config.sections.people_section import guest_id
from gaia_memory.config.sources.load import load
from gaia_memory.errors import ConfigError


def people(users: object, **more: object) -> PeopleConfig:
    return load({"people": {"users": users, **more}}, environ={}).config.people


def refusal(users: object) -> str:
    with pytest.raises(ConfigError) as caught:
        people(users)
    [problem] = caught.value.problems
    return problem


def test_without_users_unknown_senders_are_refused():
    """This is the default."""
    config = load(None, environ={}).config.people

    assert (config.unknown, dict(config.users)) == ("refuse", {})


def test_a_user_may_have_senders_on_several_channels():
    """Each sender is valid on its own channel only."""
    config = people({"itay": {"admin": True, "telegram": ["1", "2"], "email": ["itay@x"]}, "noa": {"telegram": ["3"]}})

    found = config.find("email", "itay@x")
    assert found is not None
    assert (found[0], found[1].admin) == ("itay", True)
    assert [config.find("telegram", sender) is not None for sender in ("1", "2", "3", "4")] == [True, True, True, False]
    assert config.find("email", "1") is None
    assert not config.users["noa"].admin


def test_a_sender_of_two_users_is_refused_by_naming_both():
    """Two users with one sender would share a memory."""
    problem = refusal({"itay": {"telegram": ["1"]}, "noa": {"telegram": ["2", "1"]}})

    assert "gives the sender '1' on 'telegram' to both 'itay' and 'noa'" in problem


@pytest.mark.parametrize(
    ("users", "words"),
    [
        ({"itay": {"telegram": [12345]}}, "is not allowed"),
        ({"itay": {"telegram": [""]}}, "is not allowed"),
        ({"itay": {"telegram": "12345"}}, "is not allowed"),
        ({"itay": {"admn": True}}, "is not allowed"),
        ({"itay": {"admin": "yes"}}, "is not allowed"),
        ({"itay": None}, "is not allowed"),
        ({7: {}}, "is not allowed"),
        ({"": {}}, "is not allowed"),
        ({"a:b": {"telegram": ["1"]}}, "has the user id 'a:b', but ids with a colon are reserved"),
        (["itay"], "is not allowed"),
    ],
)
def test_an_invalid_entry_is_refused_with_what_is_allowed(users, words):
    """YAML reads an unquoted id as a number, and a misspelt key as a channel."""
    problem = refusal(users)

    assert problem.startswith("people.users: ")
    assert words in problem
    assert 'such as `ada: {admin: true, telegram: ["12345"]' in problem


def test_a_guest_id_may_be_configured_for_its_own_sender():
    """A colon is allowed there, so a guest who is added keeps their memory."""
    config = people({"telegram:99": {"telegram": ["99"]}})

    assert config.find("telegram", "99") == ("telegram:99", config.users["telegram:99"])


@pytest.mark.parametrize("one", [("a:b", "c"), ("a", "b:c"), ("a%3Ab", "c"), ("é", "*"), ("\ud800", " ")])
@pytest.mark.parametrize("other", [("a", "b"), ("a:b", "c%20"), ("a", "b%3Ac"), ("e\u0301", "*")])
def test_two_guests_never_have_the_same_id(one, other):
    """Both parts are encoded, so the separator is unambiguous."""
    assert guest_id(*one) != guest_id(*other)
    assert guest_id(*one).count(":") == 1


def test_people_can_come_from_the_environment_or_a_config_object():
    """A container may have no file."""
    environ = {"GAIA_PEOPLE__UNKNOWN": "allow", "GAIA_PEOPLE__USERS": '{"Itay": {"telegram": ["1"]}}'}
    config = load({}, environ=environ).config

    assert config.people.unknown == "allow"
    assert config.people.find("telegram", "1") is not None
    assert load(config, environ={}).config == config
    assert GaiaConfig(people={"users": {"Itay": {"telegram": ["1"]}}, "unknown": "allow"}).people == config.people
