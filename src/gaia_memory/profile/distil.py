"""Distils what is known about a person into a few lines."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from gaia_memory.config.schema import GaiaConfig
from gaia_memory.errors import BadAnswerError, ModelError
from gaia_memory.log import logger_for
from gaia_memory.models import Profile, Scope
from gaia_memory.ports import Clock, Database, FactStore, LanguageModel, ProjectsProvider
from gaia_memory.profile.bullets import fit_bullets, parse_bullets
from gaia_memory.profile.fallback import fallback_bullets, rank_by_category
from gaia_memory.profile.prompts import SYSTEM_PROMPT, build_profile_prompt
from gaia_memory.telemetry import log_fields, memory_span

logger = logger_for(__name__)

MODEL_TIMEOUT_SECONDS = 15.0
"""How long the first answer of a session waits for its profile; a later session asks for it again."""

MAX_PROJECTS = 5
PROJECTS_TIMEOUT_SECONDS = 5.0
MAX_PROMPT_CHARACTERS = 120_000
"""Characters of facts in one question. Beyond, the facts that count least and the oldest of them are left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _ProfileInputs:
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

    It is made anew where `cache_key` is another.
    """

    limit: int
    tokens: int = 1_000
    cache_key: str = ""


def profile_settings(config: GaiaConfig, cache_key: str) -> ProfileSettings:
    """Return the settings of profiles from a configuration."""
    memory = config.memory
    return ProfileSettings(limit=memory.preload_limit, tokens=memory.profile_tokens, cache_key=cache_key)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfilePreview:
    """What the next session of a person would be told, looked up without asking a model.

    `profile` is what the model wrote from exactly what is known now; None where it is to be asked first. `fallback`
    is what is told where it does not answer, and `facts` how many facts there are.
    """

    profile: Profile | None
    fallback: Profile
    fact_count: int


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
        inputs = await self._load_inputs(scope)
        fingerprint = self._fingerprint(inputs, settings)
        if not inputs.facts and not inputs.projects:
            return Profile(bullets=(), fingerprint=fingerprint, revision=inputs.revision)
        if inputs.cached is not None and inputs.cached.fingerprint == fingerprint:
            return replace(inputs.cached, revision=inputs.revision)
        try:
            with memory_span("distil_profile", scope) as span:
                span.set_record_count(len(inputs.facts))
                async with asyncio.timeout(MODEL_TIMEOUT_SECONDS):
                    bullets = await self._ask_model(inputs, settings)
        except (ModelError, TimeoutError) as error:
            kind = type(error).__name__
            logger.warning(
                "the profile is made without the model: %s", kind, extra=log_fields("profile.plain", scope, error=kind)
            )
            return self._fallback_profile(inputs, settings)
        profile = Profile(
            bullets=bullets,
            fingerprint=fingerprint,
            revision=inputs.revision,
            made_by="model",
            made_at=self._clock.now(),
        )
        async with self._database.transaction() as tx:
            await self._facts.cache_profile(tx, scope, profile)
        return profile

    async def preview(self, scope: Scope) -> ProfilePreview:
        """Return what the next session would be told; asks no model and keeps nothing."""
        settings = self._settings()
        inputs = await self._load_inputs(scope)
        is_fresh = inputs.cached is not None and inputs.cached.fingerprint == self._fingerprint(inputs, settings)
        return ProfilePreview(
            profile=inputs.cached if is_fresh else None,
            fallback=self._fallback_profile(inputs, settings),
            fact_count=len(inputs.facts),
        )

    def _fallback_profile(self, inputs: _ProfileInputs, settings: ProfileSettings) -> Profile:
        ranked_bullets = fallback_bullets(inputs.texts, inputs.projects)
        bullets = fit_bullets(ranked_bullets, limit=settings.limit, tokens=settings.tokens)
        return Profile(
            bullets=bullets,
            fingerprint=self._fingerprint(inputs, settings),
            revision=inputs.revision,
            made_by="fallback",
            made_at=self._clock.now(),
        )

    async def _load_inputs(self, scope: Scope) -> _ProfileInputs:
        projects = await self._recent_projects(scope)
        async with self._database.read_transaction() as tx:
            state = await self._facts.state(tx, scope)
            facts = await self._facts.facts(tx, scope)
            cached = await self._facts.cached_profile(tx, scope)
        return _ProfileInputs(
            facts=tuple((fact.id, fact.text) for fact in facts),
            projects=projects,
            revision=state.revision,
            cached=cached,
        )

    async def _recent_projects(self, scope: Scope) -> tuple[str, ...]:
        if self._projects is None:
            return ()
        try:
            async with asyncio.timeout(PROJECTS_TIMEOUT_SECONDS):
                recent = await self._projects.recent(scope)
        except Exception as error:  # the host's own hook: it may fail in any way, and a profile does without it
            kind = type(error).__name__
            fields = log_fields("profile.without_projects", scope, error=kind)
            logger.warning("the profile is made without projects: %s", kind, extra=fields)
            return ()
        return tuple(line for line in recent if line.strip())[:MAX_PROJECTS]

    def _fingerprint(self, inputs: _ProfileInputs, settings: ProfileSettings) -> str:
        bounds = [settings.limit, settings.tokens]
        fingerprint_parts = [inputs.facts, inputs.projects, bounds, self._model.identity, settings.cache_key]
        return hashlib.sha256(json.dumps(fingerprint_parts).encode()).hexdigest()

    async def _ask_model(self, inputs: _ProfileInputs, settings: ProfileSettings) -> tuple[str, ...]:
        prompt_facts = _fit_into_prompt(inputs.texts)
        prompt = build_profile_prompt(
            prompt_facts, inputs.projects, limit=settings.limit, omitted_count=len(inputs.facts) - len(prompt_facts)
        )
        answer_bullets = parse_bullets(await self._model.complete(prompt, system=SYSTEM_PROMPT), limit=settings.limit)
        bullets = fit_bullets(answer_bullets, limit=settings.limit, tokens=settings.tokens)
        if not bullets:
            raise BadAnswerError("the profile is blank or not made of bullet lines")
        return bullets


def _fit_into_prompt(facts: Sequence[str]) -> list[str]:
    """Return the facts that fit into one question, oldest first; those that count most are taken first."""
    if sum(map(len, facts)) <= MAX_PROMPT_CHARACTERS:
        return list(facts)
    remaining_characters = MAX_PROMPT_CHARACTERS
    selected: set[str] = set()
    for fact in rank_by_category(facts):
        if len(fact) <= remaining_characters:
            selected.add(fact)
            remaining_characters -= len(fact)
    return [fact for fact in facts if fact in selected]
