"""`gaia learn`: facts from conversations that were held elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gaia_memory.cli.engines import AppOption, ConfigOption, JsonOption, UserOption, load_config, open_engine
from gaia_memory.cli.ui.fact_output import iso, local_day, print_json, print_rows
from gaia_memory.cli.ui.read_input import display_name, read_text
from gaia_memory.cli.ui.terminal import pluralize, print_error, print_line, print_note, progress_bar
from gaia_memory.errors import BadAnswerError, InvalidInputError, LeaseLostError, ModelError

if TYPE_CHECKING:
    from gaia_memory.engine import Engine
    from gaia_memory.transfer.transcripts import ImportedConversation

EXAMPLES = """
Examples:

`gaia learn conversations.json` learns from an export of ChatGPT or Claude; a second time it learns only what is new.

`gaia learn chat.txt --speaker Ada --dry-run` shows what a plain transcript holds (`[2026-11-22 15:00] Ada: …`).

`gaia learn *.json --user ada` learns from several files.
"""


@dataclass(slots=True)
class _Report:
    """What was learned, and which conversations were not."""

    facts: int = 0
    learned: int = 0
    read_before: int = 0
    failures: list[str] = field(default_factory=list)
    is_over: bool = False
    """Whether the model gives no answer, so that no further conversation is tried."""


def learn(
    files: Annotated[
        list[Path], typer.Argument(help="Exports or transcripts; `-` is standard input.", show_default=False)
    ],
    user: UserOption,
    speaker: Annotated[
        str | None,
        typer.Option(
            "--speaker",
            metavar="NAME",
            help="Who is the user in a plain transcript. Default: the user id, else `User`, `Human`, `Me` or `Ich`.",
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the conversations, and learn nothing.")] = False,
    app_name: AppOption = None,
    as_json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Learn facts from exports of ChatGPT and Claude, and from transcripts, with the dates of their messages.

    Each message is learned once: a second run asks the model only about new messages, and resumes an interrupted run.
    What the user said before everything was forgotten is not learned. The transcripts themselves are not stored. Exits
    with 1 if a conversation could not be learned.
    """
    zone = load_config(config).config.memory.zone
    found = [found for file in files for found in _read(file, user, speaker, zone)]
    conversations = [conversation for conversation in found if not conversation.is_kept_out]
    if kept_out := len(found) - len(conversations):
        print_note(f"{pluralize(kept_out, 'conversation')} left out: marked as not to be remembered in the export")
    conversations.sort(key=lambda conversation: conversation.began_at)
    if not conversations:
        raise InvalidInputError("there is no conversation in which the user says something: nothing was learned")
    if dry_run:
        _print_dry_run(conversations, user, as_json=as_json)
        return
    report = asyncio.run(_learn(conversations, user, app_name, config))
    _print(report, conversations, user, as_json=as_json)
    if report.failures:
        raise typer.Exit(1)


def _read(file: Path, user: str, speaker: str | None, zone: tzinfo | None) -> list[ImportedConversation]:
    from gaia_memory.transfer.transcripts import read_conversations

    if file.suffix.lower() == ".zip":
        message = f"{file} is an archive: unpack it, and pass its conversations.json"
        raise typer.BadParameter(message, param_hint="FILES")
    text = read_text(file, hint="FILES")
    # What has no time of its own was said, at the latest, when the file was written.
    written = datetime.now(UTC) if str(file) == "-" else datetime.fromtimestamp(file.stat().st_mtime, UTC)
    try:
        return read_conversations(text, user=user, speaker=speaker, default_time=written, zone=zone)
    except InvalidInputError as error:
        raise InvalidInputError(f"{display_name(file)}: {error}; nothing was learned") from error


async def _learn(
    conversations: Sequence[ImportedConversation], user: str, app_name: str | None, config: Path | None
) -> _Report:
    report, total = _Report(), sum(len(conversation.messages) for conversation in conversations)
    async with open_engine(config) as engine:
        with progress_bar(f"Learning with {engine.model_name}") as advance:
            done = 0
            for conversation in conversations:
                advance(done, total)
                await _learn_one(engine, app_name or engine.config.app, user, conversation, report)
                if report.is_over:
                    break
                done += len(conversation.messages)
    return report


async def _learn_one(engine: Engine, app: str, user: str, conversation: ImportedConversation, report: _Report) -> None:
    from gaia_memory.models import SessionKey

    key = SessionKey(app, user, f"{user}:import:{conversation.id}")
    name = conversation.title or conversation.began_at.date().isoformat()
    try:
        report.read_before += await engine.conversations.row(key) is not None
        await engine.conversations.ensure_row(key)
        report.facts += await engine.learn(key, conversation.turns())
        report.learned += 1
    except (ModelError, LeaseLostError) as error:
        report.failures.append(f"{name}: {error}")
        report.is_over = not isinstance(error, BadAnswerError | LeaseLostError)


def _print(report: _Report, conversations: Sequence[ImportedConversation], user: str, *, as_json: bool) -> None:
    count = len(conversations)
    if as_json:
        counts = {"facts": report.facts, "learned": report.learned, "conversations": count}
        print_json({"user": user, **counts, "failed": report.failures})
    else:
        facts, learned = pluralize(report.facts, "fact"), pluralize(report.learned, "conversation")
        known_note = f" ({report.read_before} read before: only new messages count)" if report.read_before else ""
        print_line(f"{facts} about {user} learned from {learned}{known_note}.")
    for line in report.failures:
        print_error(f"not learned: {line}")
    if report.failures:
        left = f"{count - report.learned} of {pluralize(count, 'conversation')} are left"
        print_error(f"{left}: run the command again to resume")


def _print_dry_run(conversations: Sequence[ImportedConversation], user: str, *, as_json: bool) -> None:
    if as_json:
        rows = [
            {
                "id": each.id,
                "title": each.title,
                "messages": len(each.messages),
                "began_at": iso(each.began_at),
                "ended_at": iso(each.ended_at),
            }
            for each in conversations
        ]
        print_json({"user": user, "conversations": rows})
        return
    shown = [
        (local_day(each.began_at), local_day(each.ended_at), str(len(each.messages)), each.title)
        for each in conversations
    ]
    print_rows(("from", "to", "messages", "title"), shown)
    messages = pluralize(sum(len(each.messages) for each in conversations), "message")
    print_line(f"{pluralize(len(shown), 'conversation')} of {user}, {messages}; nothing was learned.")
