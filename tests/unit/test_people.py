"""The configuration maps senders to users."""

import pytest

from gaia_memory.config.sections.people_section import PeopleConfig, Speaker, identify_speaker
from gaia_memory.errors import InvalidInputError

USERS = {"itay": {"admin": True, "telegram": ["12345"], "email": ["itay@x"]}, "noa": {"telegram": ["7"]}}
CLOSED = PeopleConfig.model_validate({"users": USERS})
OPEN = PeopleConfig.model_validate({"users": USERS, "unknown": "allow"})


def test_a_configured_sender_is_the_same_user_on_every_channel():
    """The admin flag is included; a number equals the text of its digits."""
    itay = Speaker(user_id="itay", admin=True)

    assert identify_speaker(CLOSED, "telegram", "12345") == identify_speaker(CLOSED, "telegram", 12345) == itay
    assert identify_speaker(CLOSED, "email", "itay@x") == itay
    assert identify_speaker(OPEN, "telegram", "7") == Speaker(user_id="noa", admin=False)


@pytest.mark.parametrize("sender", ["1234", "12345 ", "itay", "itay@x", "\u0667"])
def test_an_unknown_sender_is_refused(sender):
    """Senders are not trimmed, case-folded or looked up on another channel."""
    assert identify_speaker(CLOSED, "telegram", sender) is None
    assert identify_speaker(PeopleConfig(), "telegram", sender) is None


@pytest.mark.parametrize("sender", ["itay", "noa", "99", "a:b"])
def test_an_accepted_unknown_sender_never_gets_the_id_of_a_configured_user(sender):
    """A sender with a user's name gets a separate memory and is not an admin."""
    guest = identify_speaker(OPEN, "telegram", sender)

    assert guest is not None
    assert guest.user_id not in USERS
    assert not guest.admin
    assert guest.user_id.startswith("telegram:")


@pytest.mark.parametrize(
    ("channel", "sender"), [("", "1"), ("telegram", ""), ("telegram", " "), ("telegram", None), ("telegram", True)]
)
def test_a_missing_sender_is_an_error(channel, sender):
    """Otherwise all of them would share one memory."""
    with pytest.raises(InvalidInputError, match="pass the id that the channel uses"):
        identify_speaker(OPEN, channel, sender)
