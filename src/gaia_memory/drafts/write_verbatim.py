"""Keeps what a person, a host or a model wants stored word for word, and judges whose word it is."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence, Set
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Literal, TypedDict, get_args

from typing_extensions import Unpack

from gaia_memory.database.pooling.conflicts import retries_conflicts
from gaia_memory.drafts.embed_drafts import EMBED_TIMEOUT_SECONDS, embed_in_scope
from gaia_memory.drafts.hide_sensitive import hide_sensitive, may_have_become_sensitive
from gaia_memory.drafts.lifetime import take_lifetime
from gaia_memory.drafts.screen import screen_draft
from gaia_memory.errors import InvalidInputError
from gaia_memory.language.distinctive_words import distinctive_stems, mentions
from gaia_memory.language.homoglyphs import fold_homoglyphs
from gaia_memory.language.stems import truncated_stem
from gaia_memory.language.tokenizer import index_tokens
from gaia_memory.log import log_fields, logger_for
from gaia_memory.models import (
    REMEMBERED_SOURCES,
    UNCONFIRMED_KEY,
    AddResult,
    Draft,
    NewFact,
    Origin,
    Scope,
    SessionKey,
    Source,
    UserStatement,
)
from gaia_memory.models.validation import raise_invalid
from gaia_memory.ports import Clock, Embedder, Transaction
from gaia_memory.redaction.credentials import without_masks
from gaia_memory.telemetry import memory_span
from gaia_memory.threads import run_in_thread

if TYPE_CHECKING:
    from gaia_memory.facts import FactStore
    from gaia_memory.ledger.memory_stores import MemoryStores


logger = logger_for(__name__)

OnRefused = Literal["raise", "skip"]
"""What to do with facts that may not be kept: write nothing at all, or leave out only those."""

WriteDrafts = Callable[[Transaction, Sequence[Draft]], Awaitable[AddResult]]

MIN_ANSWERED_SHARE = 0.5
"""Share of the distinctive stems of a statement in a tool's answer, from which on it may come from there."""

_ADDRESS = re.compile(r"(?<![\w.+-])[\w.+-]+@[\w-]+\.\w+|(?<![\w.-])(?:[\w-]+\.)+[a-z]{2,}(?![\w.])", re.IGNORECASE)
_LONG_NUMBER = re.compile(r"(?<![\w-])[A-Z]{0,2}\d(?:[ ()/.-]?\d){5,}(?![\w-])")
_DAY_OR_TIME = re.compile(r"\d{4}-\d\d-\d\d|\d\d?[./]\d\d?[./]\d{4}|\d\d?[.:]\d\d")
_COMPARED_DIGITS = 5


class WriteOptions(TypedDict, total=False):
    """Options of a write: what the user said, who is told of the progress, and what writes instead of the fact store.

    `write` is called in a transaction that has locked the scope. `embeds_sensitive` is `memory.embed_sensitive`.
    """

    user_statement: UserStatement | None
    progress: Callable[[int, int], None] | None
    write: WriteDrafts | None
    embeds_sensitive: bool


REMEMBER_EMBED_TIMEOUT_SECONDS = 5.0
"""How long a fact that is remembered in a turn waits for its vector; after that the vector follows later."""

_CLOCK_DIFFERENCE = timedelta(minutes=1)
_EPOCH = datetime.fromtimestamp(0, UTC)
_FORGOTTEN_MESSAGE = (
    "the user asked to forget this and did not mention it now: do not save it, and do not bring it up; it may be "
    "saved when the user says it again"
)


def build_verbatim_drafts(
    facts: object, scope: Scope, *, now: datetime, on_refused: OnRefused = "raise", allow_numbers: bool = False
) -> tuple[list[Draft], list[tuple[int, str]]]:
    """Return facts as drafts, and with `on_refused="skip"` the index and the reason of each one left out.

    A `ttl` in metadata counts from `now`. `allow_numbers` is `memory.allow_numbers`.

    Raises:
        InvalidInputError: `facts` is no list of `NewFact`, `on_refused` is neither "raise" nor "skip", or, with
            "raise", a fact is too long, nothing but a credential, said in the future, or gives its end in a wrong form;
            the message names its index.
    """
    if not isinstance(facts, Sequence) or isinstance(facts, str | bytes):
        raise_invalid("facts", facts, "pass a list of NewFact")
    if on_refused not in get_args(OnRefused):
        raise_invalid("on_refused", on_refused, "pass 'raise' or 'skip'")
    for index, fact in enumerate(facts):
        if not isinstance(fact, NewFact):
            raise_invalid(f"facts[{index}]", fact, "pass a NewFact, such as NewFact('likes tea')")
    drafts: list[Draft] = []
    refused: list[tuple[int, str]] = []
    for index, fact in enumerate(facts):
        try:
            draft = Draft(fact=take_lifetime(_said_by_now(fact, now), now), source="add", app=scope.app)
            drafts.append(screen_draft(draft, allow_numbers=allow_numbers))
        except InvalidInputError as error:
            if on_refused == "raise":
                raise error if len(facts) == 1 else InvalidInputError(f"facts[{index}]: {error}") from error
            refused.append((index, str(error)))
    return drafts, refused


def _said_by_now(fact: NewFact, now: datetime) -> NewFact:
    """Return a fact that was said now at the latest; clocks differ a little."""
    if fact.said_at is None or fact.said_at <= now:
        return fact
    if fact.said_at > now + _CLOCK_DIFFERENCE:
        raise_invalid("NewFact.said_at", fact.said_at.isoformat(), "pass a time that is not to come, or None for now")
    return replace(fact, said_at=now)


async def build_remembered_draft(
    stores: MemoryStores,
    scope: Scope,
    fact: NewFact,
    origin: Origin | None,
    user_statement: UserStatement | None,
    *,
    allow_numbers: bool = False,
) -> Draft:
    """Return one fact as a draft with its origin; one that a model has from another tool is marked as unconfirmed.

    So is one that it has from a fact that is unconfirmed itself. `allow_numbers` is `memory.allow_numbers`.

    Raises:
        InvalidInputError: the fact may not be kept.
    """
    draft = Draft(fact=fact, source="remember", app=scope.app)
    if origin is not None:
        draft = await attribute(stores, scope, draft, origin)
    draft = await run_in_thread(screen_draft, draft, allow_numbers=allow_numbers)
    if user_statement is None:
        return draft
    async with stores.database.read_transaction() as tx:
        # The model sees them in the profile and in notes, where no tool has answered.
        unconfirmed = await stores.facts.marked_texts(tx, scope, UNCONFIRMED_KEY)
    statement = replace(user_statement, tool_answers=(*user_statement.tool_answers, *unconfirmed))
    if not await run_in_thread(is_of_a_tool, draft.fact, statement):
        return draft
    return replace(draft, fact=replace(draft.fact, metadata={**draft.fact.metadata, UNCONFIRMED_KEY: True}))


async def write_verbatim(
    stores: MemoryStores,
    embedder: Embedder,
    clock: Clock,
    scope: Scope,
    drafts: Sequence[Draft],
    **options: Unpack[WriteOptions],
) -> AddResult:
    """Write drafts with their vectors and remove the tombstones of their texts; all or none.

    Raises:
        InvalidInputError: a text was forgotten, and `user_statement`, if there is one, does not mention it.
    """
    user_statement, write = options.get("user_statement"), options.get("write")
    is_remembered = all(draft.source in REMEMBERED_SOURCES for draft in drafts)
    seconds = REMEMBER_EMBED_TIMEOUT_SECONDS if is_remembered else EMBED_TIMEOUT_SECONDS
    texts = [draft.fact.text for draft in drafts]
    with memory_span("create_memory", scope) as span:
        embedded = await embed_in_scope(
            stores.database,
            stores.facts,
            scope,
            embedder,
            drafts,
            timeout_seconds=seconds,
            progress=options.get("progress"),
            embeds_sensitive=options.get("embeds_sensitive", True),
        )

        @retries_conflicts
        async def store() -> AddResult:
            async with stores.database.transaction() as tx:
                if user_statement is not None:
                    await reject_forgotten(stores.facts, tx, scope, texts, user_statement)
                await stores.facts.tombstones.remove_tombstones(tx, scope, texts)
                if write is None:
                    written = await stores.facts.writer.write(tx, scope, embedded, now=clock.now())
                else:
                    await stores.facts.state(tx, scope)
                    written = await write(tx, embedded)
                await hide_sensitive(stores.facts, stores.ledger, tx, scope, may_have_become_sensitive(written))
            return written

        written = await store()
        span.record_facts(written)
    logger.debug("%d facts were kept", len(written), extra=log_fields("memory.kept", scope, facts=len(written)))
    return written


async def attribute(stores: MemoryStores, scope: Scope, draft: Draft, origin: Origin) -> Draft:
    """Return a draft attributed to the agent of `origin` and, if the ledger knows it, to its conversation.

    Other conversations, such as the temporary one of an agent that is called as a tool, are soon gone.
    """
    source: Source = "agent" if origin.source == "agent" else draft.source
    agent = draft.fact.agent or origin.agent
    draft = replace(draft, fact=replace(draft.fact, agent=agent), source=source, app=origin.app, channel=origin.channel)
    if origin.session_id is None or origin.app is None:
        return replace(draft, excerpt=origin.excerpt)
    key = SessionKey(origin.app, scope.user, origin.session_id)
    async with stores.database.read_transaction() as tx:
        row = await stores.ledger.row(tx, key)
    if row is None:
        return draft
    return replace(
        draft,
        fact=replace(draft.fact, session_id=key.session),
        event_ids=origin.event_ids,
        turn_event_ids=origin.turn_event_ids,
        channel=origin.channel or key.channel,
        excerpt=origin.excerpt,
    )


async def reject_forgotten(
    facts: FactStore, tx: Transaction, scope: Scope, texts: Sequence[str], user_statement: UserStatement
) -> None:
    """Refuse texts that were forgotten, unless the current `user_statement` mentions them.

    Raises:
        InvalidInputError: one of them was forgotten.
    """
    unmentioned = [text for text in texts if not mentions(user_statement.text, text)]
    forgotten_at = (await facts.state(tx, scope)).forgotten_at
    # Everything was forgotten, perhaps during this turn, and the model still sees the old messages.
    is_before_forget = (
        forgotten_at is not None
        and (user_statement.turn_started_at if not unmentioned else user_statement.visible_since) <= forgotten_at
    )
    new_facts = [NewFact(text, said_at=datetime.fromtimestamp(user_statement.turn_started_at, UTC)) for text in texts]
    if is_before_forget or any(await facts.tombstones.paraphrases_forgotten(tx, scope, new_facts)):
        raise InvalidInputError(_FORGOTTEN_MESSAGE)
    has_tombstone = await facts.tombstones.have_tombstones(tx, scope, unmentioned)
    # Compared as if said before every forgetting.
    is_paraphrase = await facts.tombstones.paraphrases_forgotten(
        tx, scope, [NewFact(text, said_at=_EPOCH) for text in unmentioned]
    )
    if any((*has_tombstone, *is_paraphrase)):
        raise InvalidInputError(_FORGOTTEN_MESSAGE)


def is_of_a_tool(fact: NewFact, user: UserStatement) -> bool:
    """Return whether a statement of a model's has its words from another tool's answer rather than from the person.

    That is so if at least half of its distinctive stems stand in one answer and fewer of them in what the person said,
    or if an address or a long number of it stands in an answer alone: few other words can redirect so much.
    """
    # "On Friday" is said, and its date is saved.
    stems = distinctive_stems(_LONG_NUMBER.sub(" ", _DAY_OR_TIME.sub(" ", without_masks(fact.text))))
    said = "\n".join((*user.recent_texts, user.text, user.agreed_to))
    said_count = len(stems & _stems(said)) if user.tool_answers else 0
    named = "\n".join(filter(None, (fact.text, fact.category, fact.entity, fact.context, fact.key)))
    contacts = _contacts(_DAY_OR_TIME.sub(" ", named))
    unsaid = {contact for contact in contacts - _contacts(said) if contact not in _digits(said)}
    for answer in user.tool_answers:
        answered_count = len(stems & _stems(answer))
        is_answered = bool(stems) and answered_count >= MIN_ANSWERED_SHARE * len(stems)
        if (is_answered and said_count < answered_count) or not unsaid.isdisjoint(_contacts(answer)):
            return True
    return False


def _contacts(text: str) -> Set[str]:
    """Return the addresses of a text and the last digits of its long numbers."""
    addresses = {address.casefold() for address in _ADDRESS.findall(text)}
    return addresses | {_digits(number)[-_COMPARED_DIGITS:] for number in _LONG_NUMBER.findall(text)}


def _digits(text: str) -> str:
    return re.sub(r"\D", "", text)


def _stems(text: str) -> set[str]:
    return {truncated_stem(word) for word in index_tokens(fold_homoglyphs(text))}
