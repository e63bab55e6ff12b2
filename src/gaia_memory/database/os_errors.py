"""Errors of the operating system as errors of memory."""

from __future__ import annotations

import errno
from collections.abc import Awaitable, Callable
from functools import wraps
from inspect import iscoroutinefunction
from typing import Any, TypeVar

from gaia_memory.errors import MemoryUnavailable

_Service = TypeVar("_Service")
_REMEDY = "check the disk and the permissions of the home"
_REMEDIES = dict.fromkeys((errno.EMFILE, errno.ENFILE), "raise the limit of open files (`ulimit -n`)")


def translate_os_errors(service: type[_Service]) -> type[_Service]:
    """Let the public coroutine methods of a class raise `MemoryUnavailable` for an `OSError` of the machine.

    Any first use of a module or a file may meet one, such as when no file descriptor is free.
    """
    for name, method in list(vars(service).items()):
        if not name.startswith("_") and iscoroutinefunction(method):
            setattr(service, name, _translating(method))
    return service


def _translating(method: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    @wraps(method)
    async def call(*arguments: Any, **options: Any) -> Any:
        try:
            return await method(*arguments, **options)
        except TimeoutError:
            raise
        except OSError as error:
            reason = f"the operating system refused ({error.strerror or type(error).__name__})"
            raise MemoryUnavailable(reason, remedy=_REMEDIES.get(error.errno or 0, _REMEDY)) from error

    return call
