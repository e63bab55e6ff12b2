"""`gaia.mem0` and `gaia.amem0` have mem0's calls and answers, over the facts."""

from __future__ import annotations

import asyncio
import inspect
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from gaia_memory import open_memory
from gaia_memory.adk.gaia import Gaia
from gaia_memory.errors import InvalidInputError
from gaia_memory.mem0_api.async_calls import AsyncMem0
from gaia_memory.mem0_api.blocking_calls import Mem0
from support.storage.plain_mem0 import plain_mem0

CONFIG = {"model": "offline", "memory": {"llm": {"provider": "offline"}, "embedder": {"provider": "offline"}}}
CALLS = ("add", "search", "get", "get_all", "update", "delete", "delete_all", "history", "reset")

pytestmark = pytest.mark.acceptance("B04")


@pytest.fixture
async def gaia(tmp_path: Path) -> AsyncIterator[Gaia]:
    """Memory without a model."""
    async with open_memory(CONFIG, home=tmp_path / "home") as opened:
        yield opened


async def added(gaia: Gaia, text: str, user: str = "ada", **details: Any) -> str:
    """Add a text word for word and return its id."""
    answer = await gaia.amem0.add(text, user_id=user, infer=False, **details)
    return str(answer["results"][0]["id"])


@pytest.mark.parametrize("call", CALLS)
def test_each_call_has_the_parameters_of_mem0(call: str) -> None:
    """Names, order, kinds and which are needed; `**ids` stands for `**kwargs`, and no call takes a model of its own."""
    from mem0 import AsyncMemory, Memory

    def shape(function: Any) -> list[tuple[str, Any, bool]]:
        parameters = list(inspect.signature(function).parameters.values())[1:]
        named = [each for each in parameters if each.kind is not each.VAR_KEYWORD and each.name != "llm"]
        return [(each.name, each.kind, each.default is each.empty) for each in named]

    assert shape(getattr(AsyncMem0, call)) == shape(getattr(AsyncMemory, call))
    assert shape(getattr(Mem0, call)) == shape(getattr(Memory, call))


async def test_answers_have_the_form_of_mem0(gaia: Gaia, tmp_path: Path) -> None:
    """The same calls, on plain mem0 over a store of its own, answer with the same keys."""
    await gaia.memory.settled()
    config = gaia.mem0_config()
    config["vector_store"]["config"]["path"] = str(tmp_path / "plain")
    config["history_db_path"] = str(tmp_path / "history.db")

    def plain_answers() -> list[Any]:
        with plain_mem0(config) as memory:
            new = memory.add("Likes teal", user_id="ada", infer=False, metadata={"mood": "calm"})
            fact_id = new["results"][0]["id"]
            answers = [new, memory.get(fact_id), memory.get_all(filters={"user_id": "ada"})]
            answers += [
                memory.search("Likes teal", filters={"user_id": "ada"}),
                memory.update(fact_id, text="Likes red"),
            ]
            answers += [memory.history(fact_id), memory.delete(fact_id), memory.get(fact_id)]
            return [*answers, memory.delete_all(user_id="ada")]

    calls = gaia.amem0
    new = await calls.add("Likes teal", user_id="ada", infer=False, metadata={"mood": "calm"})
    fact_id = new["results"][0]["id"]
    ours: list[Any] = [new, await calls.get(fact_id), await calls.get_all(filters={"user_id": "ada"})]
    ours += [
        await calls.search("Likes teal", filters={"user_id": "ada"}),
        await calls.update(fact_id, text="Likes red"),
    ]
    ours += [await calls.history(fact_id), await calls.delete(fact_id), await calls.get(fact_id)]
    ours += [await calls.delete_all(user_id="ada")]
    theirs = await asyncio.to_thread(plain_answers)

    def form(answer: Any) -> Any:
        if isinstance(answer, dict):
            named = {"metadata", "role", "score"}  # what the facts know besides, and what mem0 leaves out at times
            return {key: form(value) for key, value in answer.items() if key not in named}
        return [form(each) for each in answer] if isinstance(answer, list) else type(answer).__name__

    assert [form(each) for each in ours] == [form(each) for each in theirs]
    assert [row["event"] for row in ours[5]] == [row["event"] for row in theirs[5]] == ["ADD", "UPDATE"]


async def test_what_a_person_says_is_learned_as_in_a_conversation(gaia: Gaia) -> None:
    """`infer` goes through the same question and screens; the facts name their run."""
    talk = [{"role": "user", "content": "I keep two cats in Lyon."}, {"role": "assistant", "content": "Noted."}]
    new = await gaia.amem0.add(talk, user_id="ada", run_id="r1")
    again = await gaia.amem0.add("My sister is called Noa.", user_id="ada", run_id="r1")
    [fact, _] = await gaia.memory.facts(gaia.scope("ada"))

    assert [row["memory"] for row in new["results"]] == [fact.text]
    assert [row["memory"] for row in again["results"]] == ["My sister is called Noa."]
    assert (fact.source, fact.session_id) == ("conversation", "r1")


async def test_ids_filters_and_the_names_of_mem0_1_select_facts(gaia: Gaia) -> None:
    """`user_id=` and `limit=` beside `filters=` and `top_k=`; nobody else's facts are found."""
    await added(gaia, "Likes teal", agent_id="bot", metadata={"mood": "calm"})
    await added(gaia, "Likes tea", run_id="r1")
    await added(gaia, "Likes tuna", user="ben")
    calls = gaia.amem0

    async def listed(**options: Any) -> list[str]:
        return [row["memory"] for row in (await calls.get_all(**options))["results"]]

    assert await listed(user_id="ada") == await listed(filters={"user_id": "ada"}) == ["Likes teal", "Likes tea"]
    assert await listed(user_id="ada", limit=1) == await listed(filters={"user_id": "ada"}, top_k=1) == ["Likes teal"]
    assert await listed(user_id="ada", agent_id="bot") == ["Likes teal"]
    assert await listed(filters={"user_id": "ada", "run_id": "r1"}) == ["Likes tea"]
    assert await listed(filters={"user_id": "ada", "mood": {"in": ["calm"]}}) == ["Likes teal"]
    assert [row["user_id"] for row in (await calls.search("likes", user_id="ben", limit=5))["results"]] == ["ben"]


async def test_ids_are_trimmed_as_in_mem0(gaia: Gaia) -> None:
    """What is added for ` ada` is ada's, and numbers become text."""
    await added(gaia, "Likes teal", user=" ada ", run_id=" r1")
    await gaia.amem0.add("Likes tea", user_id=7, run_id=1, infer=False)  # type: ignore[arg-type]
    rows = [
        (await gaia.amem0.get_all(filters={"user_id": "ada\n", "run_id": "r1 "}))["results"],
        (await gaia.amem0.get_all(user_id=7, run_id=1))["results"],
    ]

    assert [[(row["user_id"], row["run_id"]) for row in each] for each in rows] == [[("ada", "r1")], [("7", "1")]]


async def test_delete_all_is_an_erasure(gaia: Gaia, tmp_path: Path) -> None:
    """Of a person or of a run; no file has the words, and the other person keeps theirs."""
    await added(gaia, "Likes zebrawood", run_id="r1")
    await added(gaia, "Likes tea")
    await added(gaia, "Likes tuna", user="ben")
    await gaia.amem0.delete_all(user_id="ada", run_id="r1")
    await gaia.memory.settled()
    files = [path for path in (tmp_path / "home").rglob("*") if path.is_file() and not path.is_symlink()]

    assert [path for path in files if b"zebrawood" in path.read_bytes()] == []
    assert [row["memory"] for row in (await gaia.amem0.get_all(user_id="ada"))["results"]] == ["Likes tea"]
    await gaia.amem0.delete_all(user_id="ada")
    assert [await gaia.memory.count(gaia.scope(user)) for user in ("ada", "ben")] == [0, 1]


@pytest.mark.parametrize(
    ("call", "arguments", "named"),
    [
        ("search", {"query": "tea"}, "search has no user_id"),
        ("get_all", {"filters": {"agent_id": "bot"}}, "get_all has no user_id"),
        ("delete_all", {}, "delete_all has no user_id"),
        ("search", {"query": "tea", "user_id": "ada", "explain": True}, "search cannot take explain"),
        ("get_all", {"user_id": "ada", "show_expired": True}, "get_all cannot take show_expired"),
        ("add", {"messages": "tea", "user_id": "ada", "prompt": "Ask."}, "add cannot take prompt"),
        ("add", {"messages": 3, "user_id": "ada"}, "messages is 3"),
        ("add", {"messages": "tea", "user_id": "ada", "infer": False, "expiration_date": "soon"}, "expiration_date is"),
        ("delete", {"memory_id": "none"}, "Memory with id none not found"),
        ("reset", {}, "delete_all for each user_id"),
        ("search", {"query": "tea", "user_id": "ada", "top_k": "5"}, "top_k is '5': pass a whole number"),
        ("get_all", {"user_id": "ada", "limit": -1}, "limit is -1: pass a whole number"),
        ("search", {"query": "tea", "user_id": "ada", "threshold": "low"}, "threshold is 'low': pass one from 0"),
        ("add", {"messages": "tea", "user_id": "ada", "metadata": "calm"}, "metadata is 'calm': pass a dict"),
        ("update", {"memory_id": "none", "text": "tea", "metadata": ["calm"]}, "metadata is .*: pass a dict"),
        ("get_all", {"filters": "ada"}, "filters is 'ada': pass a dict"),
        ("search", {"query": "tea", "user_id": "a", "filters": {"user_id": "b"}}, "user_id is 'a': filters names 'b'"),
        ("get_all", {"filters": {"user_id": {"in": ["ada", "ben"]}}}, "user_id is .*: pass one id"),
        ("get_all", {"filters": {"user_id": "*"}}, r"user_id is '\*': pass one id"),
        ("delete_all", {"user_id": " "}, "user_id is ' ': pass one id"),
    ],
)
async def test_what_cannot_be_done_is_refused_with_its_name(
    gaia: Gaia, call: str, arguments: dict[str, Any], named: str
) -> None:
    """The error is a ValueError, as mem0's are, and nothing is stored."""
    with pytest.raises(InvalidInputError, match=named) as refused:
        await getattr(gaia.amem0, call)(**arguments)

    assert isinstance(refused.value, ValueError)
    assert await gaia.memory.scopes() == []


def test_blocking_calls_work_on_any_thread_the_loops_own_included(tmp_path: Path) -> None:
    """In a program of its own: here a blocking call on the loop is an error of the test."""
    program = f"""
import asyncio
from gaia_memory import open_memory

async def main():
    async with open_memory({CONFIG!r}, home={str(tmp_path)!r}) as gaia:
        gaia.mem0.add("Likes teal", user_id="ada", infer=False)
        await asyncio.to_thread(gaia.mem0.add, "Likes tea", user_id="ada", infer=False)
        print([row["memory"] for row in gaia.mem0.get_all(user_id="ada")["results"]])

asyncio.run(main())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    assert done.stdout == "['Likes teal', 'Likes tea']\n", done.stderr
