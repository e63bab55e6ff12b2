"""Distils the facts about a person into a few lines, by a model or by a choice from the facts."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import tzinfo
from typing import TYPE_CHECKING

from gaia_memory.config.schema import GaiaConfig
from gaia_memory.errors import BadAnswerError, ModelError
from gaia_memory.keyless.quotations import quote_fact
from gaia_memory.language.printable_text import estimate_tokens
from gaia_memory.log import log_fields, logger_for
from gaia_memory.model_calls import asking_about, time_limit
from gaia_memory.models import IN_DOUBT_MARK, REMEMBERED_SOURCES, UNCONFIRMED_MARK, Fact, Profile, Scope
from gaia_memory.ports import Clock, LanguageModel, ProjectsProvider
from gaia_memory.profile.prompts import SYSTEM_PROMPT, build_profile_prompt
from gaia_memory.redaction.credentials import mask_credentials
from gaia_memory.telemetry import memory_span
from gaia_memory.threads import run_in_thread

if TYPE_CHECKING:
    from gaia_memory.database.sql_engine import Database
    from gaia_memory.facts import FactStore


logger = logger_for(__name__)

MODEL_TIMEOUT_SECONDS = 15.0
"""Seconds that the first answer of a session waits for its profile; a later session asks for it again."""

BAD_ANSWER_PAUSE_SECONDS = 3600.0
"""How long the same facts are not asked about again after a bad answer: the model would give it again."""

MAX_PROJECTS = 5
PROJECTS_TIMEOUT_SECONDS = 5.0
MAX_PROMPT_CHARACTERS = 120_000
"""Characters of facts in one question; beyond, the least important facts are left out."""

MAX_BULLET_CHARACTERS = 400
"""Characters of one bullet."""

_BULLET = re.compile(r"^\s*(?:[-*•·‣\u2013\u2014]|\d{1,3}[.)])\s+(?P<text>.*\S)\s*$")
_EMPTY_BULLET = re.compile(r"^\W*(?:none|nothing|n/a|no facts?|unknown)\W*$", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class _ProfileInputs:
    """Everything a profile is made of: the fact said last comes last, the newest project first."""

    facts: tuple[Fact, ...]
    projects: tuple[str, ...]
    fingerprint: str
    revision: int
    cached: Profile | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileSettings:
    """The settings of a profile: at most `limit` bullets in `tokens` tokens.

    A change of `cache_key` outdates the cached profile. `allow_numbers` is `memory.allow_numbers`, `zone` is
    `memory.time_zone`.
    """

    limit: int
    tokens: int = 1_000
    cache_key: str = ""
    allow_numbers: bool = False
    zone: tzinfo | None = None


def profile_settings(config: GaiaConfig, cache_key: str) -> ProfileSettings:
    """Return the settings of profiles from a configuration."""
    memory = config.memory
    return ProfileSettings(
        limit=memory.preload_limit,
        tokens=memory.profile_tokens,
        cache_key=cache_key,
        allow_numbers=memory.allow_numbers,
        zone=memory.zone,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfilePreview:
    """The profile that the next session of a person would get, looked up without asking a model.

    `profile` is the one a model wrote from the current facts, None if there is none yet. `fallback` is used if
    the model does not answer, and `fact_count` is the number of facts.
    """

    profile: Profile | None
    fallback: Profile
    fact_count: int


class Distiller:
    """Creates profiles, with one call of the model and only after a change.

    `settings` is called for each profile, so that settings may change at any time.
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

    @property
    def language_model(self) -> LanguageModel:
        """The model that writes profiles."""
        return self._model

    @property
    def model_name(self) -> str:
        """The provider and name of the model that writes profiles."""
        return self._model.identity

    @property
    def has_projects(self) -> bool:
        """Whether a profile may have bullets without any fact."""
        return self._projects is not None

    async def profile(self, scope: Scope, context: str | None = None) -> Profile:
        """Return the profile of a person for an agent, without bullets when nothing is known.

        It is made of the facts of a context and of no context, without sensitive ones; None stands for every context.

        If the model gives no usable answer in time, the bullets are the most important facts. The next session asks the
        model again; after a bad answer, as long as nothing has changed, only in an hour.
        """
        settings = self._settings()
        inputs = await self._load_inputs(scope, context, settings)
        if not inputs.facts and not inputs.projects:
            return Profile(bullets=(), fingerprint=inputs.fingerprint, revision=inputs.revision)
        if inputs.cached is not None and not self._is_outdated(inputs.cached):
            bullets = tuple(_mask(inputs.cached.bullets, settings))
            return replace(inputs.cached, bullets=bullets, revision=inputs.revision)
        try:
            with memory_span("distil_profile", scope) as span, asking_about(scope.app):
                span.set_record_count(len(inputs.facts))
                async with time_limit(MODEL_TIMEOUT_SECONDS):
                    bullets = await self._ask_model(inputs, settings)
        except (ModelError, TimeoutError) as error:
            kind = type(error).__name__
            logger.warning(
                "the profile is made without the model: %s", kind, extra=log_fields("profile.plain", scope, error=kind)
            )
            profile = self._fallback_profile(inputs, settings)
            if not isinstance(error, BadAnswerError):
                return profile
        else:
            profile = Profile(
                bullets=bullets,
                fingerprint=inputs.fingerprint,
                revision=inputs.revision,
                made_by="model",
                made_at=self._clock.now(),
            )
        async with self._database.transaction() as tx:
            await self._facts.cache_profile(tx, scope, profile)
        return profile

    def _is_outdated(self, profile: Profile) -> bool:
        """Return whether the model should be asked again for a profile that was made without it."""
        if profile.made_by != "fallback" or profile.made_at is None:
            return False
        return (self._clock.now() - profile.made_at).total_seconds() >= BAD_ANSWER_PAUSE_SECONDS

    async def preview(self, scope: Scope, context: str | None = None) -> ProfilePreview:
        """Return the profile that the next session would get; asks no model and stores nothing."""
        settings = self._settings()
        inputs = await self._load_inputs(scope, context, settings)
        cached = inputs.cached
        is_fresh = cached is not None and cached.made_by != "fallback"
        return ProfilePreview(
            profile=replace(cached, bullets=tuple(_mask(cached.bullets, settings))) if cached and is_fresh else None,
            fallback=self._fallback_profile(inputs, settings),
            fact_count=len(inputs.facts),
        )

    def _fallback_profile(self, inputs: _ProfileInputs, settings: ProfileSettings) -> Profile:
        bullets = _choose_bullets(inputs, settings, lambda fact: fact.text)
        return Profile(
            bullets=bullets,
            fingerprint=inputs.fingerprint,
            revision=inputs.revision,
            made_by="fallback",
            made_at=self._clock.now(),
        )

    async def _load_inputs(self, scope: Scope, context: str | None, settings: ProfileSettings) -> _ProfileInputs:
        projects = await self._recent_projects(scope)
        async with self._database.read_transaction() as tx:
            visible = [fact for fact in await self._facts.facts(tx, scope) if fact.is_visible(context)]
            facts = tuple(sorted(visible, key=lambda fact: fact.last_said_at))
            fingerprint = self._fingerprint(facts, projects, settings)
            if not facts and not projects:
                return _ProfileInputs(facts=(), projects=(), fingerprint=fingerprint, revision=0, cached=None)
            state = await self._facts.state(tx, scope)
            cached = await self._facts.cached_profile(tx, scope, fingerprint)
        return _ProfileInputs(
            facts=facts,
            projects=projects,
            fingerprint=fingerprint,
            revision=state.revision,
            cached=cached,
        )

    async def _recent_projects(self, scope: Scope) -> tuple[str, ...]:
        if self._projects is None:
            return ()
        try:
            async with asyncio.timeout(PROJECTS_TIMEOUT_SECONDS):
                recent = await self._projects.recent(scope)
        except Exception as error:  # the host's hook may fail in any way, and a profile works without it
            kind = type(error).__name__
            fields = log_fields("profile.without_projects", scope, error=kind)
            logger.warning("the profile is made without projects: %s", kind, extra=fields)
            return ()
        return tuple(line for line in recent if line.strip())[:MAX_PROJECTS]

    def _fingerprint(self, facts: Sequence[Fact], projects: Sequence[str], settings: ProfileSettings) -> str:
        bounds = [settings.limit, settings.tokens]
        described = [
            (fact.id, fact.text, *([True] if fact.is_unconfirmed else []), *(["doubt"] if fact.is_in_doubt else []))
            for fact in facts
        ]
        fingerprint_parts = [described, projects, bounds, self._model.identity, settings.cache_key]
        return hashlib.sha256(json.dumps(fingerprint_parts).encode()).hexdigest()

    async def _ask_model(self, inputs: _ProfileInputs, settings: ProfileSettings) -> tuple[str, ...]:
        if self._model.is_offline:
            return _choose_bullets(inputs, settings, lambda fact: quote_fact(fact, settings.zone))
        # What a page said neither instructs the model nor loses its mark there: it follows in its own words.
        unconfirmed = replace(inputs, facts=tuple(fact for fact in inputs.facts if fact.is_unconfirmed), projects=())
        confirmed = [fact for fact in inputs.facts if not fact.is_unconfirmed]
        last = _choose_bullets(unconfirmed, settings, lambda fact: quote_fact(fact, settings.zone))
        if last and not confirmed and not inputs.projects:
            return last
        prompt_facts = await run_in_thread(_mask, _fit_into_prompt(confirmed), settings)
        prompt = build_profile_prompt(
            prompt_facts, inputs.projects, limit=settings.limit, omitted_count=len(confirmed) - len(prompt_facts)
        )
        answer_bullets = parse_bullets(await self._model.complete(prompt, system=SYSTEM_PROMPT), limit=settings.limit)
        bullets = fit_bullets(answer_bullets, limit=settings.limit, tokens=settings.tokens)
        if not bullets:
            raise BadAnswerError("the profile is blank or not made of bullet lines")
        return fit_bullets((*bullets, *last), limit=settings.limit, tokens=settings.tokens)


def _choose_bullets(inputs: _ProfileInputs, settings: ProfileSettings, tell: Callable[[Fact], str]) -> tuple[str, ...]:
    """Return the most important facts that fit, in the words of `tell`."""
    ranked_bullets = fallback_bullets(inputs.facts, inputs.projects, tell)
    return tuple(_mask(fit_bullets(ranked_bullets, limit=settings.limit, tokens=settings.tokens), settings))


def _mask(texts: Sequence[str], settings: ProfileSettings) -> list[str]:
    """Mask the credentials that an older release stored."""
    return [mask_credentials(text, allow_numbers=settings.allow_numbers) for text in texts]


def _fit_into_prompt(facts: Sequence[Fact]) -> list[str]:
    """Return the most important facts that fit into one question, oldest first; those in doubt are marked."""
    remaining_characters = MAX_PROMPT_CHARACTERS
    selected: set[str] = set()
    for fact in rank_facts(facts):
        if len(fact.text) <= remaining_characters:
            selected.add(fact.id)
            remaining_characters -= len(fact.text)
    kept = [fact for fact in facts if fact.id in selected]
    return [mark_text(fact, fact.text) for fact in kept]


def parse_bullets(answer: str, *, limit: int) -> tuple[str, ...]:
    """Return the distinct bullets of `answer`, at most `limit`; none when it is not made of bullet lines.

    Introductions, headings and code fences are ignored. An indented line continues the bullet above it.
    """
    found: list[str] = []
    for line in answer.splitlines():
        bullet = _BULLET.match(line)
        if bullet:
            found.append(bullet["text"])
        elif found and line[:1].isspace() and line.strip():
            found[-1] = f"{found[-1]} {line.strip()}"
    truncated = (_truncate_line(text.replace("**", "")) for text in found)
    kept = [text for text in truncated if re.search(r"\w", text) and not _EMPTY_BULLET.match(text)]
    return tuple(dict.fromkeys(kept))[:limit]


def rank_facts(facts: Sequence[Fact]) -> list[Fact]:
    """Return facts (given with the one said last at the end) in the order of their importance.

    Remembered ones come first, then those said last, then those in doubt, and behind all what a model wrote and the
    person has not said.
    """
    newest_first = facts[::-1]
    return sorted(
        newest_first,
        key=lambda fact: (fact.is_unconfirmed, fact.is_in_doubt, fact.source not in REMEMBERED_SOURCES),
    )


def mark_text(fact: Fact, text: str) -> str:
    """Return the words of a fact as a model reads them: with a mark if nobody has said it, or if it is in doubt."""
    mark = UNCONFIRMED_MARK if fact.is_unconfirmed else IN_DOUBT_MARK if fact.is_in_doubt else ""
    return f"{mark} {text}".lstrip()


def fallback_bullets(
    facts: Sequence[Fact], projects: Sequence[str], tell: Callable[[Fact], str] = lambda fact: fact.text
) -> tuple[str, ...]:
    """Return a bullet for each fact and project: remembered facts, projects, and other facts, the newest first.

    Facts in doubt and those that the person has not confirmed come last, marked as such. `tell` words a fact.
    """
    ranked = rank_facts(facts)
    is_first = [
        fact.source in REMEMBERED_SOURCES and not fact.is_unconfirmed and not fact.is_in_doubt for fact in ranked
    ]
    remembered = [tell(fact) for fact, first in zip(ranked, is_first, strict=True) if first]
    others = [mark_text(fact, tell(fact)) for fact, first in zip(ranked, is_first, strict=True) if not first]
    lines = map(_truncate_line, [*remembered, *projects, *others])
    return tuple(dict.fromkeys(line for line in lines if line))


def fit_bullets(bullets: Sequence[str], *, limit: int, tokens: int) -> tuple[str, ...]:
    """Return the first bullets that fit, whole: at most `limit`, in at most `tokens` tokens with their dashes.

    A bullet that is too long is left out, and shorter ones after it are still taken. If not even one fits, the first is
    truncated.
    """
    kept: list[str] = []
    remaining_tokens = tokens
    for text in bullets:
        cost = estimate_tokens(text) + 1
        if len(kept) < limit and cost <= remaining_tokens:
            kept.append(text)
            remaining_tokens -= cost
    return tuple(kept) if kept else tuple(_truncate_to_tokens(text, tokens - 1) for text in bullets[:1])


def _truncate_line(text: str) -> str:
    """Return the text as one line of at most `MAX_BULLET_CHARACTERS`."""
    line = " ".join(text.split())
    return line if len(line) <= MAX_BULLET_CHARACTERS else line[: MAX_BULLET_CHARACTERS - 1].rstrip() + "…"


def _truncate_to_tokens(text: str, tokens: int) -> str:
    while estimate_tokens(text) > tokens:
        text = text[: len(text) * 3 // 4].rstrip("…") + "…"
    return text
