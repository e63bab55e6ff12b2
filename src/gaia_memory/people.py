"""Identifies the user behind a sender on a channel."""

from __future__ import annotations

from dataclasses import dataclass

from gaia_memory.config.sections.people_section import PeopleConfig, guest_id
from gaia_memory.errors import InvalidInputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Speaker:
    """The author of a message: the user id of their memory, and whether they are an admin."""

    user_id: str
    admin: bool = False


def identify_speaker(people: PeopleConfig, channel: str, sender: str | int) -> Speaker | None:
    """Return the user behind `sender` on `channel`; None if the sender is refused.

    Both are compared exactly; a number equals the text of its digits. If unknown senders are allowed, each becomes a
    user of their own, with an id that no configured user can have.

    Raises:
        InvalidInputError: channel or sender is missing.
    """
    arguments: list[tuple[str, object]] = [("channel", channel), ("sender_id", sender)]
    for name, value in arguments:
        if isinstance(value, bool) or not isinstance(value, str | int) or not str(value).strip():
            raise InvalidInputError(f"{name} is {value!r}: pass the id that the channel uses")
    found = people.find(str(channel), str(sender))
    if found is not None:
        user, person = found
        return Speaker(user_id=user, admin=person.admin)
    if people.unknown == "allow":
        return Speaker(user_id=guest_id(str(channel), str(sender)))
    return None
