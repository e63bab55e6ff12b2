"""The section `people`: users and the senders they write from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import quote

from pydantic import ConfigDict, Field, field_validator

from gaia_memory.config.sections.provider_section import Section
from gaia_memory.errors import InvalidInputError
from gaia_memory.redaction.mask import display_value

_ADMIN = "admin"
_ALLOWED_USERS = (
    "a section per user id: `admin` (true or false), and a list of senders per channel, such as "
    '`ada: {admin: true, telegram: ["12345"], email: ["ada@example.com"]}`'
)


def guest_id(channel: str, sender: str) -> str:
    """Return the user id of a sender that `people.users` does not name: `channel:sender`, both percent-encoded.

    It contains one colon. A named user may only have such an id if it is that of one of their own senders.
    """
    return ":".join(quote(part, safe="", errors="surrogatepass") for part in (channel, sender))


class Person(Section):
    """A user: whether they are an admin, and their senders by channel."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, tuple[str, ...]]

    admin: bool = Field(default=False, description="Whether this user may use the admin commands.")

    @property
    def senders(self) -> Mapping[str, tuple[str, ...]]:
        """The senders by channel."""
        return self.__pydantic_extra__


class PeopleConfig(Section):
    """Which sender on which channel is which user, for `gaia.inbound`."""

    unknown: Literal["refuse", "allow"] = Field(
        default="refuse",
        description=(
            "Messages from senders that `people.users` does not name. `refuse`: no answer, nothing stored. `allow`: "
            "the sender becomes a user with the id `channel:sender`."
        ),
    )
    users: Mapping[str, Person] = Field(
        default={},
        description=(
            "The users by id. Channels are named as in `gaia.inbound`, except `admin`. Senders must match exactly, and "
            "each belongs to one user."
        ),
        json_schema_extra={"allowed": _ALLOWED_USERS},
    )

    @field_validator("users", mode="before")
    @classmethod
    def _people(cls, value: Any) -> Any:
        """Report all problems at once: pydantic's messages would not name the user and the channel."""
        if value is None:
            return {}
        if isinstance(value, Mapping) and (problems := list(_problems(value))):
            raise ValueError(" and ".join(problems))
        return value

    def find(self, channel: str, sender: str) -> tuple[str, Person] | None:
        """Return the user id and the entry of the user with this sender."""
        for user, person in self.users.items():
            if sender in person.senders.get(channel, ()):
                return user, person
        return None


def _problems(users: Mapping[Any, Any]) -> Iterator[str]:
    owners: dict[tuple[str, str], str] = {}
    for user, person in users.items():
        if isinstance(person, Person):
            person = {_ADMIN: person.admin, **person.senders}
        if not isinstance(user, str) or not user:
            yield f"has the user id {display_value(user)}, which must be text (put it in quotes)"
        elif not isinstance(person, Mapping):
            yield f"contains {display_value(person)} for {display_value(user)}, which must be a section"
        else:
            yield from _person_problems(user, person, owners)


def _person_problems(user: str, person: Mapping[Any, Any], owners: dict[tuple[str, str], str]) -> Iterator[str]:
    user_label = display_value(user)
    own_guest_ids: set[str] = set()
    for channel, senders in person.items():
        if channel == _ADMIN:
            if not isinstance(senders, bool):
                yield f"contains {display_value(senders)} for {user_label} at admin, which must be true or false"
        elif not isinstance(channel, str) or not channel:
            yield f"names the channel {display_value(channel)} for {user_label}, which must be text (put it in quotes)"
        elif not isinstance(senders, list | tuple):
            shown = display_value(senders)
            yield f"contains {shown} for {user_label} on {display_value(channel)}, which must be a list of senders"
        else:
            for sender in senders:
                yield from _sender_problems(user, channel, sender, owners)
            own_guest_ids |= {guest_id(channel, sender) for sender in senders if isinstance(sender, str)}
    if ":" in user and user not in own_guest_ids:
        yield f"has the user id {user_label}, but ids with a colon are reserved for unnamed senders"


def _sender_problems(user: str, channel: str, sender: object, owners: dict[tuple[str, str], str]) -> Iterator[str]:
    where = f"on {display_value(channel)}"
    if not isinstance(sender, str) or not sender:
        shown = display_value(sender)
        yield f"contains the sender {shown} for {display_value(user)} {where}, which must be text (put it in quotes)"
        return
    owner = owners.setdefault((channel, sender), user)
    if owner != user:
        both = f"both {display_value(owner)} and {display_value(user)}"
        yield f"gives the sender {display_value(sender)} {where} to {both}"


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
