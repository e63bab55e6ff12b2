"""Who is who: the people of an installation and the senders they write from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal
from urllib.parse import quote

from pydantic import ConfigDict, Field, field_validator

from gaia_memory.config.secrets import shown
from gaia_memory.config.sections.provider_section import Section

_ADMIN = "admin"
_USERS = (
    "under each user id a section: `admin` (true or false), and a list of senders under each channel's name, as in "
    '`ada: {admin: true, telegram: ["12345"], email: ["ada@example.com"]}`'
)


def guest_id(channel: str, sender: str) -> str:
    """The user id of a sender whom `people.users` does not name: `channel:sender`, both percent-encoded.

    It holds one colon, and nobody who is named may have such an id, except the one who is that very sender.
    """
    return ":".join(quote(part, safe="", errors="surrogatepass") for part in (channel, sender))


class Person(Section):
    """A person: whether they are an admin and, under each channel's name, the senders they write from."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, tuple[str, ...]]

    admin: bool = Field(default=False, description="Whether this person is an admin, who may switch memory off and on.")

    @property
    def senders(self) -> Mapping[str, tuple[str, ...]]:
        """The senders by channel."""
        return self.__pydantic_extra__


class PeopleConfig(Section):
    """Who is speaking: which sender on which channel is which person, for `gaia.inbound`."""

    unknown: Literal["refuse", "allow"] = Field(
        default="refuse",
        description=(
            "What happens to a message of a sender whom `people.users` does not name. `refuse`: no answer and no "
            "trace. `allow`: the sender is a person of their own, with the user id `channel:sender`."
        ),
    )
    users: Mapping[str, Person] = Field(
        default={},
        description=(
            "The people by user id. A channel's name is the one given to `gaia.inbound`, `admin` is none; senders are "
            "compared letter by letter, and each belongs to one person."
        ),
        json_schema_extra={"allowed": _USERS},
    )

    @field_validator("users", mode="before")
    @classmethod
    def _people(cls, value: Any) -> Any:
        """Tell everything that is wrong at once: pydantic's own words would not say where."""
        if value is None:
            return {}
        if isinstance(value, Mapping) and (problems := list(_problems(value))):
            raise ValueError(" and ".join(problems))
        return value

    def find(self, channel: str, sender: str) -> tuple[str, Person] | None:
        """The user id and the entry of the person who writes from this sender."""
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
            yield f"has the user id {shown(user)}, which must be text (put it in quotes)"
        elif not isinstance(person, Mapping):
            yield f"holds {shown(person)} for {shown(user)}, which must be a section"
        else:
            yield from _problems_of(user, person, owners)


def _problems_of(user: str, person: Mapping[Any, Any], owners: dict[tuple[str, str], str]) -> Iterator[str]:
    whose = shown(user)
    own: set[str] = set()
    for channel, senders in person.items():
        if channel == _ADMIN:
            if not isinstance(senders, bool):
                yield f"holds {shown(senders)} for {whose} at admin, which must be true or false"
        elif not isinstance(channel, str) or not channel:
            yield f"names the channel {shown(channel)} for {whose}, which must be text (put it in quotes)"
        elif not isinstance(senders, list | tuple):
            yield f"holds {shown(senders)} for {whose} on {shown(channel)}, which must be a list of senders"
        else:
            for sender in senders:
                yield from _problems_of_sender(user, channel, sender, owners)
            own |= {guest_id(channel, sender) for sender in senders if isinstance(sender, str)}
    if ":" in user and user not in own:
        yield f"has the user id {whose}, whose colon is kept for senders that are not named"


def _problems_of_sender(user: str, channel: str, sender: object, owners: dict[tuple[str, str], str]) -> Iterator[str]:
    where = f"on {shown(channel)}"
    if not isinstance(sender, str) or not sender:
        yield f"holds the sender {shown(sender)} for {shown(user)} {where}, which must be text (put it in quotes)"
        return
    owner = owners.setdefault((channel, sender), user)
    if owner != user:
        yield f"gives the sender {shown(sender)} {where} to both {shown(owner)} and {shown(user)}"
