"""Generated conversations as ADK's events, and the events that a model may see, derived from the rules alone."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions, EventCompaction
from google.adk.models.llm_request import LlmRequest
from google.genai import types
from hypothesis import strategies as st

from gaia_memory.adk.sessions.event_mapping import COMMAND_KEY, PRIVATE_KEY
from support.hosts.adk_runner import function_call, function_response, model_content

TOKEN_PATTERN = re.compile(r"\b[uasc]\d+x\b")
"""Every text contains a unique token: of the user (u), an agent (a), a summary (s) or a command (c)."""

STEP_NAMES = (
    *("say", "tool", "parallel", "job", "rewind"),
    *("silent", "reused", "unnamed", "broken", "silent_job", "answer", "confirm", "transfer", "loop", "branch"),
    *("task", "compact", "command", "replaced_command", "state", "empty", "partial", "twice", "error", "private"),
)


def step_lists(longest: int = 25) -> st.SearchStrategy[list[tuple[str, int]]]:
    """Generate the steps of a conversation, each with a number that determines its details."""
    return st.lists(st.tuples(st.sampled_from(STEP_NAMES), st.integers(0, 50)), max_size=longest)


@dataclass
class PendingCall:
    """A call that something outside the Runner answers."""

    call_id: str
    invocation_id: str
    event_ids: list[str]
    name: str = "job"
    answers: list[str] = field(default_factory=list)


class ConversationGenerator:
    """Creates the events, and records the kind of each."""

    def __init__(self, *, with_greeting: bool = False) -> None:
        self.events: list[Event] = []
        self.turns: set[str] = set()
        self.commands: set[str] = set()
        self.linked_event_groups: list[list[str]] = []
        self.pending_calls: list[PendingCall] = []
        self._new_events: list[Event] = []
        self._count = 0
        self._timestamp = 0.0
        if with_greeting:
            self._event("greeting", "root", self._new_token("a"))

    def generate(self, steps: Iterable[tuple[str, int]]) -> list[Event]:
        """Create the events of the steps and return all events since the last call."""
        for step, number in steps:
            getattr(self, f"_{step}")(number)
        fresh, self._new_events = self._new_events, []
        return fresh

    def adopt_events(self, events: Iterable[Event]) -> None:
        """Add the events of a turn that a Runner created."""
        known = {event.id for event in self.events}
        for event in events:
            if event.id not in known:
                self.events.append(event)
                self._timestamp = max(self._timestamp, event.timestamp)
                answered = {response.id for response in event.get_function_responses()}
                if event.author == "user" and not answered:
                    self.turns.add(event.id)
                for job in self.pending_calls:
                    if event.author == "user" and job.call_id in answered:
                        job.answers.append(event.id)
                        self.linked_event_groups.append([*job.event_ids, event.id])

    def next_user_text(self) -> str:
        """Return the user's message for a turn of a Runner."""
        return self._new_token("u")

    def open_calls(self) -> list[PendingCall]:
        """Return the pending calls that were not rewound."""
        surviving_ids = {event.id for event in surviving_events(self.events)}
        return [
            job
            for job in self.pending_calls
            if surviving_ids.issuperset(job.event_ids) and not surviving_ids.intersection(job.answers)
        ]

    def open_jobs(self) -> list[PendingCall]:
        """Return the pending calls that are jobs, not questions to the user."""
        return [job for job in self.open_calls() if job.name == "job"]

    def _new_token(self, kind: str) -> str:
        self._count += 1
        return f"{kind}{self._count}x"

    def _new_id(self, what: str = "i") -> str:
        self._count += 1
        return f"{what}{self._count}"

    def _event(self, invocation: str, author: str, said: Any = None, **fields: Any) -> str:
        self._timestamp = max(time.time(), self._timestamp + 2e-6)
        if isinstance(said, str):
            said = types.Content(role="user" if author == "user" else "model", parts=[types.Part(text=said)])
        event = Event(invocation_id=invocation, author=author, content=said, timestamp=self._timestamp, **fields)
        if not event.partial:
            self.events.append(event)
        self._new_events.append(event)
        return event.id

    def _user(self, **fields: Any) -> str:
        return self._user_in(self._new_id(), **fields)

    def _user_in(self, invocation: str, **fields: Any) -> str:
        self.turns.add(self._event(invocation, "user", self._new_token("u"), **fields))
        return invocation

    def _agent(self, invocation: str, name: str = "root", **fields: Any) -> str:
        return self._event(invocation, name, self._new_token("a"), **fields)

    def _call(self, invocation: str, *call_ids: str | None, name: str = "noop", **fields: Any) -> str:
        parts = [function_call(name, call_id) for call_id in call_ids]
        return self._event(invocation, "root", model_content(*parts), **fields)

    def _respond(self, invocation: str, *call_ids: str | None, author: str = "root", name: str = "noop") -> str:
        parts = [function_response(name, call_id, status="ok") for call_id in call_ids]
        return self._event(invocation, author, types.Content(role="user", parts=parts))

    def _say(self, _: int) -> None:
        self._agent(self._user())

    def _silent(self, _: int) -> None:
        self._user()

    def _tool(self, _: int) -> None:
        invocation, call_id = self._user(), self._new_id("call")
        self.linked_event_groups.append([self._call(invocation, call_id), self._respond(invocation, call_id)])
        self._agent(invocation)

    def _parallel(self, number: int) -> None:
        invocation = self._user()
        ids = [self._new_id("call") for _ in range(2 + number % 3)]
        first = self._call(invocation, *ids)
        others = [ids] if number % 2 else [[call_id] for call_id in reversed(ids)]
        self.linked_event_groups.append([first, *(self._respond(invocation, *group) for group in others)])
        self._agent(invocation)

    def _reused(self, _: int) -> None:
        invocation = self._user()
        self.linked_event_groups.append([self._call(invocation, "call_0"), self._respond(invocation, "call_0")])
        self._agent(invocation)

    def _unnamed(self, _: int) -> None:
        invocation = self._user()
        self.linked_event_groups.append([self._call(invocation, None), self._respond(invocation, None)])
        self._agent(invocation)

    def _broken(self, _: int) -> None:
        self._call(self._user(), self._new_id("call"))

    def _job(self, _: int) -> None:
        self._start_job(responds=True)

    def _silent_job(self, _: int) -> None:
        self._start_job(responds=False)

    def _start_job(self, *, responds: bool) -> None:
        invocation, call_id = self._user(), self._new_id("job")
        events = [self._call(invocation, call_id, name="job", long_running_tool_ids={call_id})]
        events += [self._respond(invocation, call_id, name="job")] if responds else []
        self.linked_event_groups.append(list(events))
        self.pending_calls.append(PendingCall(call_id, invocation, events))
        self._agent(invocation)

    def _answer(self, number: int) -> None:
        jobs = self.open_jobs()
        if jobs:
            job = jobs[number % len(jobs)]
            answer = self._respond(job.invocation_id, job.call_id, author="user", name="job")
            job.answers.append(answer)
            self.linked_event_groups.append([*job.event_ids, answer])
            self._agent(job.invocation_id)

    def _confirm(self, number: int) -> None:
        invocation, call_id, request = self._user(), self._new_id("call"), self._new_id("request")
        name = "adk_request_confirmation"
        call = self._call(invocation, call_id)
        asked = self._call(invocation, request, name=name)
        self.linked_event_groups.append([call, self._respond(invocation, call_id)])
        job = PendingCall(request, invocation, [asked], name=name)
        self.pending_calls.append(job)
        if number % 2:
            self._say(0)
            job.answers.append(self._respond(invocation, request, author="user", name=name))
            self.linked_event_groups += [[asked, *job.answers], [call, self._respond(invocation, call_id)]]
            self._agent(invocation)

    def _transfer(self, number: int) -> None:
        invocation, call_id = self._user(), self._new_id("call")
        name, target = "transfer_to_agent", ("sub", "root")[number % 2]
        call = self._call(invocation, call_id, name=name)
        self.linked_event_groups.append([call, self._respond(invocation, call_id, name=name)])
        self._agent(invocation, target)

    def _loop(self, number: int) -> None:
        invocation = self._user()
        for _ in range(1 + number % 3):
            self._agent(invocation, "writer")
            self._agent(invocation, "critic")

    def _branch(self, _: int) -> None:
        invocation = self._user()
        self._agent(invocation, "left", branch="both.left")
        self._agent(invocation, "right", branch="both.right")

    def _task(self, _: int) -> None:
        invocation, scope, end = self._user(), self._new_id("call"), self._new_id("call")
        call = self._call(invocation, scope, name="worker")
        self._agent(invocation, "worker", isolation_scope=scope)
        self._user_in(invocation, isolation_scope=scope)
        finish = model_content(function_call("finish_task", end))
        done = types.Content(role="user", parts=[function_response("finish_task", end, result="Task completed.")])
        self.linked_event_groups.append(
            [
                self._event(invocation, "worker", finish, isolation_scope=scope),
                self._event(invocation, "worker", done, isolation_scope=scope),
            ]
        )
        self.linked_event_groups.append([call, self._respond(invocation, scope, name="worker")])
        self._agent(invocation)

    def _compact(self, number: int) -> None:
        """Summarize whole turns, like ADK."""
        surviving = surviving_events(self.events)
        starts = [place for place, event in enumerate(surviving) if event.id in self.turns] or [0]
        if surviving:
            begin = number % len(starts)
            end = [*starts, len(surviving)][min(len(starts), begin + 1 + number % 3)]
            before, span = (
                {event.id for event in some} for some in (surviving[: starts[begin]], surviving[starts[begin] : end])
            )
            # ADK never summarizes from a pending call on, so that no answer is summarized without its call.
            if any(before.intersection(group) and span.intersection(group) for group in self.linked_event_groups):
                return
            summary = EventCompaction(
                start_timestamp=surviving[starts[begin]].timestamp,
                end_timestamp=surviving[end - 1].timestamp,
                compacted_content=types.Content(role="model", parts=[types.Part(text=self._new_token("s"))]),
            )
            self._event(self._new_id(), "user", actions=EventActions(compaction=summary))

    def _rewind(self, number: int) -> None:
        targets = list(dict.fromkeys(event.invocation_id for event in surviving_events(self.events)))
        if targets and number % 2:
            target = targets[number % len(targets)]
            self._event(self._new_id(), "user", actions=EventActions(rewind_before_invocation_id=target))

    def _command(self, _: int) -> None:
        self._stamped_turn(stamped=True)

    def _replaced_command(self, _: int) -> None:
        self._stamped_turn(stamped=False)

    def _stamped_turn(self, *, stamped: bool) -> None:
        """If another plugin replaces the message, the message lacks the stamp."""
        invocation, stamp = self._new_id(), {COMMAND_KEY: "memory"}
        asked = self._event(invocation, "user", self._new_token("c"), custom_metadata=stamp if stamped else None)
        self.commands |= {asked, self._event(invocation, "model", self._new_token("c"), custom_metadata=stamp)}

    def _state(self, number: int) -> None:
        self._event(self._new_id(), ("user", "root")[number % 2], actions=EventActions(state_delta={"key": number}))

    def _empty(self, number: int) -> None:
        parts = ([], [types.Part(text="")])[number % 2]
        self._event(self._new_id(), ("user", "root")[number // 2 % 2], types.Content(role="user", parts=parts))

    def _partial(self, _: int) -> None:
        invocation = self._user()
        self._event(invocation, "root", self._new_token("a"), partial=True)
        self._agent(invocation)

    def _twice(self, _: int) -> None:
        self._agent(self._user_in(self._user()))

    def _error(self, _: int) -> None:
        self._event(self._user(), "root", error_code="SAFETY", error_message="blocked")

    def _private(self, _: int) -> None:
        stamp = {PRIVATE_KEY: True}
        self._agent(self._user(custom_metadata=stamp), custom_metadata=stamp)


def surviving_events(events: Sequence[Event]) -> list[Event]:
    """Return the events in force: a rewind restores the state before its target began."""
    snapshots: list[list[Event]] = [[]]
    first_index: dict[str, int] = {}
    for place, event in enumerate(events):
        first_index.setdefault(event.invocation_id, place)
        target = event.actions.rewind_before_invocation_id
        snapshots.append(snapshots[first_index[target]] if target else [*snapshots[-1], event])
    return snapshots[-1]


def expected_replay(
    story: ConversationGenerator, *, window: int, current: str, whole_invocations: bool = False
) -> list[Event]:
    """Return the events of `story` that a model may see by the rules of the window, in order.

    `whole_invocations`: an invocation is shown completely or not at all.
    """
    events = surviving_events(story.events)
    turn_of: dict[str, int] = {}
    last = 0
    for event in events:
        last += event.id in story.turns
        turn_of[event.id] = last
    first, step = 1, max(1, window // 3)
    for number in range(1, last + 1):
        if number - first + 1 > window:
            first += step
    turns = {number for number in turn_of.values() if number >= first or first == 1}
    turns |= {turn_of[event.id] for event in events if event.invocation_id == current}
    for job in story.pending_calls:
        if set(job.event_ids) <= turn_of.keys() and not turn_of.keys() & set(job.answers):
            turns.add(turn_of[job.event_ids[0]])
    invocations = {event.invocation_id for event in events} if whole_invocations else set()
    together = [[event.id for event in events if event.invocation_id == one] for one in invocations]
    groups = [{turn_of[one] for one in group if one in turn_of} for group in [*story.linked_event_groups, *together]]
    while any(group & turns and not group <= turns for group in groups):
        turns |= set().union(*(group for group in groups if group & turns))
    return [
        event
        for event in events
        if (turn_of[event.id] in turns or event.actions.compaction) and event.id not in story.commands
    ]


def expected_tokens(events: Sequence[Event]) -> list[str]:
    """Return the tokens of these events that an agent outside any task sees, those of summaries last."""
    summed = [event.actions.compaction for event in events if event.actions.compaction]
    spans = [(compaction.start_timestamp, compaction.end_timestamp) for compaction in summed]
    summaries = [
        (end, at, compaction.compacted_content.parts[0].text)
        for at, (compaction, (start, end)) in enumerate(zip(summed, spans, strict=True))
        if not any(
            s <= start and end <= e and ((s, e) != (start, end) or other > at) for other, (s, e) in enumerate(spans)
        )
    ]
    said = [
        token
        for event in events
        if not event.isolation_scope and not any(start <= event.timestamp <= end for start, end in spans)
        for token in TOKEN_PATTERN.findall(
            " ".join(part.text or "" for part in (event.content or types.Content()).parts or [])
        )
    ]
    return [*said, *(text for _, _, text in sorted(summaries))]


def tokens_in(request: LlmRequest) -> list[str]:
    """Return the tokens in a request, those of summaries last."""
    texts = [part.text for content in request.contents for part in content.parts or [] if part.text]
    found = [token for text in texts for token in TOKEN_PATTERN.findall(text)]
    return [token for token in found if token[0] != "s"] + [token for token in found if token[0] == "s"]


def unpaired_parts(request: LlmRequest, *, waiting: Iterable[str] = ()) -> list[str]:
    """Return calls without a response, except those in `waiting`, and responses without a call."""
    called: dict[str, int] = {}
    unpaired: list[str] = []
    for part in (part for content in request.contents for part in content.parts or []):
        if part.function_call:
            key = part.function_call.id or str(part.function_call.name)
            called[key] = called.get(key, 0) + 1
        elif part.function_response:
            key = part.function_response.id or str(part.function_response.name)
            if called.get(key, 0) < 1:
                unpaired.append(f"response {key}")
            called[key] = called.get(key, 0) - 1
    return unpaired + [f"call {key}" for key, open_ in called.items() if open_ > 0 and key not in set(waiting)]
