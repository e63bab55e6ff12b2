"""Distils what is known about a person into a few lines."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from gaia_memory.errors import BadAnswerError, ModelError
from gaia_memory.log import logger_for
from gaia_memory.models import Profile, Scope
from gaia_memory.ports import Clock, Database, FactStore, LanguageModel, ProjectsProvider
from gaia_memory.profile.bullets import bullets_of, within
from gaia_memory.profile.fallback import plain_bullets, ranked
from gaia_memory.profile.prompts import SYSTEM, profile_prompt
from gaia_memory.telemetry import about, memory_span

logger = logger_for(__name__)

SECONDS = 15.0
"""How long the first answer of a session waits for its profile; a later session asks for it again."""

PROJECTS = 5
PROJECTS_SECONDS = 5.0
MAX_PROMPT_CHARACTERS = 120_000
"""Characters of facts in one question. Beyond, the facts that count least and the oldest of them are left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """Everything a profile is made of, oldest fact first, newest project first."""

    facts: tuple[tuple[str, str], ...]
    projects: tuple[str, ...]
    revision: int
    cached: Profile | None

    @property
    def texts(self) -> list[str]:
        return [text for _, text in self.facts]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileSettings:
    """What a profile takes from the configuration: at most `limit` bullets in `tokens` tokens.

    It is made anew where `basis` is another.
    """

    limit: int
    tokens: int = 1_000
    basis: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """What the next session of a person would be told, looked up without asking a model.

    `profile` is what the model wrote from exactly what is known now; None where it is to be asked first. `plain`
    is what is told where it does not answer, and `facts` how many facts there are.
    """

    profile: Profile | None
    plain: Profile
    facts: int


class Distiller:
    """Makes profiles, with one call of the model and only when something changed.

    `settings` are asked for once a profile, so that they may change meanwhile.
    """

    def __init__(
        self,
        database: Database,
        facts: FactStore,
        language_model: LanguageModel,
        projects: ProjectsProvider | None,
        *,
        settings: Callable[[], ProfileSettings],
        clock: Clock,
    ) -> None:
        self._database = database
        self._facts = facts
        self._model = language_model
        self._projects = projects
        self._settings = settings
        self._clock = clock

    async def profile(self, scope: Scope) -> Profile:
        """Return what to tell an agent about this person; no bullets when nothing is known.

        When the model gives no usable answer in time, the facts themselves, ranked and bounded; that is not
        kept, so that the next session asks again.
        """
        settings = self._settings()
        known = await self._read(scope)
        fingerprint = self._fingerprint(known, settings)
        if not known.facts and not known.projects:
            return Profile(bullets=(), fingerprint=fingerprint, revision=known.revision)
        if known.cached is not None and known.cached.fingerprint == fingerprint:
            return replace(known.cached, revision=known.revision)
        try:
            with memory_span("distil_profile", scope) as span:
                span.count(len(known.facts))
                async with asyncio.timeout(SECONDS):
                    bullets = await self._ask(known, settings)
        except (ModelError, TimeoutError) as error:
            kind = type(error).__name__
            logger.warning(
                "the profile is made without the model: %s", kind, extra=about("profile.plain", scope, error=kind)
            )
            return self._plain(known, settings)
        profile = Profile(
            bullets=bullets,
            fingerprint=fingerprint,
            revision=known.revision,
            made_by="model",
            made_at=self._clock.now(),
        )
        async with self._database.transaction() as tx:
            await self._facts.cache_profile(tx, scope, profile)
        return profile

    async def outlook(self, scope: Scope) -> Outlook:
        """Return what the next session would be told; asks no model and keeps nothing."""
        settings = self._settings()
        known = await self._read(scope)
        is_fresh = known.cached is not None and known.cached.fingerprint == self._fingerprint(known, settings)
        return Outlook(
            profile=known.cached if is_fresh else None, plain=self._plain(known, settings), facts=len(known.facts)
        )

    def _plain(self, known: _Known, settings: ProfileSettings) -> Profile:
        ordered = plain_bullets(known.texts, known.projects)
        bullets = within(ordered, limit=settings.limit, tokens=settings.tokens)
        return Profile(
            bullets=bullets,
            fingerprint=self._fingerprint(known, settings),
            revision=known.revision,
            made_by="fallback",
            made_at=self._clock.now(),
        )

    async def _read(self, scope: Scope) -> _Known:
        projects = await self._recent_projects(scope)
        async with self._database.reading() as tx:
            state = await self._facts.state(tx, scope)
            facts = await self._facts.facts(tx, scope)
            cached = await self._facts.cached_profile(tx, scope)
        return _Known(
            facts=tuple((fact.id, fact.text) for fact in facts),
            projects=projects,
            revision=state.revision,
            cached=cached,
        )

    async def _recent_projects(self, scope: Scope) -> tuple[str, ...]:
        if self._projects is None:
            return ()
        try:
            async with asyncio.timeout(PROJECTS_SECONDS):
                recent = await self._projects.recent(scope)
        except Exception as error:  # the host's own hook: it may fail in any way, and a profile does without it
            kind = type(error).__name__
            fields = about("profile.without_projects", scope, error=kind)
            logger.warning("the profile is made without projects: %s", kind, extra=fields)
            return ()
        return tuple(line for line in recent if line.strip())[:PROJECTS]

    def _fingerprint(self, known: _Known, settings: ProfileSettings) -> str:
        bounds = [settings.limit, settings.tokens]
        made_of = [known.facts, known.projects, bounds, self._model.identity, settings.basis]
        return hashlib.sha256(json.dumps(made_of).encode()).hexdigest()

    async def _ask(self, known: _Known, settings: ProfileSettings) -> tuple[str, ...]:
        shown = _fitting(known.texts)
        prompt = profile_prompt(shown, known.projects, limit=settings.limit, left_out=len(known.facts) - len(shown))
        answered = bullets_of(await self._model.complete(prompt, system=SYSTEM), limit=settings.limit)
        bullets = within(answered, limit=settings.limit, tokens=settings.tokens)
        if not bullets:
            raise BadAnswerError("the profile is blank or not made of bullet lines")
        return bullets


def _fitting(facts: Sequence[str]) -> list[str]:
    """Return the facts that fit into one question, oldest first; those that count most are taken first."""
    if sum(map(len, facts)) <= MAX_PROMPT_CHARACTERS:
        return list(facts)
    room = MAX_PROMPT_CHARACTERS
    taken: set[str] = set()
    for fact in ranked(facts):
        if len(fact) <= room:
            taken.add(fact)
            room -= len(fact)
    return [fact for fact in facts if fact in taken]
