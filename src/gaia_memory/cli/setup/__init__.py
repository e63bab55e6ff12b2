"""What `gaia init` writes into a folder of agents, and what it says to do with it."""
