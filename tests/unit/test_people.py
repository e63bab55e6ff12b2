"""Who is speaking is decided from the configuration alone."""

import pytest

from gaia_memory.config.sections.people_section import PeopleConfig
from gaia_memory.errors import InvalidInputError
from gaia_memory.people import Speaker, identify_speaker

USERS = {"itay": {"admin": True, "telegram": ["12345"], "email": ["itay@x"]}, "noa": {"telegram": ["7"]}}
CLOSED = PeopleConfig.model_validate({"users": USERS})
OPEN = PeopleConfig.model_validate({"users": USERS, "unknown": "allow"})


def test_a_named_sender_is_that_person_on_every_channel():
    """With the admin flag, and whether the channel gives a number or its digits."""
    itay = Speaker(user_id="itay", admin=True)

    assert identify_speaker(CLOSED, "telegram", "12345") == identify_speaker(CLOSED, "telegram", 12345) == itay
    assert identify_speaker(CLOSED, "email", "itay@x") == itay
    assert identify_speaker(OPEN, "telegram", "7") == Speaker(user_id="noa", admin=False)


@pytest.mark.parametrize("sender", ["1234", "12345 ", "itay", "itay@x", "\u0667"])
def test_an_unknown_sender_is_nobody(sender):
    """Nothing is trimmed, folded or looked up on another channel."""
    assert identify_speaker(CLOSED, "telegram", sender) is None
    assert identify_speaker(PeopleConfig(), "telegram", sender) is None


@pytest.mark.parametrize("sender", ["itay", "noa", "99", "a:b"])
def test_an_allowed_unknown_sender_is_nobody_who_is_named(sender):
    """Whoever calls themselves like a user gets a memory of their own, and is no admin."""
    guest = identify_speaker(OPEN, "telegram", sender)

    assert guest is not None
    assert guest.user_id not in USERS
    assert not guest.admin
    assert guest.user_id.startswith("telegram:")


@pytest.mark.parametrize(
    ("channel", "sender"), [("", "1"), ("telegram", ""), ("telegram", " "), ("telegram", None), ("telegram", True)]
)
def test_a_missing_sender_is_an_error_not_a_person(channel, sender):
    """All the nameless would share one memory."""
    with pytest.raises(InvalidInputError, match="pass the id that the channel uses"):
        identify_speaker(OPEN, channel, sender)
