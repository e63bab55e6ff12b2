"""The command `gaia eval`."""
