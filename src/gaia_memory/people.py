"""Who is speaking: from a sender on a channel to a person, or to nobody."""

from __future__ import annotations

from dataclasses import dataclass

from gaia_memory.config.sections.people_section import PeopleConfig, guest_id
from gaia_memory.errors import InvalidInputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Speaker:
    """Who wrote a message: the user id memory is kept under, and whether that person is an admin."""

    user_id: str
    admin: bool = False


def identify_speaker(people: PeopleConfig, channel: str, sender: str | int) -> Speaker | None:
    """Return who writes from `sender` on `channel`; None when the sender is to be refused.

    Both are compared letter by letter; a number is the sender of its digits. An unknown sender, where they are
    allowed, is a person of their own whose id no named person has.

    Raises:
        InvalidInputError: the channel or the sender is missing.
    """
    arguments: list[tuple[str, object]] = [("channel", channel), ("sender_id", sender)]
    for name, value in arguments:
        if isinstance(value, bool) or not isinstance(value, str | int) or not str(value).strip():
            raise InvalidInputError(f"{name} is {value!r}: pass what the channel calls it")
    found = people.find(str(channel), str(sender))
    if found is not None:
        user, person = found
        return Speaker(user_id=user, admin=person.admin)
    if people.unknown == "allow":
        return Speaker(user_id=guest_id(str(channel), str(sender)))
    return None
