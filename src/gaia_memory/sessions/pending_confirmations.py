"""What waits for a yes of the user: facts that a command showed, and facts that a model wants stored."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple

from gaia_memory.models import FactDetails, Origin, SessionKey

_MAX_PENDING = 1024
"""The most questions that wait for confirmation at once; the oldest are dropped and must be asked again."""


class HeldFact(NamedTuple):
    """What a held fact is stored with once the user says yes."""

    origin: Origin
    details: FactDetails


class PendingConfirmations:
    """The ids shown and the facts held in each conversation; kept in this process only."""

    def __init__(self) -> None:
        self._pending: OrderedDict[tuple[SessionKey, str, str], tuple[str, ...]] = OrderedDict()
        self._open_questions: OrderedDict[SessionKey, None] = OrderedDict()
        self._held_facts: OrderedDict[SessionKey, dict[str, HeldFact]] = OrderedDict()
        self._named_changes: OrderedDict[SessionKey, tuple[str, set[tuple[str, str]]]] = OrderedDict()

    def open_question(self, key: SessionKey) -> None:
        """Record that the last reply in a conversation was a question: a bare no or yes answers it."""
        self._open_questions[key] = None
        self._open_questions.move_to_end(key)
        if len(self._open_questions) > _MAX_PENDING:
            self._open_questions.popitem(last=False)

    def has_open_question(self, key: SessionKey) -> bool:
        """Return whether the last reply in a conversation was a question."""
        return key in self._open_questions

    def close_question(self, key: SessionKey) -> bool:
        """Record that a message followed the question, if there was one; return whether there was."""
        return self._open_questions.pop(key, key) is None

    def hold_fact(self, key: SessionKey, text: str, fact: HeldFact) -> None:
        """Keep a fact that a model wants stored, until the next message of the conversation."""
        self._held_facts.setdefault(key, {})[text] = fact
        self._held_facts.move_to_end(key)
        if len(self._held_facts) > _MAX_PENDING:
            self._held_facts.popitem(last=False)

    def take_facts(self, key: SessionKey) -> dict[str, HeldFact]:
        """Remove and return the held facts of a conversation by their texts."""
        return self._held_facts.pop(key, {})

    def name_change(self, key: SessionKey, turn_id: str, tool: str, fact_id: str) -> None:
        """Note that a tool named a fact in a turn, so that the agent asks whether it may change it."""
        named_in, named = self._named_changes.pop(key, (turn_id, set[tuple[str, str]]()))
        self._named_changes[key] = turn_id, {*(named if named_in == turn_id else ()), (tool, fact_id)}
        if len(self._named_changes) > _MAX_PENDING:
            self._named_changes.popitem(last=False)

    def was_named(self, key: SessionKey, turn_id: str, tool: str, fact_id: str) -> bool:
        """Return whether a tool named a fact in a turn, and in no later one."""
        named_in, named = self._named_changes.get(key, ("", set[tuple[str, str]]()))
        return named_in == turn_id and (tool, fact_id) in named

    def add(self, key: SessionKey, command: str, arguments: str, ids: Sequence[str]) -> None:
        """Store the ids shown for these arguments, in place of earlier ones."""
        self._pending[key, command, arguments] = tuple(ids)
        self._pending.move_to_end((key, command, arguments))
        if len(self._pending) > _MAX_PENDING:
            self._pending.popitem(last=False)

    def pop(self, key: SessionKey, command: str, arguments: str) -> tuple[str, ...]:
        """Remove and return the ids shown for these arguments."""
        return self._pending.pop((key, command, arguments), ())

    def latest(self, key: SessionKey, command: str) -> tuple[str, tuple[str, ...]] | None:
        """Return the arguments and ids that a command showed last and that wait for confirmation; None if none do."""
        for (pending_key, pending_command, arguments), ids in reversed(self._pending.items()):
            if (pending_key, pending_command) == (key, command):
                return arguments, ids
        return None

    def discard(self, key: SessionKey, command: str) -> None:
        """Remove everything a command showed: it asks a different question."""
        for entry in [each for each in self._pending if each[:2] == (key, command)]:
            del self._pending[entry]
