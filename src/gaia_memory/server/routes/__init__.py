"""The routes of the REST interface; each asks `Memory`, `Engine` or `Gaia` and adds nothing of its own."""
