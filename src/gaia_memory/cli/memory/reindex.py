"""`gaia memory reindex`: the keyword index and the vectors made anew."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from gaia_memory.cli.engines import ConfigOption, JsonOption, load_config, quiet_engine, run
from gaia_memory.cli.ui.terminal import bar, complain, counted, note, say

if TYPE_CHECKING:
    from gaia_memory.config.sources.load import LoadedConfig
    from gaia_memory.reindex import Reindexed

EXAMPLES = """
Examples:

`gaia memory reindex` brings everything to the embedder that gaia.yaml names, and to this version's keyword index.

`gaia memory reindex --json | jq .embedded` prints how many facts got another vector.
"""

_AGAIN = "what was done stays done; run `gaia memory reindex` again to go on from there"


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
    report, embedder, trouble = run(_reindex(load_config(config), anew=anew))
    if as_json:
        from gaia_memory.cli.ui.fact_output import print_json

        print_json({**asdict(report), "embedder": embedder, "error": trouble})
    else:
        before = f" ({report.resumed} more by an earlier run)" if report.resumed else ""
        say(f"{counted(report.indexed, 'fact')} indexed by words{before}; {report.embedded} embedded by {embedder}.")
    if trouble:
        complain(f"{trouble}: {_AGAIN}")
    elif report.refused:
        complain(f"{embedder} refuses {counted(report.refused, 'fact')}: they are found by their words alone")
    elif report.left:
        what = "was" if report.left == 1 else "were"
        says = f"{counted(report.left, 'fact')} {what} written meanwhile with another embedder or none"
        complain(f"{says}: start again what runs on an older configuration, then run `gaia memory reindex` again")
    if trouble or report.left:
        raise typer.Exit(1)


async def _reindex(loaded: LoadedConfig, *, anew: bool) -> tuple[Reindexed, str, str | None]:
    """Return what was done, the embedder, and what it failed at."""
    from gaia_memory.errors import ModelError

    async with quiet_engine(loaded) as engine:
        reindexer, trouble = engine.reindexer(), None
        with bar("Indexing words") as advance:
            await reindexer.words(advance, anew=anew)
        embedder = engine.memory.embedder
        if engine.config.memory.embedder.provider == "auto":
            means = f"`memory.embedder` is auto, which means {embedder.identity} here"
            note(f"{means}; name another one in gaia.yaml to change it")
        with bar("Embedding facts") as advance:
            try:
                await reindexer.vectors(advance)
            except ModelError as error:
                trouble = str(error).rstrip(".")
        return reindexer.report, embedder.identity, trouble
