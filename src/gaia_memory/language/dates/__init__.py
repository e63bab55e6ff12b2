"""Reads dates in English, German, French and Spanish: `read(text, now, zone, language)`."""

from gaia_memory.language.dates.mention import Anchor, Bound, DateMention, Frequency, Grain, Recurrence
from gaia_memory.language.dates.reader import read

__all__ = ["Anchor", "Bound", "DateMention", "Frequency", "Grain", "Recurrence", "read"]
