"""The ledger: how far each conversation is learned, who is at work on it, whether somebody is talking."""
