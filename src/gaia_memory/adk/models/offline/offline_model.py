"""An ADK model without a network: it answers from this conversation and from memory, and says that it is offline."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import AsyncGenerator, Hashable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types
from pydantic import PrivateAttr

from gaia_memory.adk.models.offline.find_answers import find_answers
from gaia_memory.adk.models.offline.message_kinds import (
    MessageKind,
    classify,
    find_last_words,
    find_question,
)
from gaia_memory.adk.models.offline.offline_phrases import (
    PHRASES,
    STOCK_REPLIES,
    Phrases,
    describe_correction,
    describe_refusal,
    describe_withdrawn,
    detect_language,
    without_stock_replies,
)
from gaia_memory.adk.models.offline.second_person import to_second_person
from gaia_memory.adk.models.offline.statements import (
    Statement,
    current_statements,
    is_partly_kept,
    remembered_statements,
)
from gaia_memory.adk.models.offline.topic_words import related_words
from gaia_memory.adk.plugins.run_context import (
    allow_numbers,
    current_conversation,
    forgotten_check,
    running_invocation,
)
from gaia_memory.adk.plugins.turn_notes import without_notes
from gaia_memory.adk.tools.fact_framing import PRIVATE_INSTRUCTION
from gaia_memory.backend.offline.rule_profile import most_important
from gaia_memory.language.function_words import Language
from gaia_memory.redaction.credentials import contains_credential
from gaia_memory.threads import run_in_thread

if TYPE_CHECKING:
    from gaia_memory.backend.offline.conversation_reader import MessageContent

INTRODUCTION = PHRASES["en"].introduction
_INTRODUCTIONS = tuple(phrases.introduction for phrases in PHRASES.values())

_PROFILE_BLOCK = re.compile(r"<USER_PROFILE>(.*?)</USER_PROFILE>", re.DOTALL)
_SHORT_WORD = re.compile(r"\W*\w{1,2}\W*")
_PIECE = re.compile(r"\S+\s*|\s+")
_TRANSFERRED_CONTEXT = "For context:"
"""How ADK begins a user content that holds what another agent said."""

_MAX_MESSAGES = 200
"""The user's latest messages that are read for an answer: a longer conversation must not slow it down."""

_MAX_READ_CHARACTERS = 50_000
"""Of the latest messages: to read more would take a second."""

_MAX_CONTEXT_MESSAGES = 20
"""The messages that may tell the language of the last one, or whom its "she" stands for."""

_MIN_WINDOW_MESSAGES = 20
"""What the default window leaves of a long conversation: one with fewer messages was cleared or has just begun."""

_MAX_MESSAGE_CHARACTERS = 4_000
_MAX_OVERVIEW_LINES = 10
_PAGES = [{"offset": offset, "limit": 75} for offset in (0, 75)]
"""Also read for an answer, since a search need not find the later fact that changed what it finds. So many short facts
keep to the tokens of a tool's answer."""

_OVERVIEW_QUERIES = [
    "name home work family birthday allergic lives works likes loves hates plans",
    "Everything that ended: quit left stopped died moved sold lost gave up broke divorced changed no longer",
]
"""Looked up for "What do you know about me?", which has no word that a fact contains; what ended holds no longer."""

_MAX_INTRODUCED_CONVERSATIONS = 1_024
_Answer = str | list[types.Part]
"""A text, or calls of tools."""
_NOTED_REPLIES = tuple(
    reply for phrases in PHRASES.values() for reply in (phrases.noted, phrases.noted_part.format(""))
)


class _Message(NamedTuple):
    """What the user said, and the model's answer before it, if known."""

    text: str
    answer: str | None = None


class OfflineModel(BaseLlm):
    """Answers by fixed rules: the same request always gets the same answer.

    "Remember that …" calls `remember`. A question calls `load_memory`, and is answered with what the person said in
    this conversation or earlier, or with the reply that nothing was found. A statement is acknowledged if learning
    keeps something of it. "Forget …" is answered with the command that forgets, any other request with what the model
    can do. It speaks English, German, French and Spanish, and says once in a conversation that it is offline.
    """

    model: str = "offline"
    _introduced: OrderedDict[Hashable, None] = PrivateAttr(default_factory=OrderedDict)

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Yield the answer; with `stream`, first its words as partial responses."""
        # The rules of four languages are read at the first answer, and many statements compared at any.
        answer = await _without_promise(await run_in_thread(_answer, llm_request), llm_request)
        if not isinstance(answer, str):
            yield _response(*answer, partial=False)
            return
        if _is_about_nothing_known(answer, llm_request) and not self._is_introduced(llm_request):
            answer = f"{PHRASES[_language_of(_user_messages(llm_request.contents))].introduction}\n{answer}"
        elif self._has_lost_its_beginning(llm_request):
            answer += _earlier_messages_hint(answer, llm_request)
        if stream:
            for piece in _PIECE.findall(answer):
                yield _response(types.Part(text=piece), partial=True)
        yield _response(types.Part(text=answer), partial=False)

    def _is_introduced(self, request: LlmRequest) -> bool:
        """Return whether an earlier answer of this conversation, cleared or not, said that this model is offline."""
        conversation = current_conversation()
        is_known = conversation is not None and conversation in self._introduced
        if conversation is not None:
            self._introduced[conversation] = None
            if len(self._introduced) > _MAX_INTRODUCED_CONVERSATIONS:
                self._introduced.popitem(last=False)
        return is_known or _contains(request, _INTRODUCTIONS)

    def _has_lost_its_beginning(self, request: LlmRequest) -> bool:
        """Return whether a long conversation no longer contains the introduction: its first turns are not replayed.

        A private one is not learned either.
        """
        return (
            current_conversation() in self._introduced
            and len(_user_messages(request.contents)) >= _MIN_WINDOW_MESSAGES
            and not _contains(request, _INTRODUCTIONS)
            and PRIVATE_INSTRUCTION not in _system_instruction(request)
        )


async def _without_promise(answer: _Answer, request: LlmRequest) -> _Answer:
    """Return the answer to a statement, with a hint if the person had it forgotten: it will not be learned."""
    has_forgotten = forgotten_check.get()
    if has_forgotten is None or not isinstance(answer, str) or not answer.startswith(_NOTED_REPLIES):
        return answer
    messages = _user_messages(request.contents)
    facts = _read_last(messages).facts
    if not await has_forgotten([each.fact for each in facts]):
        return answer
    return PHRASES[_language_of(messages)].forgotten.format(" ".join(each.said for each in facts))


def _is_about_nothing_known(answer: str, request: LlmRequest) -> bool:
    """Return whether an answer tells nothing from memory or this conversation, which would speak for itself."""
    is_stock = answer in STOCK_REPLIES or answer.startswith(_NOTED_REPLIES)
    return is_stock or any(each.name == "remember" for each in _function_responses(request.contents))


def _contains(request: LlmRequest, some: Sequence[str]) -> bool:
    texts = (part.text or "" for content in request.contents for part in content.parts or [])
    return any(each in text for text in texts for each in some)


def _earlier_messages_hint(answer: str, request: LlmRequest) -> str:
    """Return what to add to an answer that may lack what the earlier messages say, unless it was said lately."""
    for phrases in PHRASES.values():
        if answer in (phrases.unknown, phrases.not_found) or answer.startswith(phrases.overview):
            return "" if _contains(request, [phrases.earlier_messages]) else f"\n{phrases.earlier_messages}"
    return ""


def _response(*parts: types.Part, partial: bool) -> LlmResponse:
    # ADK warns about every answer without token counts.
    usage = types.GenerateContentResponseUsageMetadata(
        prompt_token_count=0, candidates_token_count=0, total_token_count=0
    )
    content = types.Content(role="model", parts=list(parts))
    return LlmResponse(content=content, partial=partial, usage_metadata=None if partial else usage)


def _answer(request: LlmRequest) -> _Answer:
    messages = _user_messages(request.contents)
    text = messages[-1].text if messages else ""
    phrases = PHRASES[_language_of(messages)]
    responses = _function_responses(request.contents)
    if responses:
        return _describe_responses(request, messages, responses, phrases)
    kind, fact = classify(text)
    if kind is MessageKind.REMEMBER and "remember" in request.tools_dict:
        facts = _read_last(messages).facts
        # In the words of learning, which comes across the same message later.
        fact = facts[0].fact if len(facts) == 1 else fact
        return [types.Part.from_function_call(name="remember", args={"fact": fact})]
    if kind in (MessageKind.QUESTION, MessageKind.OVERVIEW):
        if "load_memory" in request.tools_dict:
            queries = _queries_for(find_question(text)) if kind is MessageKind.QUESTION else _OVERVIEW_QUERIES
            look_ups: list[tuple[str, dict[str, Any]]] = [("load_memory", {"query": query}) for query in queries]
            look_ups += [("recall", page) for page in _PAGES if "recall" in request.tools_dict]
            return [types.Part.from_function_call(name=name, args=args) for name, args in look_ups]
        return _answer_question(request, messages, [], phrases, default=phrases.no_memory)
    return _acknowledge(request, kind, messages, phrases)


def _acknowledge(request: LlmRequest, kind: MessageKind, messages: Sequence[_Message], phrases: Phrases) -> str:
    """Return the reply to a message that asks for nothing known."""
    if kind is MessageKind.ABOUT_THE_MODEL:
        return phrases.introduction
    if kind is MessageKind.FORGET and not _read_last(messages).is_confidential:
        # "Forget that" takes the last statement back, as learning understands it. What is stored stays.
        withdrawn = describe_withdrawn(_read_last(messages), [each.text for each in messages], phrases)
        return f"{withdrawn}\n{phrases.nothing_forgotten}".strip()
    if messages and contains_credential(messages[-1].text, allow_numbers=allow_numbers.get()):
        return phrases.no_credentials
    reading = _read_last(messages)
    is_private = PRIVATE_INSTRUCTION in _system_instruction(request)
    if reading.facts and not reading.is_unclear:
        is_learned = (turn := running_invocation.get()) is None or turn.is_learned
        if is_private or not is_learned:
            return phrases.private if is_private else phrases.all_right
        said = " ".join(fact.said for fact in reading.facts)
        return phrases.noted_part.format(said) if is_partly_kept(messages[-1].text, reading) else phrases.noted
    replies = {
        MessageKind.GREETING: phrases.greeting,
        MessageKind.THANKS: phrases.thanks,
        MessageKind.SMALL_TALK: phrases.all_right,
        MessageKind.REQUEST: phrases.not_able,
    }
    default = replies.get(kind, phrases.private if is_private else phrases.nothing_found)
    return describe_correction(reading, [each.text for each in messages], phrases) or default


def _read_last(messages: Sequence[_Message]) -> MessageContent:
    """Return what the last message says, as learning understands it."""
    *_, (_, reading) = _read(messages[-_MAX_CONTEXT_MESSAGES:] or [_Message("")])
    return reading


def _read(messages: Sequence[_Message]) -> Iterator[tuple[str, MessageContent]]:
    """Yield each message with what it says, as learning understands it."""
    # The tables of four languages take 0.1 s to read, which no start-up should wait for.
    from gaia_memory.backend.offline.conversation_reader import ConversationReader, MessageContent

    reader = ConversationReader(datetime.now(UTC).date())
    remaining = sum(len(message.text) for message in messages)
    for message in messages:
        is_read = remaining <= _MAX_READ_CHARACTERS
        yield message.text, reader.read(message.text, message.answer) if is_read else MessageContent([], [], [])
        remaining -= len(message.text)


def _describe_responses(
    request: LlmRequest, messages: Sequence[_Message], responses: Sequence[types.FunctionResponse], phrases: Phrases
) -> str:
    """Return what a saved fact, or the facts of all look-ups together, answer."""
    answers: list[Mapping[str, Any]] = [response.response or {} for response in responses]
    answer, name = answers[0], responses[0].name
    if name == "remember":
        if answer.get("status") == "success":
            text = str(answer.get("text", ""))
            return phrases.kept.format(_turned_around(text, phrases) or text)
        return describe_refusal(str(answer.get("message")), phrases)
    if name != "load_memory":
        return "Done."
    if failed := next((each for each in answers if each.get("status") == "error"), None):
        return phrases.lookup_failed.format(failed.get("message", "memory did not answer"))
    default = phrases.memory_down if any(each.get("status") == "unavailable" for each in answers) else phrases.unknown
    # Of one moment, those of `recall` come in the order in which they were said.
    by_order = sorted(responses, key=lambda response: response.name != "recall")
    memories = [memory for each in by_order for memory in (each.response or {}).get("memories") or []]
    return _answer_question(request, messages, memories, phrases, default=default)


def _answer_question(
    request: LlmRequest,
    messages: Sequence[_Message],
    memories: Sequence[Mapping[str, Any]],
    phrases: Phrases,
    *,
    default: str,
) -> str:
    """Return the answer to the last message from this conversation, the profile and `memories`; else `default`."""
    remembered = remembered_statements(_profile_lines(request), memories)
    readings = (
        reading
        for message, reading in _read(messages)
        if not contains_credential(message, allow_numbers=allow_numbers.get())
    )
    statements = current_statements(remembered, readings)
    text = messages[-1].text if messages else ""
    if classify(text)[0] is MessageKind.OVERVIEW:
        return _describe_everything(statements, phrases) or default
    question = find_question(text)
    if last_words := find_last_words(question, [each.text for each in messages[:-1]]):
        return phrases.said.format(last_words)
    answers = find_answers(question, statements)
    if not answers.statements:
        # The rules may have missed it.
        is_something_known = bool(statements or remembered)
        return phrases.not_found if is_something_known and default == phrases.unknown else default
    answer = "\n".join(_tell(each, phrases) for each in answers.statements)
    return answer if answers.is_certain else phrases.unsure.format(answer)


def _queries_for(question: str) -> list[str]:
    """Return what to look up for a question: itself, and the other words in which a newer fact may answer it."""
    # "Everything" makes memory return more of what fits less well.
    return [question, *[f"Everything: {words}" for words in [related_words(question)] if words]]


def _describe_everything(statements: Sequence[Statement], phrases: Phrases) -> str:
    """Return the most important statements as a list, each once, and whether there are more; empty if none is."""
    lines = list(dict.fromkeys(_tell(each, phrases) for each in statements[::-1]))[::-1]
    listed = [f"- {line}" for line in most_important(lines, _MAX_OVERVIEW_LINES)]
    return "\n".join([phrases.overview, *listed, *[phrases.more][: len(lines) - len(listed)]]) if lines else ""


def _quote(answer: Statement, phrases: Phrases) -> str:
    return phrases.said.format(answer.said) if answer.said else phrases.remembered.format(answer.text)


def _tell(statement: Statement, phrases: Phrases) -> str:
    """Return a statement in the second person, or else as a quotation; a doubt is told with it."""
    told = _turned_around(statement.text, phrases) or _quote(statement, phrases)
    return phrases.in_doubt.format(told) if statement.is_in_doubt else told


def _turned_around(statement: str, phrases: Phrases) -> str | None:
    """Return a statement in the second person if statement and answer are in one language."""
    language = detect_language(statement)
    return to_second_person(statement, language) if phrases is PHRASES[language] else None


def _language_of(messages: Sequence[_Message]) -> Language:
    """Return the language of the last message, or of those before where it has no word that tells: "si", "y"."""
    language: Language = "en"
    for at, message in enumerate(messages[-_MAX_CONTEXT_MESSAGES:]):
        if at == 0 or not _SHORT_WORD.fullmatch(message.text):
            language = detect_language(message.text, default=language)
    return language


def _user_messages(contents: Sequence[types.Content]) -> list[_Message]:
    """Return the user's latest messages, oldest first."""

    def newest_first() -> Iterator[_Message]:
        said: str | None = None
        for content in reversed(contents):
            text = " ".join(without_notes(part.text) for part in content.parts or [] if part.text and not part.thought)
            text = text.strip()
            if not text or (content.role == "user" and text.startswith(_TRANSFERRED_CONTEXT)):
                continue
            is_users = content.role == "user"
            if said is not None:
                yield _Message(said, None if is_users else without_stock_replies(text))
            said = text[:_MAX_MESSAGE_CHARACTERS] if is_users else None
        if said is not None:
            yield _Message(said)

    return [message for message, _ in zip(newest_first(), range(_MAX_MESSAGES), strict=False)][::-1]


def _function_responses(contents: Sequence[types.Content]) -> list[types.FunctionResponse]:
    """Return the responses that the request ends with."""
    for content in reversed(contents):
        parts = content.parts or []
        if any(part.function_response or not part.thought for part in parts):
            return [part.function_response for part in parts if part.function_response]
    return []


def _profile_lines(request: LlmRequest) -> list[str]:
    block = _PROFILE_BLOCK.search(_system_instruction(request))
    lines = block[1].splitlines() if block else []
    return [line[2:].strip() for line in lines if line.startswith("- ")]


def _system_instruction(request: LlmRequest) -> str:
    system = request.config.system_instruction
    return system if isinstance(system, str) else ""
