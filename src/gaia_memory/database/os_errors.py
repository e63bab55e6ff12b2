"""Errors of the operating system as errors of memory."""

from __future__ import annotations

import errno
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import cached_property, wraps
from inspect import getattr_static, isasyncgenfunction, iscoroutinefunction, isfunction
from typing import Any, TypeVar

from gaia_memory.errors import MemoryUnavailable

_Service = TypeVar("_Service")
_REMEDY = "check the disk and the permissions of the home"
_REMEDIES = dict.fromkeys((errno.EMFILE, errno.ENFILE), "raise the limit of open files (`ulimit -n`)")


@contextmanager
def os_errors_translated() -> Iterator[None]:
    """Raise `MemoryUnavailable` for an `OSError` of the machine.

    Any first use of a module or a file may meet one, such as when no file descriptor is free.
    """
    try:
        yield
    except TimeoutError:
        raise
    except OSError as error:
        reason = f"the operating system refused ({error.strerror or type(error).__name__})"
        raise MemoryUnavailable(reason, remedy=_REMEDIES.get(error.errno or 0, _REMEDY)) from error


def translate_os_errors(service: type[_Service]) -> type[_Service]:
    """Let the public methods and properties of a class raise `MemoryUnavailable` for an `OSError` of the machine.

    Inherited ones do, too. Asynchronous generators are left as they are.
    """
    for name in dir(service):
        if name.startswith("_"):
            continue
        member = getattr_static(service, name)
        if iscoroutinefunction(member):
            setattr(service, name, _awaiting(member))
        elif isfunction(member) and not isasyncgenfunction(member):
            setattr(service, name, os_errors_translated()(member))
        elif isinstance(member, property) and member.fget is not None:
            setattr(service, name, property(os_errors_translated()(member.fget), doc=member.__doc__))
        elif isinstance(member, cached_property):
            member.func = os_errors_translated()(member.func)
    return service


def _awaiting(method: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    @wraps(method)
    async def call(*arguments: Any, **options: Any) -> Any:
        with os_errors_translated():
            return await method(*arguments, **options)

    return call
