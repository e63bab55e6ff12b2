"""Asks memory questions whose answers are known, and counts what came back: `gaia eval`."""
