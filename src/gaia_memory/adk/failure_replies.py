"""What a user reads when an answer fails."""

from __future__ import annotations

APOLOGY = "Sorry, I could not answer that just now. Please try again."
"""The reply when the model fails; it is neither stored in the session nor learned."""

COMMAND_FAILED = "Memory is not available right now. Please try again later."
"""The reply when a slash command fails."""
