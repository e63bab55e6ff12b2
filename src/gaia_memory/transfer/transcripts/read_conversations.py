"""Recognises the form of a transcript and reads it."""

from __future__ import annotations

import json
from datetime import datetime, tzinfo

from gaia_memory.errors import InvalidInputError
from gaia_memory.transfer.transcripts.chat_exports import parse_export
from gaia_memory.transfer.transcripts.imported_conversation import ImportedConversation
from gaia_memory.transfer.transcripts.plain_text import parse_transcript


def read_conversations(
    text: str, *, user: str, speaker: str | None, default_time: datetime, zone: tzinfo | None
) -> list[ImportedConversation]:
    """Return the conversations of a file, oldest first; those in which the user wrote nothing are left out.

    JSON is an export of ChatGPT or Claude, or a list of messages; anything else is a plain transcript. `speaker` is the
    user's name in a plain transcript. What has no time of its own has `default_time`; times without a zone are in
    `zone`, None for this machine's.

    Raises:
        InvalidInputError: the file has another form, or a value in it is wrong; the message names its place.
    """
    data = _parse_json(text)
    if data is not None:
        conversations = parse_export(data, default_time=default_time, zone=zone)
    else:
        plain = parse_transcript(text, speaker=speaker, user=user, default_time=default_time, zone=zone)
        conversations = [] if plain is None else [plain]
    return sorted(conversations, key=lambda conversation: conversation.began_at)


def _parse_json(text: str) -> object | None:
    """Return a JSON document, or the list of JSON Lines; None for plain text."""
    if not text.lstrip().startswith(("{", "[{", "[ ", "[\n", "[\r", "[]")):
        return None
    try:
        document: object = json.loads(text)
    except RecursionError as error:
        raise InvalidInputError("the JSON is nested too deeply") from error
    except ValueError as error:
        lines = [line for line in text.splitlines() if line.strip()]
        try:
            return [json.loads(line) for line in lines]
        except (ValueError, RecursionError):
            raise InvalidInputError(f"it is not valid JSON: {error}") from error
    return document
