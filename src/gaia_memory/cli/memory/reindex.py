"""`gaia memory reindex`: rebuild the keyword index and the vectors."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from gaia_memory.cli.engines import ConfigOption, JsonOption, engine_without_background, load_config, run_async
from gaia_memory.cli.ui.terminal import pluralize, print_error, print_line, print_note, progress_bar

if TYPE_CHECKING:
    from gaia_memory.config.sources.load import LoadedConfig
    from gaia_memory.recall.index.rebuild_index import ReindexReport

EXAMPLES = """
Examples:

`gaia memory reindex` uses the embedder of gaia.yaml and the keyword index of this version for every fact.

`gaia memory reindex --json | jq .embedded` prints how many facts got a new vector.
"""

_RESUME_HINT = "run `gaia memory reindex` again to resume"


def reindex(
    anew: Annotated[
        bool,
        typer.Option("--anew", help="Rebuild the keyword index from scratch instead of resuming an interrupted run."),
    ] = False,
    as_json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Rebuild the keyword index and the vectors of all facts; run it after a change of `memory.embedder`.

    Facts with a vector of the configured embedder keep it. Memory can be used meanwhile. The next run resumes an
    interrupted one. Exits with 1 if a fact is left without a vector.
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
        message = f"{pluralize(report.left, 'fact')} {what} written in the meantime with another embedder or none"
        print_error(
            f"{message}: restart the processes that use an older configuration, then run `gaia memory reindex` again"
        )
    if error_message or report.left:
        raise typer.Exit(1)


async def _reindex(loaded: LoadedConfig, *, from_scratch: bool) -> tuple[ReindexReport, str, str | None]:
    """Return the report, the embedder, and the error of the model."""
    from gaia_memory.errors import ModelError

    async with engine_without_background(loaded) as engine:
        reindexer, error_message = engine.reindexer(), None
        with progress_bar("Indexing words") as advance:
            await reindexer.rebuild_keywords(advance, from_scratch=from_scratch)
        embedder = engine.embedder_name
        if engine.config.memory.embedder.provider == "auto":
            auto_note = f"`memory.embedder` is auto, which is {embedder} here"
            print_note(f"{auto_note}; set it in gaia.yaml to change it")
        with progress_bar("Embedding facts") as advance:
            try:
                await reindexer.rebuild_vectors(advance)
            except ModelError as error:
                error_message = str(error).rstrip(".")
        return reindexer.report, embedder, error_message
