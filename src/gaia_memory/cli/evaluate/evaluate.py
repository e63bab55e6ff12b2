"""`gaia eval`: how well memory answers questions whose answers are known."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from gaia_memory.cli.engines import ConfigOption, JsonOption, load_config, open_engine
from gaia_memory.cli.ui.fact_output import print_json, print_rows
from gaia_memory.cli.ui.read_input import display_name, read_text
from gaia_memory.cli.ui.terminal import pluralize, print_error, print_line, print_note, progress_bar
from gaia_memory.errors import InvalidInputError
from gaia_memory.threads import run_in_thread

EXAMPLES = """
Examples:

`gaia eval questions.yaml` stores the facts of the file in a temporary home, and asks its questions.

`gaia eval questions.jsonl --user ada` asks about the facts of a user, in your home.

`gaia eval talks.yaml --against mem0` learns the talks of the file by your model, and asks plain mem0, too.
"""


async def evaluate_file(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="YAML, or JSON Lines (.jsonl); `-` is YAML.", show_default=False)
    ],
    user: Annotated[str | None, typer.Option("--user", "-u", help="Ask about this user of your home.")] = None,
    against: Annotated[
        Literal["mem0"] | None, typer.Option("--against", help="Ask plain mem0 about the same facts, too.")
    ] = None,
    as_json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Ask questions whose answers are known, and count what comes back.

    The file has `questions` (`ask` with `expect` or `nothing: true`), and `facts` or `talks`, which go into a temporary
    home. Talks are learned by the configured model first. Exits with 1 if a conversation could not be learned.
    """
    from gaia_memory.evaluation.asked_systems import evaluate, open_temporary
    from gaia_memory.evaluation.question_file import read_questions

    try:
        text = await run_in_thread(read_text, file, hint="FILE")
        questions = read_questions(text, is_jsonl=file.suffix == ".jsonl", user=user)
    except InvalidInputError as error:
        raise InvalidInputError(f"{display_name(file)}: {error}") from error
    loaded = await run_in_thread(load_config, config)
    is_temporary = questions.user is None
    async with open_temporary(loaded.config) if is_temporary else open_engine(config, needs_home=True) as engine:
        report = await evaluate(engine, questions, progress_bar, with_mem0=against is not None)
    if as_json:
        print_json(report)
    else:
        _print(report)
    if report["missing"]:
        print_note(f"warning: answers are without {', '.join(report['missing'])}: see `gaia doctor`")
    failed = report["learned"]["failed"] if report["learned"] else []
    for failure in failed:
        print_error(f"not learned: {failure}")
    if failed:
        raise typer.Exit(1)


def _print(report: Mapping[str, Any]) -> None:
    systems, learned = report["systems"], report["learned"]
    rows = [[name, *(_cell(name, each[name]) for each in systems.values())] for name in systems["gaia"]]
    print_rows(("", *systems), [row for row in rows if any(row[1:])])
    for system, wrong in report["wrong"].items():
        print_line(f"{system} was wrong about {pluralize(len(wrong), 'question')}{':' if wrong else '.'}")
        shown = [(each["question"], ", ".join(each["expected"]), each["place"], each["first"]) for each in wrong]
        if shown:
            print_rows(
                ("question", "expected", "came at", "first was"), [[str(cell or "-") for cell in row] for row in shown]
            )
    if learned:
        kept = f"{learned['kept']} of {learned['true']} true facts were kept"
        others = f"{learned['outdated']} are outdated, {len(learned['invented'])} invented"
        print_line(f"Of the talks {kept}; of {pluralize(learned['facts'], 'current fact')} {others}.")
        for text in learned["invented"]:
            print_line(text, prefix="- invented: ")
        used = learned["tokens"]
        asked = f"{pluralize(used['questions'], 'question')}, {used['input']:,} tokens in, {used['output']:,} out"
        print_line(f"The model was asked {asked}" + (", in part estimated." if used["estimated"] else "."))
    print_line(f"Model {report['model']}, embedder {report['embedder']}.")


def _cell(name: str, value: float | None) -> str:
    return "" if value is None else f"{value:.{1 if name.endswith('ms') else 3}f}"
