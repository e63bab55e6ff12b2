"""How connections are shared: the queue of SQLite's writers, the pool of a server, conflicts between transactions."""
