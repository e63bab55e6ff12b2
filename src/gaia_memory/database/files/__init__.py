"""Whole SQLite files: whether they are intact, copied, locked, replaced and salvaged."""
