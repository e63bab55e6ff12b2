"""Reads dates in ISO 8601 and plain English: `read_dates(text, now, zone)`, `read_date` for a text that is a date."""

from gaia_memory.language.dates.mention import DateMention
from gaia_memory.language.dates.reader import Direction, read_date, read_dates, read_iso

__all__ = ["DateMention", "Direction", "read_date", "read_dates", "read_iso"]
