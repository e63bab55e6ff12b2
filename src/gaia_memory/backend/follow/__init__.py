"""Brings the mem0 store to the state of the database: dirty ids in, the same facts out."""
