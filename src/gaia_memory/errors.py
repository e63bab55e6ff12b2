"""Every error gaia-memory raises, in one tree.

GaiaMemoryError
├── ConfigError                 gaia.yaml, the environment or an argument is wrong; lists every problem at once
│   └── SecretInConfigError     a key-like entry stands in the file; names the environment variable
├── InvalidInputError           an argument of a public call is wrong (also a ValueError)
├── InsideTurnError             a message was sent from within the turn that it would have to wait for
├── MemoryUnavailable           memory cannot answer now; says why and what to do
│   ├── MemoryDisabledError     `memory.enabled` is false
│   ├── MemoryClosedError       `open_memory` has ended
│   ├── StoreNotOwnedError      another process owns the mem0 store; names its process id
│   └── StoreStalledError       the mem0 store made no progress; names its owner
├── ModelError                  the language model or the embedder did not give a usable answer
│   ├── ModelUnavailableError   unreachable, time-out, 429, 5xx: worth a later try, never parks
│   └── BadAnswerError          it answered, and the answer is not what was asked for
└── LedgerError
    └── LeaseLostError          somebody else took the conversation over; nothing was written

Each message says what happened, the value in question, and what to do about it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


class GaiaMemoryError(Exception):
    """The root: catching it catches everything this package raises on purpose."""

    is_logged = False
    """True where the log names it already: memory could not be opened, and every part of a Runner meets that."""


class ConfigError(GaiaMemoryError):
    """The configuration is refused.

    `problems` holds one line for each key that is wrong, in the order of the file.
    """

    def __init__(self, problems: Sequence[str], *, source: str = "the configuration") -> None:
        """Join `problems` into one message that names `source`."""
        self.problems = tuple(problems)
        self.source = source
        super().__init__(f"{source} is not usable:\n" + "\n".join(f"  - {line}" for line in self.problems))

    def found_in(self, source: str) -> ConfigError:
        """Return the same refusal, of this source."""
        return type(self)(self.problems, source=source)


class SecretInConfigError(ConfigError):
    """A key-like entry stands in the file: secrets come from the environment only."""


class InvalidInputError(GaiaMemoryError, ValueError):
    """An argument of a public call is wrong; the message names it, its value and the fix."""


class InsideTurnError(GaiaMemoryError):
    """A tool sent a message into the conversation whose turn called it: each would wait for the other for ever."""

    def __init__(self, session: str) -> None:
        """Name the conversation and say what a tool may do instead."""
        super().__init__(
            f"a message for {session!r} was sent from a tool of a turn in it, which it would have to wait for: "
            "return from the tool what the agent should know, send the message once the turn has ended, or send it to "
            "another channel"
        )


class MemoryUnavailable(GaiaMemoryError):  # noqa: N818 - a public name that callers read as a state
    """Memory cannot answer now.

    `reason` says why, `remedy` what to do about it.
    """

    def __init__(self, reason: str, *, remedy: str = "") -> None:
        """Keep `reason` and `remedy` apart, so that `status` can show both."""
        self.reason = reason
        self.remedy = remedy
        super().__init__(f"{reason}: {remedy}" if remedy else reason)


class MemoryDisabledError(MemoryUnavailable):
    """Memory is switched off in the configuration."""

    def __init__(self) -> None:
        """Name the key that switches memory on."""
        super().__init__("memory is off", remedy="set `memory.enabled: true` in gaia.yaml")


class MemoryClosedError(MemoryUnavailable):
    """Memory was used after `open_memory` had ended."""

    def __init__(self) -> None:
        """Say how to go on."""
        super().__init__("memory is closed", remedy="open it again with open_memory()")


class StoreNotOwnedError(MemoryUnavailable):
    """Another process owns the mem0 store, or it is not open yet in this one."""


class StoreStalledError(MemoryUnavailable):
    """The mem0 store made no progress for too long."""


class ModelError(GaiaMemoryError):
    """A model did not give a usable answer.

    `quote` is the end of the message: the provider's own words, which may repeat what somebody said.
    """

    def __init__(self, message: str, *, quote: str = "") -> None:
        """Say what happened in words of ours, and `quote` the provider."""
        self.quote = quote
        super().__init__(message + quote)

    def drop_quote(self) -> None:
        """Take the provider's words out of the message."""
        self.args = (str(self).removesuffix(self.quote), *self.args[1:])
        self.quote = ""


class ModelUnavailableError(ModelError):
    """The model could not be reached, timed out, or refused for load (429, 5xx).

    `retry_after` are the seconds after which the provider wants to be asked again, where it names them.
    """

    def __init__(self, message: str, *, quote: str = "", retry_after: float | None = None) -> None:
        """Say what happened, and when asking again makes sense if that is known."""
        self.retry_after = retry_after
        super().__init__(message, quote=quote)


class BadAnswerError(ModelError):
    """The model answered, and the answer is blank, blocked, cut or not of the form asked for."""


class LedgerError(GaiaMemoryError):
    """The ledger refused a step."""


class LeaseLostError(LedgerError):
    """The lease, the watermark or `forgotten_at` changed since it was read: nothing was written."""
