"""Every error gaia-memory raises, in one tree.

GaiaMemoryError
├── ConfigError                 gaia.yaml, the environment or an argument is wrong; lists every problem at once
│   └── SecretInConfigError     the file contains a secret; names the environment variable to use
├── InvalidInputError           an argument of a public call is wrong (also a ValueError)
├── InsideTurnError             a tool sent a message into the conversation whose turn is running it
├── MemoryUnavailable           memory cannot answer now; says why and what to do
│   ├── MemoryDisabledError     `memory.enabled` is false
│   ├── MemoryClosedError       `open_memory` has ended
│   ├── StoreStalledError       the mem0 store makes no progress; names its owner
│   └── UnusableStoreError      the mem0 store is not ours to use; names key, value and fix
├── ModelError                  the language model or the embedder gave no usable answer
│   ├── ModelUnavailableError   unreachable, time-out, 429, 5xx: retried later, never parked
│   │   └── VectorsLaterError   a write does not wait for its vectors
│   ├── ContextSizeError        the question does not fit into the model's context: retried later, never parked
│   └── BadAnswerError          the answer does not have the requested form
│       ├── CutAnswerError       the answer was cut off: a shorter question may get a whole one
│       └── RefusedRequestError  the model's server refused the request; asking again does not help
└── LedgerError                 the ledger refused a step
    └── LeaseLostError          another process took the conversation over; nothing was written

Each message says what happened, shows the value and ends in the fix.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


class GaiaMemoryError(Exception):
    """The base class of every error that this package raises on purpose."""

    is_logged = False
    """True once the error is in the log, so that each part of a Runner does not log the same failure to open memory."""


class ConfigError(GaiaMemoryError):
    """The configuration is invalid.

    `problems` lists one line for each invalid key.
    """

    def __init__(self, problems: Sequence[str], *, source: str = "the configuration") -> None:
        """Join the problems into one message that names the source."""
        self.problems = tuple(problems)
        self.source = source
        super().__init__(f"{source} is not usable:\n" + "\n".join(f"  - {line}" for line in self.problems))

    def found_in(self, source: str) -> ConfigError:
        """Return the same error with another source."""
        return type(self)(self.problems, source=source)


class SecretInConfigError(ConfigError):
    """The file contains a secret; secrets come from the environment only."""


class InvalidInputError(GaiaMemoryError, ValueError):
    """An argument of a public call is invalid; the message names it, its value and the fix.

    `hint` is the message without the value, empty if there is none.
    """

    def __init__(self, message: str, *, hint: str = "") -> None:
        """Take the message, and what of it may be shown to somebody else than the caller."""
        self.hint = hint
        super().__init__(message)


class InsideTurnError(GaiaMemoryError):
    """A tool sent a message into the conversation whose turn is running it, which would deadlock."""

    def __init__(self, session: str) -> None:
        """Name the session and the alternatives."""
        super().__init__(
            f"a tool sent a message to {session!r}, the session whose turn is running it: the message would wait for "
            "that turn for ever. Return the text from the tool, send the message after the turn, or use another channel"
        )


class MemoryUnavailable(GaiaMemoryError):  # noqa: N818 - a public name that callers read as a state
    """Memory cannot answer now: `reason` says why, `remedy` how to fix it."""

    def __init__(self, reason: str, *, remedy: str = "") -> None:
        """Keep reason and remedy apart, so that `status` can show both."""
        self.reason = reason
        self.remedy = remedy
        super().__init__(f"{reason}: {remedy}" if remedy else reason)


class MemoryDisabledError(MemoryUnavailable):
    """Memory is off in the configuration."""

    def __init__(self) -> None:
        """Name the configuration key."""
        super().__init__("memory is off", remedy="set `memory.enabled: true` in gaia.yaml")


class MemoryClosedError(MemoryUnavailable):
    """Memory was used after the block of `open_memory` had ended."""

    def __init__(self) -> None:
        """Say how to open memory again."""
        super().__init__("memory is closed", remedy="open it again with open_memory()")


class StoreStalledError(MemoryUnavailable):
    """The mem0 store made no progress for too long."""


class UnusableStoreError(MemoryUnavailable):
    """The mem0 store cannot be used as it is configured: another attempt fails in the same way. Nothing is changed."""


class ModelError(GaiaMemoryError):
    """A model gave no usable answer.

    `quote` is the end of the message: the provider's own words, which may repeat what a user said.
    """

    def __init__(self, message: str, *, quote: str = "") -> None:
        """Describe the failure in `message`; append the provider's words."""
        self.quote = quote
        super().__init__(message + quote)

    def drop_quote(self) -> None:
        """Remove the provider's words from the message."""
        self.args = (str(self).removesuffix(self.quote), *self.args[1:])
        self.quote = ""


class ModelUnavailableError(ModelError):
    """The model is unreachable, timed out or is overloaded (429, 5xx).

    `retry_after` is the delay in seconds that the provider asks for, if any.
    """

    def __init__(self, message: str, *, quote: str = "", retry_after: float | None = None) -> None:
        """Describe the failure; `retry_after` is in seconds."""
        self.retry_after = retry_after
        super().__init__(message, quote=quote)


class VectorsLaterError(ModelUnavailableError):
    """A write should not wait for its vectors: they are made in the background."""


class ContextSizeError(ModelError):
    """The question is longer than the model's context; only a larger context or a shorter question helps."""


class BadAnswerError(ModelError):
    """The model's answer is blank, blocked, truncated or not in the requested form."""


class CutAnswerError(BadAnswerError):
    """The answer ended at the limit of tokens or facts, before it was complete."""


class RefusedRequestError(BadAnswerError):
    """The model's server refused the request for its content (400, 413, 422)."""


class LedgerError(GaiaMemoryError):
    """The ledger refused a step."""


class LeaseLostError(LedgerError):
    """The lease, the watermark or `forgotten_at` changed after it was read; nothing was written."""
