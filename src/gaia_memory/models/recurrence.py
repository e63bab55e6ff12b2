"""How often a due fact comes back."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from gaia_memory.models.validation import raise_invalid

RECURRENCE_WORDS = ("daily", "weekly", "monthly", "yearly")
"""The intervals with a name of their own."""

_FIX = f"pass one of {', '.join(RECURRENCE_WORDS)}, or a rule of RFC 5545 such as FREQ=WEEKLY;BYDAY=MO"
_FREQUENCY = re.compile(r"(?:^|;)FREQ=(?:DAILY|WEEKLY|MONTHLY|YEARLY)(?:;|$)")
_MAX_RULE_CHARACTERS = 500


def parse_recurrence(name: str, value: object) -> str:
    """Return a recurrence in its stored form: a word in lower case, or an RRULE in upper case without its prefix.

    Raises:
        InvalidInputError: it is neither, or the rule repeats more often than daily.
    """
    if not isinstance(value, str) or len(value) > _MAX_RULE_CHARACTERS:
        raise_invalid(name, value, _FIX)
    if (word := value.strip().lower()) in RECURRENCE_WORDS:
        return word
    rule = value.strip().upper().removeprefix("RRULE:")
    if not _FREQUENCY.search(rule) or not _is_rule(rule):
        raise_invalid(name, value, _FIX)
    return rule


def _is_rule(rule: str) -> bool:
    # Late: only a rule needs it.
    from dateutil.rrule import rrulestr

    # The library would look for the next time of an interval of 0 for ever.
    if any(char.isspace() for char in rule) or re.search(r"INTERVAL=0+(?:;|$)", rule):
        return False
    # The end of a rule is in UTC (`UNTIL=20261231T000000Z`) or in local time, and the start must be alike.
    start = datetime(2000, 1, 1, tzinfo=UTC if re.search(r"UNTIL=\w+Z", rule) else None)
    try:
        rrulestr(rule, dtstart=start)
    except ValueError:
        return False
    return True
