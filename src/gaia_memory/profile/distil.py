"""Distils what is known about a person into a few lines."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from gaia_memory.errors import BadAnswerError, ModelError
from gaia_memory.models import Profile, Scope
from gaia_memory.ports import Database, FactStore, LanguageModel, ProjectsProvider
from gaia_memory.profile.bullets import bullets_of
from gaia_memory.profile.fallback import plain_bullets, ranked
from gaia_memory.profile.prompts import SYSTEM, profile_prompt

logger = logging.getLogger(__name__)

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
    """What a profile takes from the configuration: at most `limit` bullets, made anew where `basis` is another."""

    limit: int
    basis: str = ""


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
    ) -> None:
        self._database = database
        self._facts = facts
        self._model = language_model
        self._projects = projects
        self._settings = settings

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
            async with asyncio.timeout(SECONDS):
                bullets = await self._ask(known, settings.limit)
        except (ModelError, TimeoutError) as error:
            logger.warning("the profile is made without the model: %s", type(error).__name__)
            plain = plain_bullets(known.texts, known.projects, limit=settings.limit)
            return Profile(bullets=plain, fingerprint=fingerprint, revision=known.revision)
        profile = Profile(bullets=bullets, fingerprint=fingerprint, revision=known.revision)
        async with self._database.transaction() as tx:
            await self._facts.cache_profile(tx, scope, profile)
        return profile

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
            logger.warning("the profile is made without projects: %s", type(error).__name__)
            return ()
        return tuple(line for line in recent if line.strip())[:PROJECTS]

    def _fingerprint(self, known: _Known, settings: ProfileSettings) -> str:
        made_of = [known.facts, known.projects, settings.limit, self._model.identity, settings.basis]
        return hashlib.sha256(json.dumps(made_of).encode()).hexdigest()

    async def _ask(self, known: _Known, limit: int) -> tuple[str, ...]:
        shown = _fitting(known.texts)
        prompt = profile_prompt(shown, known.projects, limit=limit, left_out=len(known.facts) - len(shown))
        bullets = bullets_of(await self._model.complete(prompt, system=SYSTEM), limit=limit)
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
