"""mem0's calls over the facts of memory: `gaia.mem0` and `gaia.amem0`."""
