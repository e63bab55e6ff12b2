"""One call of a memory tool: whom it serves, in which conversation, and what the person said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gaia_memory.adk.plugins.active_context import active_context
from gaia_memory.adk.plugins.error_boundary import ErrorBoundary
from gaia_memory.adk.plugins.invocation_state import current_run, current_statement, is_private, may_be_private
from gaia_memory.adk.sessions.event_mapping import TIME_ZONE_KEY, require_zone
from gaia_memory.adk.tools.tool_arguments import ToolArguments
from gaia_memory.drafts.excerpts import excerpt_of
from gaia_memory.errors import InvalidInputError
from gaia_memory.language.agreements import is_agreement
from gaia_memory.language.distinctive_words import shares_distinctive_word
from gaia_memory.models import Fact, Origin, SessionKey, ToolTurn
from gaia_memory.models.recurrence import machine_zone
from gaia_memory.models.validation import format_value

if TYPE_CHECKING:
    from google.adk.tools.tool_context import ToolContext

    from gaia_memory.engine import Engine
    from gaia_memory.models import Scope, UserStatement

_MIN_ID_CHARACTERS = 6
_UNKNOWN_ID = "no fact with this id was shown in this conversation: search for it first, and pass the id of the result"
_UNNAMED_FACT = "this fact is sensitive, and the user's message does not name it: ask the user which fact they mean"


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call of the tool `name`. `given` are its arguments under their declared names."""

    engine: Engine
    context: ToolContext
    name: str
    given: Mapping[str, Any]

    @property
    def scope(self) -> Scope:
        """The person's memory."""
        return self.engine.scope(self.context.session.app_name, self.context.session.user_id)

    @property
    def key(self) -> SessionKey:
        """The conversation with the person: within a tool, such as an AgentTool, that of the outer run."""
        if (turn := current_run().outer_turn) is not None:
            return turn.key
        session = self.context.session
        return SessionKey(session.app_name, session.user_id, session.id)

    @property
    def turn(self) -> ToolTurn:
        """The turn of that conversation."""
        outer = current_run().outer_turn
        return ToolTurn(self.key, self.context.invocation_id if outer is None else outer.invocation_id)

    @property
    def statement(self) -> UserStatement:
        """What the person said in this turn."""
        return current_statement(self.context)

    @property
    def active_context(self) -> str:
        """The context that new facts belong to, and whose facts the model sees."""
        return active_context(self.context.state)

    @property
    def origin(self) -> Origin:
        """The turn and the agent, as the source of a fact."""
        session, turn = self.context.session, self.context.invocation_id
        event_ids = tuple(event.id for event in session.events if event.invocation_id == turn)
        return Origin(
            source="agent",
            app=session.app_name,
            session_id=session.id,
            event_ids=event_ids,
            turn_event_ids=event_ids,
            agent=self.context.agent_name,
            excerpt=None if may_be_private(self.context) else excerpt_of(self.statement.text),
            turn=self.turn,
        )

    async def read_arguments(self) -> ToolArguments:
        """Return the arguments, with times in the person's zone.

        Raises:
            InvalidInputError: `user:time_zone` of the session is no time zone.
        """
        now, named = self.engine.clock.now(), await require_zone(self.context.session.state.get(TIME_ZONE_KEY))
        return ToolArguments(self.given, now, named or self.engine.config.memory.zone or machine_zone())

    async def show(self, facts: Sequence[Fact]) -> dict[str, str]:
        """Return the short ids of facts that the model is about to see; it may pass them to tools from then on.

        Facts of other scopes and expired ones have none, and without an answer of the database none has.
        """
        with ErrorBoundary("noting which facts a model was shown"):
            now = self.engine.clock.now()
            is_over = {fact.id for fact in facts if fact.valid_until is not None and fact.valid_until <= now}
            ids = [fact.id for fact in facts if fact.scope == self.scope and fact.id not in is_over]
            is_noted = not is_private(self.context)
            return await self.engine.conversations.show_facts(self.key, self.scope, ids, is_noted=is_noted)
        return {}

    async def find_shown(self) -> Fact:
        """Return the fact that the argument `id` names.

        Raises:
            InvalidInputError: the conversation was not shown a current fact of this person with this id, or it is
                sensitive and the person has not named it.
        """
        given = self.given["id"]
        prefix = str(given).strip().removeprefix("#").lower()
        shown = await self.engine.conversations.shown_facts(self.key, self.scope)
        found = [fact for fact in shown if len(prefix) >= _MIN_ID_CHARACTERS and fact.id.startswith(prefix)]
        if len(found) > 1:
            raise InvalidInputError(f"id is {format_value(given)}, which several facts begin with: search for it again")
        if not found:
            raise InvalidInputError(f"id is {format_value(given)}: {_UNKNOWN_ID}")
        [fact] = found
        if fact.sensitive and not (self.names(fact) or self.agrees_to(fact)):
            raise InvalidInputError(f"id is {format_value(given)}: {_UNNAMED_FACT}")
        return fact

    def names(self, fact: Fact) -> bool:
        """Return whether the person's message has a distinctive word of a fact, its category or its entity."""
        named = " ".join((fact.text, fact.category or "", fact.entity or ""))
        return shares_distinctive_word(self.statement.text, named)

    def agrees_to(self, fact: Fact) -> bool:
        """Return whether the person's message is a yes, and this tool named the fact in the turn before."""
        statement, pending = self.statement, self.engine.pending_confirmations
        return is_agreement(statement.text) and pending.was_named(
            self.key, statement.earlier_turn_id, self.name, fact.id
        )
