"""The section `people`: users and the senders they write from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal
from urllib.parse import quote

from pydantic import ConfigDict, Field, StrictBool, field_validator

from gaia_memory.config.sections.provider_section import Section
from gaia_memory.errors import InvalidInputError
from gaia_memory.redaction.mask import display_value

_ALLOWED_USERS = (
    "a section per user id: `admin` (true or false), and a list of senders per channel, such as "
    '`ada: {admin: true, telegram: ["12345"], email: ["ada@example.com"]}`'
)

_Id = Annotated[str, Field(min_length=1)]


def guest_id(channel: str, sender: str) -> str:
    """Return the user id of a sender that `people.users` does not name: `channel:sender`, both percent-encoded.

    It contains one colon. A named user may only have such an id if it is that of one of their own senders.
    """
    return ":".join(quote(part, safe="", errors="surrogatepass") for part in (channel, sender))


class Person(Section):
    """A user: whether they are an admin, and their senders by channel."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, tuple[_Id, ...]]

    admin: StrictBool = Field(default=False, description="Whether this user may use the admin commands.")

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
    users: Mapping[_Id, Person] = Field(
        default={},
        description=(
            "The users by id. Channels are named as in `gaia.inbound`, except `admin`. Senders must match exactly, and "
            "each belongs to one user."
        ),
        json_schema_extra={"allowed": _ALLOWED_USERS},
    )

    @field_validator("users", mode="before")
    @classmethod
    def _none_for_null(cls, value: Any) -> Any:
        return {} if value is None else value

    @field_validator("users")
    @classmethod
    def _unambiguous(cls, users: Mapping[str, Person]) -> Mapping[str, Person]:
        owners: dict[tuple[str, str], str] = {}
        for user, person in users.items():
            senders = [(channel, each) for channel, given in person.senders.items() for each in given]
            for channel, sender in senders:
                if (owner := owners.setdefault((channel, sender), user)) != user:
                    both = f"both {display_value(owner)} and {display_value(user)}"
                    raise ValueError(f"gives the sender {display_value(sender)} on {display_value(channel)} to {both}")
            if ":" in user and user not in {guest_id(*each) for each in senders}:
                user_label = display_value(user)
                raise ValueError(f"has the user id {user_label}, but ids with a colon are reserved for unnamed senders")
        return users

    def find(self, channel: str, sender: str) -> tuple[str, Person] | None:
        """Return the user id and the entry of the user with this sender."""
        for user, person in self.users.items():
            if sender in person.senders.get(channel, ()):
                return user, person
        return None


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
