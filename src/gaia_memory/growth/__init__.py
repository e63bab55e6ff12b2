"""How people use their agents, in counts, and the facts that a model proposes from them."""

USAGE_DAYS = 7
"""How many days a digest counts, if nobody says otherwise."""

MAX_USAGE_DAYS = 3_650
