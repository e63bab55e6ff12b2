"""What the commands about one user share: their options, how they open a memory, and how they find a fact."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from gaia_memory.cli.engines import AppOption, ConfigOption, JsonOption, UserOption, open_engine, print_other_scopes
from gaia_memory.cli.ui.fact_output import shorten_ids
from gaia_memory.cli.ui.terminal import pluralize, print_error, print_note
from gaia_memory.language.printable_text import escape_line

if TYPE_CHECKING:
    from gaia_memory.engine import Engine
    from gaia_memory.memory import Memory
    from gaia_memory.models import Fact, NewFact, Origin, Scope

    Masked = TypeVar("Masked", Fact, NewFact)

IdArgument = Annotated[
    str, typer.Argument(metavar="ID", help="The id of the fact, or its first six characters.", show_default=False)
]
_MAX_NAMED_IDS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Whose memory a command is about, and how it answers."""

    user: UserOption
    app_name: AppOption = None
    as_json: JsonOption = False
    config: ConfigOption = None

    @asynccontextmanager
    async def open(self, *, allow_disabled: bool = False, needs_home: bool = True) -> AsyncIterator[UserMemory]:
        """Open an engine; yield it with the scope of the user in the named app, or in the configured one."""
        async with open_engine(self.config, allow_disabled=allow_disabled, needs_home=needs_home) as engine:
            yield UserMemory(engine, engine.scope(self.app_name or engine.config.app, self.user))


@dataclass(frozen=True, slots=True)
class UserMemory:
    """An open memory, and the scope of the user whom a command is about."""

    engine: Engine
    scope: Scope

    @property
    def memory(self) -> Memory:
        """The memory of everybody."""
        return self.engine.memory

    def mask(self, fact: Masked) -> Masked:
        """Return a fact without the credentials that an older release has stored."""
        from gaia_memory.models.masked_fact import mask_fact

        return mask_fact(fact, allow_numbers=self.engine.config.memory.allow_numbers)

    def mask_origins(self, origins: Iterable[Origin]) -> list[Origin]:
        """Return sources without the credentials that an older release has stored."""
        from gaia_memory.models.masked_fact import mask_origin

        return [mask_origin(each, allow_numbers=self.engine.config.memory.allow_numbers) for each in origins]

    async def find(self, fact_id: str, *, with_past: bool = False) -> Fact:
        """Return the current fact, or past one, with this id or its beginning; exit if there is not exactly one."""
        facts = await self.memory.facts(self.scope)
        if not facts:
            await self.print_other_scopes()
        past = await self.memory.past_facts(self.scope) if with_past else []
        return find_fact([*facts, *past], fact_id, escape_line(self.scope.user))

    async def print_other_scopes(self) -> None:
        """Name the other apps in which the same user has facts."""
        await print_other_scopes(self.engine, self.scope)

    async def explain_nothing(self) -> None:
        """Say why nothing may be found: another app, or what waits to be learned."""
        if not await self.memory.count(self.scope):
            await self.print_other_scopes()
        if count := sum(each.messages > 0 for each in await self.memory.pending(self.scope)):
            waits = pluralize(count, "conversation waits", "conversations wait")
            is_of_agent = self.engine.config.memory.llm.is_of_agent
            learner = "the process of the agent does it" if is_of_agent else "`gaia sweep --force` does it now"
            print_note(f"{waits} to be learned: {learner}.")

    async def print_storage_problem(self) -> None:
        """Say what is wrong with the files, such as a lost database: facts may be missing from what is shown."""
        if problem := await self.memory.storage_problem():
            print_note(f"warning: {problem}")


def require_named_user(context: typer.Context, user: str, owner: str | None) -> None:
    """Refuse a file about `owner` for a user that was not named: the default would mix two people up.

    Raises:
        typer.BadParameter: `--user` was left out, and the file is about somebody else.
    """
    source = context.get_parameter_source("user")
    if owner not in (None, user) and source is not None and source.name != "COMMANDLINE":
        raise typer.BadParameter(f"the file is about {owner!r}: pass --user to say whose facts these are")


def find_fact(facts: Sequence[Fact], fact_id: str, user: str) -> Fact:
    """Return the fact with this id, or with an id that starts with it; exit if there is none or more than one."""
    prefix = fact_id.removeprefix("#").lower()
    found = [fact for fact in facts if prefix and fact.id.lower().startswith(prefix)]
    if len(found) == 1:
        return found[0]
    if found:
        named = shorten_ids([fact.id for fact in found])[:_MAX_NAMED_IDS]
        more = f" and {len(found) - len(named)} more" if len(found) > len(named) else ""
        print_error(f"the id {fact_id!r} of {user} is ambiguous: {', '.join(named)}{more}")
    else:
        print_error(f"{user} has no fact with the id {fact_id!r}: `gaia memory list --user {user}` shows the ids")
    raise typer.Exit(1)
