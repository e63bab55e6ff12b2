"""What a user is told when the model, a command or memory itself fails."""

APOLOGY = "Sorry, I could not answer that just now. Please try again."
"""The reply when the model fails; it is neither stored in the session nor learned."""

COMMAND_FAILED = "Memory is not available right now. Please try again later."
"""The reply of our own conversations when a slash command fails."""

UNAVAILABLE_ANSWER = "Memory cannot answer right now. Nothing was changed; please try again in a while."
UNAVAILABLE_BECAUSE = "Memory cannot answer right now, and nothing was changed:"
"""The answers to a slash command in another Runner, without and with a reason."""
