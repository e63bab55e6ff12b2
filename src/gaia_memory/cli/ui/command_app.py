"""Groups of commands whose help shows a value only where an option takes one."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

CommandFunction = TypeVar("CommandFunction", bound=Callable[..., Any])

_VALUE_NAMES: dict[Any, str] = {int: "NUMBER", float: "NUMBER", Path: "PATH"}


class PlainCommand(TyperCommand):
    """A command whose options are shown with `NUMBER`, `PATH` or `TEXT`, and flags with nothing."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, with names for their values."""
        return _name_values(super().get_params(ctx))


class PlainGroup(TyperGroup):
    """A group with the same rule, which answers an unknown command with those that may be meant."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command; Typer names those with a similar name if it is unknown, and this one all others."""
        name = args[0]
        is_option = name.startswith("-")
        if not (is_option or ctx.resilient_parsing or difflib.get_close_matches(name, self.commands)):
            ctx.fail(f"No such command {name!r}{self.describe_choices(name)}")
        return super().resolve_command(ctx, args)

    def describe_choices(self, name: str) -> str:
        """Return the end of a message about an unknown command: where one of this name is, or all commands."""
        inner = [group for group, each in self.commands.items() if name in getattr(each, "commands", {})]
        if inner:
            return f". Did you mean {', '.join(repr(f'{group} {name}') for group in inner)}?"
        return f": choose from {', '.join(self.commands)}"

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, with names for their values."""
        return _name_values(super().get_params(ctx))


class CommandApp(typer.Typer):
    """A Typer application of plain commands."""

    def __init__(self, *, cls: type[TyperGroup] = PlainGroup, **options: Any) -> None:
        super().__init__(cls=cls, **options)

    def command(
        self, name: str | None = None, *, cls: type[TyperCommand] | None = PlainCommand, **options: Any
    ) -> Callable[[CommandFunction], CommandFunction]:
        """Register a function as a command."""
        return super().command(name, cls=cls, **options)


def _name_values(parameters: Sequence[Any]) -> list[Any]:
    for parameter in parameters:
        if not hasattr(parameter, "type_descriptor"):
            # Earlier versions of Typer show no type for a flag.
            continue
        if isinstance(parameter, TyperOption) and parameter.metavar is None:
            value_type = parameter.type_descriptor.annotation
            parameter.metavar = "" if parameter.is_flag else _VALUE_NAMES.get(value_type, "TEXT")
        elif isinstance(parameter, TyperArgument):
            # Typer has no setting for it, and the name of an argument says what it is.
            parameter.display_type_rich = _no_type  # type: ignore[method-assign]
    return list(parameters)


def _no_type(ctx: Any) -> None:
    return None
