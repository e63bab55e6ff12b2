"""`python -m gaia_memory.cli` is `gaia`."""

from gaia_memory.cli import main

main()
