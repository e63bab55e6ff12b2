"""A token that occurs in only one fact is found, whatever its kind and script."""

from __future__ import annotations

from pathlib import Path
from random import Random

from gaia_memory import NewFact, open_memory

FIRST = 5


AS_OTHERS_WRITE_IT = {
    "The meter number is 493-817": ["493817", "493 817", "493\u2011817"],
    "The router has the address 00:1A:2B:3C:4D:5E": ["001A2B3C4D5E", "00-1a-2b-3c-4d-5e"],
    "Phone is +1 (555) 010-9999": ["5550109999", "555-010-9999", "+15550109999", "0109999"],
    "IBAN DE89 3704 0044 0532 0130 00": ["DE89370400440532013000", "3704 0044"],
    "Ticket ZX-4471-B is open": ["zx4471b", "ZX 4471 B", "4471"],
    "Serial SN_88x-9/a7": ["SN_88x-9/a7", "sn88x9a7"],
    "Flight LH1234 at noon": ["LH 1234", "lh1234"],
    "The rent is 10,450 a month": ["10450", "10,450"],
    "Weighs 82 kg": ["82kg", "82 kg"],
    "Weighed 77kg once": ["77 kg"],
    "Version 3.14.159 broke": ["3.14.159", "3.14"],
    "Name is \u00de\u00f3rd\u00eds \u0141ukasiewicz": ["Thordis", "Lukasiewicz"],
    "\u05d2\u05e8 \u05d1\u05d9\u05e8\u05d5\u05e9\u05dc\u05d9\u05dd": ["\u05d9\u05e8\u05d5\u05e9\u05dc\u05d9\u05dd"],
    "\u05dc\u05d5\u05de\u05d3 \u05d1\u05d8\u05db\u05e0\u05d9\u05d5\u05df": [
        "\u05d4\u05d8\u05db\u05e0\u05d9\u05d5\u05df"
    ],
    "\u064a\u062d\u0628 \u0627\u0644\u0642\u0647\u0648\u0629": ["\u0642\u0647\u0648\u0629"],
    "\u0639\u0646\u062f\u0647 \u0642\u0637\u0629": ["\u0627\u0644\u0642\u0637\u0629"],
    "\u559c\u6b22\u53bb\u9f0e\u6cf0\u8c50\u5403\u996d": ["\u9f0e\u6cf0\u8c50", "\u9f0e\u6cf0"],
    "\u041d\u0438\u0436\u043d\u0435\u0432\u0430\u0440\u0442\u043e\u0432\u0441\u043a\u043e\u043c\u0443": [
        "\u041d\u0438\u0436\u043d\u0435\u0432\u0430\u0440\u0442\u043e\u0432\u0441\u043a\u0438\u0439"
    ],
    "\u03c0\u03af\u03bd\u03b5\u03b9 \u03ba\u03b1\u03c6\u03ad\u03b4\u03b5\u03c2": [
        "\u03ba\u03b1\u03c6\u03ad\u03b4\u03c9\u03bd"
    ],
}


THINGS = ("market", "park", "notes", "parcel", "trip", "cat", "garden", "train", "piano", "soup", "winter", "letter")
SENTENCES = (
    "I met a {0} by the {1}",
    "My {0} is about the {1}",
    "Yesterday the {0} and the {1} were late",
    "猫と{0}と{1}",
)


def everyday_facts(count: int) -> list[str]:
    """Return facts of everyday words."""
    random = Random(4)
    return [f"{random.choice(SENTENCES).format(*random.sample(THINGS, 2))}, {number}" for number in range(count)]


async def test_a_token_is_found_in_other_spellings(tmp_path: Path) -> None:
    """With different or no punctuation, without diacritics, and with a language's affixes."""
    async with open_memory({"memory": {"allow_numbers": True}}, home=tmp_path, model="offline") as gaia:
        scope = gaia.scope("itay")
        facts = [*AS_OTHERS_WRITE_IT, *everyday_facts(500)]
        await gaia.memory.add(scope, [NewFact(text) for text in facts])
        missed = []
        for fact, written in AS_OTHERS_WRITE_IT.items():
            for question in (form.format(each) for each in written for form in ("{}", "What is known about {}?")):
                hits = await gaia.memory.recall(scope, question, limit=FIRST)
                missed += [] if fact in {hit.fact.text for hit in hits} else [(question, fact)]

    assert missed == []
