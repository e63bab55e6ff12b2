"""Removing any single condition that separates users is detected by the checks of the fuzz test."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from gaia_memory.facts import due_facts, fact_store, provenance, tombstones, write_facts
from gaia_memory.facts.history import (
    corrections,
    fact_history,
    move_facts,
    past_facts,
    revive_facts,
    timeline,
    validity,
)
from gaia_memory.facts.identity import paraphrase_tombstones, shown_facts
from gaia_memory.facts.reconciling import comparisons, keyed_facts
from gaia_memory.ledger import usage_log
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
    border("fact_store", "FactStore.facts"),
    border("fact_store", "FactStore.count"),
    border("fact_store", "FactStore.vectors"),
    border("fact_store", "FactStore.cached_profile", table="profiles"),
    border("write_facts", "_load_rows"),
    border("provenance", "_is_of_scope"),
    border("provenance", "_is_learned_from", table="table"),
    border("fact_store", "FactStore.delete"),
    border("fact_store", "FactStore.delete", table="profiles"),
    border("fact_store", "FactStore.delete_all"),
    border("tombstones", "Tombstones.add_tombstones"),
    border("fact_store", "FactStore.delete_all", table="profiles"),
]
BEHIND_THE_SALT = 9
"""Conditions on tombstones and forgotten words: without them nothing changes, because another scope's hashes have
another salt and its facts other ids, or a look for hashes is made in vain."""

OF_MERGING = 2
"""Conditions on the tombstones and forgotten words that a merge moves; the tests of merging hold them."""

OF_FORGETTING_ALL = 2
"""The conditions on forgotten words and tombstones when a scope is deleted; see
`contract/test_paraphrase_tombstones.py` and `acceptance/test_growth.py`."""

OF_USAGE = 3
"""The conditions on what turns used, when it is read and forgotten; see `acceptance/test_growth.py`."""

OF_FINDING = 4
"""Conditions on facts found in memory or by a filter: these are looked up again within
the scope; see `contract/test_column_cache.py` and `contract/test_fact_store.py`."""

OF_HISTORY = 3
"""Conditions on past facts and their endings when a scope is deleted; see `contract/test_fact_details.py`."""

OF_COUNTING = 5
"""The conditions on facts whose vectors another embedder made or that wait for theirs, on marked facts, whose texts are
only compared, and on those whose words weigh less in a tombstone, and that on the forgotten words that a restored
backup gets back; see
`contract/test_fact_store.py` and `integration/test_backup_and_restore.py`."""

OF_CACHING = 1
"""The condition on the profiles beside which a new one is kept; `contract/test_fact_store.py` has another person's."""

OF_COPIES = 2
"""Conditions on copies in other scopes; `integration/forgetting/test_copies.py` has a mutant of each."""

OF_SHOWING = 3
"""Conditions on short ids and on facts that a conversation was shown; `contract/test_shown_facts.py` tests them with
another person's."""

OF_ENDINGS = 36
"""Conditions on the endings and wordings of facts; `contract/test_history.py` tests them with another person's."""

OF_COMPARING = 15
"""Conditions on facts that wait to be compared, on pairs and leases; `contract/test_undecided_facts.py` tests them with
another person's."""

OF_VALIDITY = 4
"""Conditions on what a prompt depends on: expired facts, the last ending, whether there are facts, what is due;
`contract/test_validity_of_facts.py` tests it with another person's."""

OF_PAST_READING = 12
"""Conditions on what is read as of another time; `contract/test_facts_as_of.py` and `acceptance/test_validity.py` test
them with another person's."""
OF_KEYS = 5
"""Conditions on facts with a key; `contract/test_keyed_facts.py` has another person's."""

OF_MOVING_IN = 1
"""The condition on rows that have moved in; `integration/cli/test_import_from_mem0.py` moves in two people."""

OF_OVERVIEW = 7
"""Conditions on counts, days and changes; `contract/test_fact_overview.py` tests them with another person's."""

OF_DUE_FACTS = 1
"""The condition on facts that are due; `integration/engine/test_due.py` has its mutant."""

OTHERS = [
    Mutant(
        f"{FACTS}.fact_store",
        "FactStore.get",
        "_SELECT_BY_IDS",
        'select(*FACT_COLUMNS).where(facts.c.id.in_(bindparam("ids", expanding=True)))',
    ),
    Mutant(f"{LEDGER}.ledger", "Ledger.pending", "if user is not None", "if False"),
    Mutant(f"{LEDGER}.ledger", "Ledger.pending", "if app is not None", "if False"),
    Mutant("gaia_memory.backend.mem0_store.payload", "build_payload", ".scope.mem0_user_id", ".scope.app"),
    partition("joined.casefold()"),
    partition("joined.replace('%20', '')"),
    partition("joined.replace('%3A', ':')"),
    partition("_percent_encode(__import__('unicodedata').normalize('NFKC', f'{self.app}:{self.user}'))"),
]


def test_every_partition_condition_has_a_mutant() -> None:
    """A partition condition in a new statement has to be listed here."""
    sources = [
        inspect.getsource(module)
        for module in (
            comparisons,
            corrections,
            due_facts,
            fact_history,
            fact_store,
            keyed_facts,
            move_facts,
            paraphrase_tombstones,
            past_facts,
            provenance,
            revive_facts,
            shown_facts,
            timeline,
            tombstones,
            usage_log,
            validity,
            write_facts,
        )
    ]
    # Statements that are built once take the partition as a parameter.
    value = r'(?:scope\.partition|_PARTITION|bindparam\("its_partition"\))'
    condition = re.compile(rf'\.c\.(partition|origin_scope)(?:\.concat\(""\))? [!=]= {value}')
    conditions = sum(len(condition.findall(source)) for source in sources)

    elsewhere = BEHIND_THE_SALT + OF_MERGING + OF_FORGETTING_ALL + OF_FINDING + OF_HISTORY
    elsewhere += (
        OF_EXCERPTS + OF_COUNTING + OF_COPIES + OF_CACHING + OF_ENDINGS + OF_SHOWING + OF_DUE_FACTS + OF_OVERVIEW
    )
    elsewhere += OF_COMPARING + OF_VALIDITY + OF_PAST_READING + OF_KEYS + OF_MOVING_IN + OF_USAGE
    assert conditions == len(BORDERS) + elsewhere


async def fuzzed(folder: Path) -> None:
    """Run all users' operations, one after the other, and check the store."""
    settings = fuzz_settings(folder / "home", None)
    async with open_fuzz_memory(settings) as (gaia, _):
        ids = await seed_facts(gaia)
        await run_workers(settings, ids, OPERATIONS)
        await check_plain_mem0(gaia)


async def leaks(folder: Path) -> bool:
    """Say whether a user is shown, or has changed, another user's data."""
    seen = False
    try:
        await fuzzed(folder)
    except* LeakError:
        seen = True
    return seen


@pytest.mark.slow
@pytest.mark.parametrize("mutant", BORDERS + OTHERS, ids=str)
async def test_removing_a_condition_causes_a_detected_leak(mutant: Mutant, tmp_path: Path) -> None:
    """So none of the conditions is redundant, and the checks cover all of them."""
    with mutant.applied():
        assert await leaks(tmp_path)


@pytest.mark.slow
async def test_with_all_conditions_there_is_no_leak(tmp_path: Path) -> None:
    """Otherwise the mutants would prove nothing."""
    await fuzzed(tmp_path)


OF_EXCERPTS = 3
"""Conditions of `clear_excerpts`, which `contract/test_excerpts.py` tests with another person's excerpts."""
