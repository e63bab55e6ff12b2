"""Each condition that keeps people apart, taken out alone, is noticed by what the fuzz checks."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from gaia_memory.facts import delete_facts, provenance, sql_facts, tombstones, write_facts
from gaia_memory.facts.identity import paraphrase_tombstones
from gaia_memory.facts.indexing import keyword_index
from support.concurrency.isolation_fuzz import LeakError
from support.concurrency.isolation_process import (
    check_plain_mem0,
    fuzz_settings,
    open_fuzz_memory,
    run_workers,
    seed_facts,
)
from support.oracles.mutants import Mutant

OPERATIONS = 4_000
FACTS, LEDGER = "gaia_memory.facts", "gaia_memory.ledger"
BORDER = "facts.c.partition == scope.partition"
NO_BORDER = 'facts.c.partition != ""'


def border(module: str, function: str, nth: int = 0, table: str = "facts") -> Mutant:
    old = BORDER.replace("facts", table)
    return Mutant(f"{FACTS}.{module}", function, old, NO_BORDER.replace("facts", table), nth)


def partition(new: str) -> Mutant:
    return Mutant("gaia_memory.models.scope", "Scope.partition", "return joined", f"return {new}")


BORDERS = [
    border("sql_facts", "SqlFacts.facts"),
    border("sql_facts", "SqlFacts.count"),
    border("sql_facts", "SqlFacts.vectors"),
    border("sql_facts", "SqlFacts.cached_profile", table="profiles"),
    border("write_facts", "_load_rows"),
    border("provenance", "ProvenanceMixin.sources"),
    border("provenance", "ProvenanceMixin.origins"),
    border("provenance", "ProvenanceMixin.sourced_only_from"),
    border("provenance", "ProvenanceMixin.drop_source"),
    border("delete_facts", "FactDeletionMixin.delete"),
    border("delete_facts", "FactDeletionMixin.delete", table="profiles"),
    border("delete_facts", "FactDeletionMixin.delete_all"),
    border("tombstones", "TombstoneMixin.add_tombstones"),
    Mutant(
        f"{FACTS}.delete_facts",
        "FactDeletionMixin.delete_all",
        "table.c.partition == scope.partition",
        'table.c.partition != ""',
    ),
]
BEHIND_THE_SALT = 6
"""Conditions on tombstones and forgotten words: without them nothing changes, because another scope's hashes have
another salt."""

OF_MERGING = 2
"""Conditions on the tombstones and forgotten words that a merge moves; the tests of merging hold them."""

OF_FORGETTING_ALL = 1
"""The condition on forgotten words when a scope is deleted; see `contract/test_paraphrase_tombstones.py`."""

OF_FINDING = 7
"""Conditions on facts found by date, in memory, next to another fact or by a filter: these are looked up again within
the scope; see `contract/test_date_search.py`, `contract/test_column_cache.py` and `contract/test_fact_store.py`."""

OTHERS = [
    Mutant(
        f"{FACTS}.sql_facts",
        "SqlFacts.get",
        "_SELECT_BY_IDS",
        'select(*FACT_COLUMNS).where(facts.c.id.in_(bindparam("ids", expanding=True)))',
    ),
    Mutant(f"{LEDGER}.queries", "ConversationQueryMixin.pending", "if user is not None", "if False"),
    Mutant(f"{LEDGER}.queries", "ConversationQueryMixin.pending", "if app is not None", "if False"),
    Mutant("gaia_memory.backend.mem0_store.payload", "build_payload", ".scope.partition", ".scope.app"),
    partition("joined.casefold()"),
    partition("joined.replace('%20', '')"),
    partition("joined.replace('%3A', ':')"),
    partition("_percent_encode(__import__('unicodedata').normalize('NFKC', f'{self.app}:{self.user}'))"),
]


def test_every_border_is_tried() -> None:
    """A condition on the partition of a new statement has to be listed here."""
    sources = [
        inspect.getsource(module)
        for module in (
            delete_facts,
            keyword_index,
            paraphrase_tombstones,
            provenance,
            sql_facts,
            tombstones,
            write_facts,
        )
    ]
    conditions = sum(source.count(".c.partition == scope.partition") for source in sources)

    assert conditions == len(BORDERS) + BEHIND_THE_SALT + OF_MERGING + OF_FORGETTING_ALL + OF_FINDING


async def fuzzed(folder: Path) -> None:
    """Let everybody act, one after the other, and look at the store."""
    settings = fuzz_settings(folder / "home", None)
    async with open_fuzz_memory(settings) as (gaia, _):
        ids = await seed_facts(gaia)
        await run_workers(settings, ids, OPERATIONS)
        await check_plain_mem0(gaia)


async def leaks(folder: Path) -> bool:
    """Say whether somebody is seen to be shown, or to have changed, what is another's."""
    seen = False
    try:
        await fuzzed(folder)
    except* LeakError:
        seen = True
    return seen


@pytest.mark.slow
@pytest.mark.parametrize("mutant", BORDERS + OTHERS, ids=str)
async def test_without_the_condition_a_leak_is_seen(mutant: Mutant, tmp_path: Path) -> None:
    """So none of them is there for nothing, and what holds for the whole is seen to hold."""
    with mutant.applied():
        assert await leaks(tmp_path)


@pytest.mark.parametrize("mutant", [BORDERS[0], BORDERS[11], OTHERS[0]], ids=str)
async def test_without_one_of_the_conditions_a_leak_is_seen(mutant: Mutant, tmp_path: Path) -> None:
    """Listing, deleting and what waits: a sample of those of the slow tier."""
    with mutant.applied():
        assert await leaks(tmp_path)


@pytest.mark.slow
async def test_with_all_conditions_it_does_not(tmp_path: Path) -> None:
    """Else it would prove nothing."""
    await fuzzed(tmp_path)
