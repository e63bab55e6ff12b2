"""Generated transcripts as ADK's events, in the order in which they are appended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions, EventCompaction
from google.genai import types
from hypothesis import strategies as st

from gaia_memory.adk.sessions.event_mapping import COMMAND_KEY, MEMORY_OFF_KEY, PRIVATE_KEY, UNMARKED_KEY

START = 1_700_000_000.0

EVENT_KINDS = (
    *("says", "says", "says", "says", "replies", "replies", "replies", "thinks", "calls", "returns", "answers"),
    *("asks", "empty", "state", "branches", "isolated", "fails", "is_cut", "compacts", "spoken", "systems"),
    *("rewinds", "rewinds"),
)
INVOCATION_CHOICES = ("same", "same", "same", "new", "new", "earlier", "none")
GAP_SECONDS = (1.0, 1.0, 20.0, 0.001, 1e-6, 3e-7, 0.0, 0.0, 0.0, -0.5, -20.0)
"""Seconds to the next event: databases store microseconds, and the clocks of some writers are behind."""
METADATA_KEYS = (*(None,) * 6, PRIVATE_KEY, COMMAND_KEY, MEMORY_OFF_KEY, UNMARKED_KEY)

Step = tuple[str, str, float, str | None, int]


def transcript_events(longest: int = 75) -> st.SearchStrategy[list[Event]]:
    """Generate the events of a session, short or long."""
    picks = (
        st.sampled_from(EVENT_KINDS),
        st.sampled_from(INVOCATION_CHOICES),
        st.sampled_from(GAP_SECONDS),
        st.sampled_from(METADATA_KEYS),
    )
    step = st.tuples(*picks, st.integers(0, 99))
    steps = st.lists(step, max_size=longest // 5) | st.lists(step, min_size=longest // 3, max_size=longest)
    return steps.map(lambda drawn: TranscriptBuilder().build(drawn))


@dataclass
class TranscriptBuilder:
    """Creates the events of a transcript step by step."""

    events: list[Event] = field(default_factory=list)
    invocations: list[str] = field(default_factory=lambda: ["i0"])
    timestamp: float = START

    def build(self, steps: Sequence[Step]) -> list[Event]:
        """Create an event for each step, and return all of them."""
        for what, whose, gap, stamp, number in steps:
            self.timestamp += gap
            event = Event(
                # Ids are not in the order of the events, and sort differently in each database.
                id=f"{'aB-Z_b'[number % 6]}{number * 37 % 100}-{len(self.events)}",
                invocation_id=self._invocation(whose, number),
                timestamp=self.timestamp,
                custom_metadata={stamp: True} if stamp else None,
                **getattr(self, f"_{what}")(number),
            )
            self.events.append(event)
        return self.events

    def _invocation(self, whose: str, number: int) -> str:
        if whose == "none":
            return ""
        if whose == "new":
            self.invocations.append(f"i{len(self.invocations)}")
        return self.invocations[number % len(self.invocations) if whose == "earlier" else -1]

    def _words(self) -> str:
        # A user may also say the strings that are searched for in the stored form of an event.
        return f'{len(self.events)}: "gaia:" and rewind_before_invocation_id'

    def _part(self, number: int) -> types.Part:
        return types.Part(text=self._words(), thought=None if number % 5 else True)

    def _says(self, _: int) -> dict[str, Any]:
        return {"author": "user", "content": types.UserContent(self._words())}

    def _replies(self, number: int) -> dict[str, Any]:
        return {"author": ("root", "other")[number % 2], "content": types.ModelContent([self._part(number)])}

    def _thinks(self, number: int) -> dict[str, Any]:
        thought = types.Part(text="a thought", thought=True)
        return {"author": "root", "content": types.ModelContent([thought, self._part(number)])}

    def _calls(self, number: int) -> dict[str, Any]:
        call = types.FunctionCall(id=f"c{number}", name="look_up", args={"what": self._words()})
        return {"author": "root", "content": types.ModelContent([types.Part(function_call=call), self._part(number)])}

    def _asks(self, number: int) -> dict[str, Any]:
        call = types.FunctionCall(id=f"r{number}", name="adk_request_confirmation", args={})
        return {"author": "root", "content": types.ModelContent([types.Part(function_call=call), self._part(number)])}

    def _returns(self, number: int) -> dict[str, Any]:
        return {"author": "root", "content": types.UserContent([self._response(number)])}

    def _answers(self, number: int) -> dict[str, Any]:
        parts = [self._response(number), types.Part(text=self._words())]
        return {"author": "user", "content": types.UserContent(parts[: 1 + number % 2])}

    def _response(self, number: int) -> types.Part:
        found = types.FunctionResponse(id=f"c{number}", name="look_up", response={"found": self._words()})
        return types.Part(function_response=found)

    def _empty(self, number: int) -> dict[str, Any]:
        contents = (None, types.Content(role="user"), types.UserContent([types.Part(text=" ")]))
        return {"author": ("user", "root")[number % 2], "content": contents[number % 3]}

    def _state(self, number: int) -> dict[str, Any]:
        return {"author": "root", "actions": EventActions(state_delta={"key": number})}

    def _branches(self, number: int) -> dict[str, Any]:
        return {"branch": "both.left", **self._replies(number)}

    def _isolated(self, number: int) -> dict[str, Any]:
        return {"isolation_scope": "task", **(self._says(number) if number % 2 else self._replies(number))}

    def _fails(self, number: int) -> dict[str, Any]:
        return {"error_code": "SAFETY", **self._replies(number)}

    def _is_cut(self, number: int) -> dict[str, Any]:
        return {"error_code": "MAX_TOKENS", **self._replies(number)}

    def _compacts(self, _: int) -> dict[str, Any]:
        summary = types.ModelContent(self._words())
        span = EventCompaction(start_timestamp=START, end_timestamp=self.timestamp, compacted_content=summary)
        return {"author": "user", "actions": EventActions(compaction=span)}

    def _spoken(self, number: int) -> dict[str, Any]:
        transcription = types.Transcription(text=self._words(), finished=bool(number % 3))
        if number % 2:
            return {"author": "user", "input_transcription": transcription}
        return {"author": "root", "output_transcription": transcription}

    def _systems(self, _: int) -> dict[str, Any]:
        return {"author": "system", "content": types.UserContent(self._words())}

    def _rewinds(self, number: int) -> dict[str, Any]:
        """Rewind a little or far, or to an invocation that comes later or never."""
        back = number % 11 - 3
        target = f"i{max(0, len(self.invocations) - 1 - back)}"
        return {"author": "user", "actions": EventActions(rewind_before_invocation_id=target)}
