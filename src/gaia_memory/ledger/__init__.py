"""The ledger: how far each conversation is learned, who is at work on it, whether somebody is talking."""

from gaia_memory.ledger.ledger import SqlLedger
from gaia_memory.ledger.owner import new_owner, owner_is_gone, retire, this_process

__all__ = ["SqlLedger", "new_owner", "owner_is_gone", "retire", "this_process"]
