"""`gaia memory export` and `gaia memory import`: a person's memory as a file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from gaia_memory.cli.engines import (
    AppOption,
    ConfigOption,
    JsonOption,
    UserOption,
    engine_without_background,
    load_config,
    print_other_apps,
    run_async,
)
from gaia_memory.cli.ui.fact_output import print_json, to_json_text
from gaia_memory.cli.ui.read_input import read_text
from gaia_memory.cli.ui.terminal import ProgressCallback, pluralize, print_line, print_note, progress_bar
from gaia_memory.errors import InvalidInputError

if TYPE_CHECKING:
    from gaia_memory.config.sources.load import LoadedConfig
    from gaia_memory.models import Vector
    from gaia_memory.ports import Embedder

EXPORT_EXAMPLES = """
Examples:

`gaia memory export --user itay --output itay.json` writes a file that only you may read.

`gaia memory export --user itay | jq '.facts | length'` writes to standard output.
"""
IMPORT_EXAMPLES = """
Examples:

`gaia memory import --user itay itay.json` takes in what an export wrote; a second time it adds nothing.

`gaia memory export -u itay -c old.yaml | gaia memory import -u itay -c new.yaml -` moves a person to another home.
"""


def export(
    user: UserOption,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A file for it, readable by you alone; else standard output.")
    ] = None,
    app_name: AppOption = None,
    config: ConfigOption = None,
) -> None:
    """Print everything that is held about a person as JSON: facts with their sources, profile, waiting conversations.

    Works while memory is off.
    """
    loaded = load_config(config)
    if output is None or str(output) == "-":
        print_json(run_async(_export(loaded, user, app_name)))
        return
    from gaia_memory.cli.ui.output_files import require_no_database, write_file

    require_no_database(output.expanduser())
    data = run_async(_export(loaded, user, app_name))
    write_file(output.expanduser(), to_json_text(data) + "\n", mode=0o600)
    print_note(f"{pluralize(len(data['facts']), 'fact')} about {user} written to {output}")


async def _export(loaded: LoadedConfig, user: str, app_name: str | None) -> dict[str, Any]:
    async with engine_without_background(loaded, allow_disabled=True) as engine:
        scope = engine.scope(app_name or engine.config.app, user)
        data = await engine.memory.export(scope)
        if not data["facts"]:
            await print_other_apps(engine, scope)
        return data


def import_(
    user: UserOption,
    file: Annotated[Path, typer.Argument(help="What an export wrote; `-` is standard input.", show_default=False)],
    restore_forgotten: Annotated[
        bool, typer.Option("--restore-forgotten", help="Take in also what this person had forgotten.")
    ] = False,
    app_name: AppOption = None,
    as_json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Take in what an export wrote about a person, this one or another: all of it or, when a part is wrong, nothing.

    What is there already stays as it is. What was forgotten here stays forgotten. A fact keeps its times and sources.
    The profile is made anew; conversations that waited to be learned are not taken in.
    """
    loaded = load_config(config)
    source_name = "standard input" if str(file) == "-" else str(file)
    data = _read_export(file, source_name)
    try:
        imported, added, total = run_async(_import(loaded, user, app_name, data, restore_forgotten=restore_forgotten))
    except InvalidInputError as error:
        raise InvalidInputError(f"{source_name}: {error}") from error
    given_count = len(data["facts"])
    if as_json:
        print_json({"user": user, "given": given_count, "taken": imported, "added": added, "total": total})
        return
    omitted_note = (
        f", {pluralize(given_count - imported, 'fact')} left out as forgotten or given twice"
        if imported < given_count
        else ""
    )
    known = imported - added
    known_note = f" ({known} of them {'was' if known == 1 else 'were'} known already)" if known else ""
    print_line(
        f"{pluralize(imported, 'fact')} taken in{known_note}{omitted_note}; "
        f"{pluralize(total, 'fact')} about {user} now."
    )


def _read_export(file: Path, source_name: str) -> Mapping[str, Any]:
    """Return the data of a file as JSON has it.

    Raises:
        typer.BadParameter: it cannot be read, or is no JSON object.
    """
    text = read_text(file, hint="FILE")
    try:
        data = json.loads(text)
    except ValueError as error:
        # Python's own words quote nothing of the text, and say where it breaks.
        raise typer.BadParameter(f"{source_name} is no JSON: {error}", param_hint="FILE") from error
    except RecursionError as error:
        raise typer.BadParameter(f"{source_name} is no export: it lies too deep", param_hint="FILE") from error
    if not isinstance(data, dict):
        raise typer.BadParameter(f"{source_name} is no export: pass what `gaia memory export` wrote", param_hint="FILE")
    return data


async def _import(
    loaded: LoadedConfig, user: str, app_name: str | None, data: Mapping[str, Any], *, restore_forgotten: bool
) -> tuple[int, int, int]:
    """Return how many facts were taken in, how many of them were not known before, and how many there are now."""
    async with engine_without_background(loaded) as engine:
        scope = engine.scope(app_name or engine.config.app, user)
        before = {fact.id for fact in await engine.memory.facts(scope)}
        listed = data.get("facts")
        with progress_bar("Taking in facts") as advance:
            total = len(listed) if isinstance(listed, list) else 0
            embedder = _ProgressEmbedder(engine.memory.embedder, advance, total)
            memory = replace(engine.memory, embedder=embedder)
            imported = await memory.import_(scope, data, restore_forgotten=restore_forgotten)
        _note_other_person(data, user)
        current = await engine.memory.facts(scope)
        # Somebody else may learn meanwhile.
        given_texts = {fact["text"] for fact in data["facts"]}
        added = sum(fact.id not in before and fact.text in given_texts for fact in current)
        return imported, min(added, imported), len(current)


def _note_other_person(data: Mapping[str, Any], user: str) -> None:
    scope_data = data.get("scope")
    other = scope_data.get("user") if isinstance(scope_data, Mapping) else None
    if isinstance(other, str) and other != user:
        print_note(f"the file is about {other}: its facts were taken in as facts about {user}")


@dataclass
class _ProgressEmbedder:
    """An embedder that tells a progress bar how far it is."""

    inner: Embedder
    advance: ProgressCallback
    total: int
    done: int = 0

    @property
    def identity(self) -> str:
        """What the vectors are made by."""
        return self.inner.identity

    async def embed(self, texts: Sequence[str], *, purpose: Literal["add", "search"]) -> list[Vector]:
        """Return the vectors, and count them."""
        vectors = await self.inner.embed(texts, purpose=purpose)
        self.done += len(texts)
        self.advance(self.done, self.total)
        return vectors
