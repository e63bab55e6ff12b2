"""`gaia memory reindex`: the keyword index and the vectors made anew."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from gaia_memory.cli.engines import ConfigOption, JsonOption, engine_without_background, load_config, run_async
from gaia_memory.cli.ui.terminal import pluralize, print_error, print_line, print_note, progress_bar

if TYPE_CHECKING:
    from gaia_memory.config.sources.load import LoadedConfig
    from gaia_memory.reindex import ReindexReport

EXAMPLES = """
Examples:

`gaia memory reindex` brings everything to the embedder that gaia.yaml names, and to this version's keyword index.

`gaia memory reindex --json | jq .embedded` prints how many facts got another vector.
"""

_RESUME_HINT = "what was done stays done; run `gaia memory reindex` again to go on from there"


def reindex(
    anew: Annotated[
        bool, typer.Option("--anew", help="Begin the keyword index anew, also where an earlier run was cut off.")
    ] = False,
    as_json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Make the keyword index and the vectors of everybody's facts anew; run it after a change of `memory.embedder`.

    Facts that have a vector of the configured embedder keep it. Facts are found all the while, and others may go on
    talking. A run that was cut off is gone on with by the next one. Leaves with 1 when a fact is left without vector.
    """
    report, embedder, error_message = run_async(_reindex(load_config(config), from_scratch=anew))
    if as_json:
        from gaia_memory.cli.ui.fact_output import print_json

        print_json({**asdict(report), "embedder": embedder, "error": error_message})
    else:
        resumed_note = f" ({report.resumed} more by an earlier run)" if report.resumed else ""
        print_line(
            f"{pluralize(report.indexed, 'fact')} indexed by words{resumed_note}; "
            f"{report.embedded} embedded by {embedder}."
        )
    if error_message:
        print_error(f"{error_message}: {_RESUME_HINT}")
    elif report.refused:
        print_error(f"{embedder} refuses {pluralize(report.refused, 'fact')}: they are found by their words alone")
    elif report.left:
        what = "was" if report.left == 1 else "were"
        message = f"{pluralize(report.left, 'fact')} {what} written meanwhile with another embedder or none"
        print_error(f"{message}: start again what runs on an older configuration, then run `gaia memory reindex` again")
    if error_message or report.left:
        raise typer.Exit(1)


async def _reindex(loaded: LoadedConfig, *, from_scratch: bool) -> tuple[ReindexReport, str, str | None]:
    """Return what was done, the embedder, and what it failed at."""
    from gaia_memory.errors import ModelError

    async with engine_without_background(loaded) as engine:
        reindexer, error_message = engine.reindexer(), None
        with progress_bar("Indexing words") as advance:
            await reindexer.rebuild_keywords(advance, from_scratch=from_scratch)
        embedder = engine.memory.embedder
        if engine.config.memory.embedder.provider == "auto":
            auto_note = f"`memory.embedder` is auto, which means {embedder.identity} here"
            print_note(f"{auto_note}; name another one in gaia.yaml to change it")
        with progress_bar("Embedding facts") as advance:
            try:
                await reindexer.rebuild_vectors(advance)
            except ModelError as error:
                error_message = str(error).rstrip(".")
        return reindexer.report, embedder.identity, error_message
