"""`gaia memory reindex`: index the words of facts again, and their vectors."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from gaia_memory.cli.engines import ConfigOption, JsonOption, open_engine
from gaia_memory.cli.ui.fact_output import print_json
from gaia_memory.cli.ui.terminal import pluralize, print_error, print_line, print_note, progress_bar
from gaia_memory.errors import ModelError

EXAMPLES = """
Examples:

`gaia memory reindex` uses the embedder of gaia.yaml and the word index of this version for every fact.

`gaia memory reindex --json | jq .embedded` prints how many facts got a new vector.
"""


async def reindex(
    anew: Annotated[
        bool,
        typer.Option("--anew", help="Index the words of every fact, not only those of another version."),
    ] = False,
    as_json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Index the words of facts of another version, and embed facts; run it after a change of `memory.embedder`.

    Facts with a vector of the configured embedder keep it. Memory can be used meanwhile. The next run resumes an
    interrupted one. Exits with 1 if a fact is left without a vector.
    """
    async with open_engine(config) as engine:
        reindexer, model_error = engine.vectors.reindexer(), None
        with progress_bar("Indexing words") as advance:
            await reindexer.rebuild_features(advance, from_scratch=anew)
        embedder = engine.embedder_name
        if engine.config.memory.embedder.provider == "auto":
            print_note(f"`memory.embedder` is auto, which is {embedder} here; set it in gaia.yaml to change it")
        with progress_bar("Embedding facts") as advance:
            try:
                await reindexer.rebuild_vectors(advance)
            except ModelError as error:
                model_error = str(error).rstrip(".")
    report = reindexer.report
    if as_json:
        print_json({**asdict(report), "embedder": embedder, "error": model_error})
    else:
        indexed = f"{pluralize(report.indexed, 'fact')} indexed by words"
        print_line(f"{indexed}; {report.embedded} embedded by {embedder}.")
    if model_error:
        print_error(f"{model_error}: run `gaia memory reindex` again to resume")
    elif report.refused:
        print_error(f"{embedder} refuses {pluralize(report.refused, 'fact')}: they are found by their words alone")
    elif report.left:
        verb = "was" if report.left == 1 else "were"
        print_error(
            f"{pluralize(report.left, 'fact')} {verb} written in the meantime with another embedder or none: restart "
            "the processes that use an older configuration, then run `gaia memory reindex` again"
        )
    if model_error or report.left:
        raise typer.Exit(1)
