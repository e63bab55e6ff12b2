"""Reads conversations held elsewhere: exports of ChatGPT and Claude, lists of messages, plain text."""

from gaia_memory.transfer.transcripts.imported_conversation import ImportedConversation as ImportedConversation
from gaia_memory.transfer.transcripts.imported_conversation import ImportedMessage as ImportedMessage
from gaia_memory.transfer.transcripts.read_conversations import read_conversations as read_conversations
