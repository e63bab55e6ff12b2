"""A turn needs two write transactions in the memory database: one at its start, one at its end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from gaia_memory.database.sql_engine import Database
from gaia_memory.models import SessionKey
from gaia_memory.testing import ScriptedLlm
from support.conversations import USER, Conversations, open_conversations
from support.plugin_host import build_agent, open_plugin_host, user_content


@contextmanager
def counted_writes(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[None]]:
    """Count the write transactions of every database."""
    begun: list[None] = []
    transaction = Database.transaction

    def counting(self: Database) -> AbstractAsyncContextManager[Any]:
        begun.append(None)
        return transaction(self)

    with monkeypatch.context() as patch:
        patch.setattr(Database, "transaction", counting)
        yield begun


async def statements_of_turn(conversations: Conversations) -> list[str]:
    """Return what a turn sends to the memory database."""
    statements: list[str] = []
    database = conversations.engine.database
    assert isinstance(database, Database)

    def hear(connection: object, cursor: object, statement: str, *_: object) -> None:
        statements.append(statement)

    event.listen(database.engine.sync_engine, "before_cursor_execute", hear)
    try:
        await conversations.send("again")
    finally:
        event.remove(database.engine.sync_engine, "before_cursor_execute", hear)
    return statements


@pytest.fixture
def no_background(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the follower and the sweep from writing between turns."""
    monkeypatch.setattr("gaia_memory.engine.Engine.start", lambda *_, **__: None)


@pytest.mark.usefixtures("no_background")
async def test_a_turn_in_our_runner_takes_two_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The Runner counts the turn when it acquires the session, and the plugin claims it."""
    async with open_conversations(tmp_path, ScriptedLlm(default="ok")) as conversations:
        await conversations.send("one")
        with counted_writes(monkeypatch) as writes:
            await conversations.send("two")
        conversation = conversations.get()
        row = await conversations.engine.conversations.row(conversation.key)

    assert len(writes) == 2
    assert row is not None
    assert (row.turn.turn_no, row.turn.active_until, row.session.is_foreign) == (2, None, False)


@pytest.mark.usefixtures("no_background")
async def test_the_first_turn_of_a_conversation_takes_two_writes_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is counted once its session exists, and keeps for it that there is no profile yet.

    A person without facts needs no row of their own.
    """
    async with open_conversations(tmp_path, ScriptedLlm(default="ok")) as conversations:
        with counted_writes(monkeypatch) as writes:
            await conversations.send("one")
        row = await conversations.engine.conversations.row(conversations.get().key)
        async with conversations.engine.memory.stores.database.read_transaction() as tx:
            people = (await tx.exec_driver_sql("SELECT count(*) FROM gaia_scopes")).scalar_one()

    assert len(writes) == 4
    assert row is not None
    assert row.session.profile is not None
    assert row.session.profile.block == ""
    assert people == 0


@pytest.mark.usefixtures("no_background")
async def test_a_turn_in_a_third_party_runner_takes_two_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The plugin counts it, and marks its end."""
    async with open_plugin_host(tmp_path, build_agent(ScriptedLlm(default="ok"))) as host:
        await host.run_turn("one")
        with counted_writes(monkeypatch) as writes:
            await host.run_turn("two")
        row = await host.ledger_row()

    assert len(writes) == 2
    assert row is not None
    assert (row.turn.turn_no, row.turn.active_until, row.session.is_foreign) == (2, None, True)


@pytest.mark.usefixtures("no_background")
async def test_due_facts_that_a_conversation_was_shown_take_two_statements(tmp_path: Path) -> None:
    """One reads them, one finds their short ids and which of them are new; only new ones are written."""
    async with open_conversations(tmp_path, ScriptedLlm(default="ok")) as conversations:
        memory, scope = conversations.gaia.memory, conversations.gaia.scope(USER)
        now = conversations.engine.clock.now()
        await conversations.send("one")
        without = await statements_of_turn(conversations)
        for n in range(10):
            await memory.remember(scope, f"Calls Ann, {n}", due_at=now + timedelta(hours=n + 1))
        await conversations.send("three")
        with_due_facts = await statements_of_turn(conversations)

    assert len(with_due_facts) == len(without) + 2, with_due_facts


@pytest.mark.usefixtures("no_background")
async def test_a_turn_that_never_begins_is_not_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The session cannot be loaded, so there is nothing to learn."""
    async with open_conversations(tmp_path, ScriptedLlm(default="ok")) as conversations:
        conversation = conversations.get()

        async def fails(**_: object) -> None:
            raise OSError("disk on fire")

        service: Any = conversations.gaia.session_service
        with monkeypatch.context() as patch:
            patch.setattr(service, "get_session", fails)
            await conversation.send("one")
        failed = await conversations.engine.conversations.row(conversation.key)
        await conversation.send("two")
        answered = await conversations.engine.conversations.row(conversation.key)

    assert failed is not None
    assert (failed.turn.turn_no, failed.turn.active_until, failed.progress.is_learned) == (0, None, True)
    assert answered is not None
    assert answered.turn.turn_no == 1


@pytest.mark.usefixtures("no_background")
async def test_a_command_is_not_counted(tmp_path: Path) -> None:
    """It passes through the Runner and leaves nothing to learn."""
    async with open_conversations(tmp_path, ScriptedLlm(default="ok")) as conversations:
        conversation = conversations.get()
        key = SessionKey(conversation.key.app, conversation.key.user, "s2")
        runner: Any = conversation._runner
        command = user_content("/memory")
        events = [
            event async for event in runner.run_async(user_id=key.user, session_id=key.session, new_message=command)
        ]
        row = await conversations.engine.conversations.row(key)

    assert events
    assert row is not None
    assert (row.turn.turn_no, row.turn.active_until) == (0, None)
