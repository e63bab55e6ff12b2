"""The part of `Memory` that counts how people use their agents, and keeps what a model proposes from the counts."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from typing_extensions import Unpack

from gaia_memory.config.schema import GaiaConfig
from gaia_memory.drafts.excerpts import excerpt_of
from gaia_memory.drafts.screen import screen_draft
from gaia_memory.drafts.write_verbatim import WriteOptions
from gaia_memory.errors import InvalidInputError
from gaia_memory.facts.identity.text_identity import normal_hash
from gaia_memory.growth import MAX_USAGE_DAYS, USAGE_DAYS
from gaia_memory.growth.digest import UsageDigest, build_digest
from gaia_memory.growth.proposals import MAX_TEXT_CHARACTERS, PROMPT_VERSION, Proposal, Proposals, ask_for_proposals
from gaia_memory.ledger.usage_log import load_usage, partitions_with_usage
from gaia_memory.models import UNCONFIRMED_KEY, AddResult, Draft, Fact, NewFact, Scope, TurnUsage
from gaia_memory.models.validation import require_int
from gaia_memory.ports import Clock, Transaction
from gaia_memory.profile.distil import Distiller
from gaia_memory.threads import run_in_thread

if TYPE_CHECKING:
    from gaia_memory.ledger.memory_stores import MemoryStores


class GrowthMixin:
    """Counts the use of agents, asks a model what it shows, and keeps what is agreed to."""

    clock: Clock
    stores: MemoryStores
    distiller: Distiller

    @property
    @abstractmethod
    def config(self) -> GaiaConfig:
        """The settings in force."""

    @abstractmethod
    async def facts(self, scope: Scope) -> list[Fact]:
        """Return the current facts."""

    @abstractmethod
    async def has_forgotten(self, scope: Scope, texts: Sequence[str]) -> bool:
        """Return whether one of these facts was forgotten."""

    @abstractmethod
    async def _require(self, scope: object, *, enabled: bool = True) -> None:
        """Check that `scope` is a scope and memory is open, and, if `enabled`, on."""

    @abstractmethod
    async def _write(self, scope: Scope, drafts: Sequence[Draft], **options: Unpack[WriteOptions]) -> AddResult:
        """Store drafts with their vectors."""

    @property
    def can_propose(self) -> bool:
        """Whether there is a model to ask for proposals."""
        return not self.distiller.language_model.is_offline

    async def usage(self, scope: Scope, *, days: int = USAGE_DAYS) -> UsageDigest:
        """Return in counts how a person used their agent in the last `days` days, today included.

        Private turns, and turns while memory was off, are not counted. `memory.usage_days` says how long counts are
        kept.

        Raises:
            InvalidInputError: `days` is not from 1 to 3650.
        """
        await self._require(scope, enabled=False)
        return build_digest(await self._used(scope, days), days=days, zone=self.config.memory.zone)

    async def users_with_usage(self, *, days: int = USAGE_DAYS) -> list[Scope]:
        """Return everybody who has had a turn in the last `days` days, sorted by user and app."""
        since, across_apps = self._since(days), self.config.memory.scope == "user"
        async with self.stores.database.read_transaction() as tx:
            partitions = await partitions_with_usage(tx, since=since)
            talking = {each.scope for each in await self.stores.ledger.summaries(tx)}
            talking = {Scope(None, each.user) for each in talking} if across_apps else talking
            known = talking | set(await self.stores.facts.scopes(tx))
        found = [each for each in known if each.partition in partitions]
        return sorted(found, key=lambda each: (each.user, each.app or ""))

    async def proposals(self, scope: Scope, *, days: int = USAGE_DAYS) -> Proposals:
        """Ask memory's model once what a person's counts show; nothing is stored.

        What memory knows already, or has forgotten, is left out: the same text, or a key that exists.

        Raises:
            InvalidInputError: `days` is not from 1 to 3650.
            ModelUnavailableError: the model did not answer.
            BadAnswerError: its answer is of another form.
            MemoryDisabledError: memory is off.
        """
        await self._require(scope)
        used = await self._used(scope, days)
        digest = build_digest(used, days=days, zone=self.config.memory.zone)
        asked, other_users = await ask_for_proposals(self.distiller.language_model, scope, digest)
        facts = await self.facts(scope)
        texts, keys = {normal_hash(fact.text) for fact in facts}, {fact.key for fact in facts if fact.key}
        new: list[Proposal] = []
        for each in asked:
            with suppress(InvalidInputError):
                screened = await self._draft(scope, each)
                text, form = screened.fact.text, normal_hash(screened.fact.text)
                is_known = form in texts or each.key in keys or await self.has_forgotten(scope, [text])
                if not is_known and len(text) <= MAX_TEXT_CHARACTERS:
                    new.append(replace(each, text=text))
                    texts.add(form)
                    keys.update([each.key] if each.key else ())
        return Proposals(
            proposals=tuple(new), left_out=len(asked) - len(new), other_users=other_users, counted=frozenset(used)
        )

    async def keep_proposal(self, scope: Scope, proposal: Proposal, *, counted: Collection[TurnUsage]) -> Fact:
        """Store a proposal word for word, as a fact of the source `grow` that nobody has confirmed.

        Raises:
            InvalidInputError: not all is known any more that was `counted` for it.
            MemoryDisabledError: memory is off.
        """
        await self._require(scope)
        draft = await self._draft(scope, proposal)

        async def write(tx: Transaction, drafts: Sequence[Draft]) -> AddResult:
            # `_write` has locked the scope: no forget of the same person runs meanwhile.
            since = min((each.ended_at for each in counted), default=0.0)
            if not set(counted).issubset(await load_usage(tx, scope, since=since)):
                raise InvalidInputError(
                    f"some of what {scope.user!r} used was forgotten after the model was asked: nothing is kept"
                )
            return await self.stores.facts.writer.write(tx, scope, drafts, now=self.clock.now())

        [fact] = await self._write(scope, [draft], write=write)
        return fact

    async def _draft(self, scope: Scope, proposal: Proposal) -> Draft:
        """Return a proposal as a draft without credentials; raise InvalidInputError if nothing else is in it."""
        metadata = {UNCONFIRMED_KEY: True}
        draft = Draft(
            fact=NewFact(proposal.text, key=proposal.key, metadata=metadata, said_at=self.clock.now()),
            source="grow",
            app=scope.app,
            excerpt=excerpt_of(f"{proposal.figures}: {proposal.because}"),
            extractor=f"{self.distiller.language_model.identity} {PROMPT_VERSION}",
        )
        return await run_in_thread(screen_draft, draft, allow_numbers=self.config.memory.allow_numbers)

    async def _used(self, scope: Scope, days: int) -> list[TurnUsage]:
        since = self._since(days)
        async with self.stores.database.read_transaction() as tx:
            return await load_usage(tx, scope, since=since)

    def _since(self, days: int) -> float:
        require_int("days", days, minimum=1, maximum=MAX_USAGE_DAYS, fix=f"pass 1 to {MAX_USAGE_DAYS}")
        now = self.clock.now().astimezone(self.config.memory.zone)
        first_day = now.replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=days - 1)
        kept_since = now - timedelta(days=self.config.memory.usage_days)
        return max(first_day, kept_since).timestamp()
