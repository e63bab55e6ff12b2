"""`gaia init`: the files it writes into a folder of agents, and the commands it prints."""
