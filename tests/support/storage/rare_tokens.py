"""Facts with one rare token each, in several scripts, among many similar facts, and questions for them."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator
from random import Random

_SYLLABLES = [
    "ba",
    "cho",
    "dri",
    "el",
    "fyo",
    "gwen",
    "hix",
    "ja",
    "kly",
    "lo",
    "mur",
    "nze",
    "ol",
    "pra",
    "quo",
    "ru",
    "sve",
    "ti",
    "ush",
    "vy",
    "wro",
    "xa",
    "yil",
    "zed",
]
_ACCENTED_LETTERS = ["á", "ç", "é", "ğ", "ñ", "ö", "ø", "ř", "š", "ū", "ż", "ł", "ễ", "ạ"]
_CYRILLIC = [
    "бю",
    "вже",
    "гла",
    "дрю",
    "ёл",
    "жи",
    "зню",
    "кво",
    "лю",
    "мро",
    "ни",
    "пся",
    "рю",
    "сво",
    "ты",
    "уфа",
    "хле",
    "цы",
    "шта",
    "щу",
]
_HEBREW = ["אב", "גד", "הל", "וז", "חט", "יכ", "למ", "נס", "עפ", "צק", "רש", "תא", "בג", "דה"]
_ARABIC = ["با", "تو", "جي", "حم", "دل", "رس", "شع", "صف", "غو", "قي", "كن", "لم"]
_HAN = "云峰岚澜泽翠雁枫棠梧霖晟昀玥瑾珩琮璇瑶蔚苒荻蓁蘅筱笙箫"
_KANA = "あかさたなはまやらわきしちにひみりくすつぬふむゆるけせてねへめれ"
_HANGUL = "가나다라마바사아자차카타파하거너더러머버서어저처커터퍼허"
_THAI = "กขคงจฉชซญดตถทนบปผพมยรลวสหอ"


def _name(random: Random) -> str:
    letters = "".join(random.choices(_SYLLABLES, k=3))
    return f"{letters.capitalize()}{random.choice(('', '-', chr(39)))}{random.choice(_SYLLABLES).capitalize()}ev"


def _accented_name(random: Random) -> str:
    return (
        random.choice(_SYLLABLES) + random.choice(_ACCENTED_LETTERS) + "".join(random.choices(_SYLLABLES, k=2))
    ).capitalize()


def _phone(random: Random) -> str:
    country, area, line = random.randint(20, 99), random.randint(100, 999), f"{random.randrange(10**7):07}"
    return random.choice(
        (f"+{country} {area} {line[:3]}-{line[3:]}", f"+{country} ({area}) {line[:4]} {line[4:]}", f"0{area}/{line}")
    )


def _id(random: Random) -> str:
    letters = "".join(random.choices("ABCDEFGHKLMNPRTWXZ", k=2))
    return random.choice(
        (
            f"{letters}-{random.randrange(10_000):04}-{random.choice('QXZ')}",
            f"{letters}{random.randrange(10**6):06}",
            f"{random.getrandbits(40):010x}",
            f"{''.join(random.choices(_SYLLABLES, k=2))}.{random.choice(_SYLLABLES)}@example.org",
            f"192.168.{random.randrange(256)}.{random.randrange(256)}",
        )
    )


def _sampler(parts: list[str] | str, count: int) -> Callable[[Random], str]:
    return lambda random: "".join(random.choices(parts, k=count))


_ENGLISH = (
    ["I met {0} at the market", "My notes mention {0} twice", "Ask about {0} before the trip", "The parcel says {0}"],
    [
        "{0}",
        "Who or what is {0}?",
        "What did I say about {0} and the market?",
        "Tell me about {0}",
        "did my notes mention {0}",
    ],
)
_KINDS: dict[str, tuple[Callable[[Random], str], tuple[list[str], list[str]]]] = {
    "name": (_name, _ENGLISH),
    "marked name": (_accented_name, _ENGLISH),
    "phone": (_phone, _ENGLISH),
    "id": (_id, _ENGLISH),
    "Cyrillic": (
        _sampler(_CYRILLIC, 4),
        (["Мою кошку зовут {0}", "Вчера я видел {0} в парке"], ["{0}", "Кто такая {0}?"]),
    ),
    "Hebrew": (_sampler(_HEBREW, 3), (["החתול שלי נקרא {0}", "אתמול ראיתי את {0} בפארק"], ["{0}", "מי זה {0}?"])),
    "Arabic": (_sampler(_ARABIC, 4), (["قطتي اسمها {0}", "رأيت {0} في الحديقة أمس"], ["{0}", "من هو {0}\u061f"])),
    "Chinese": (_sampler(_HAN, 3), (["我的猫叫{0}。", "昨天我在公园看见{0}了"], ["{0}", "{0}是谁\uff1f"])),
    "Japanese": (_sampler(_HAN + _KANA, 4), (["猫の名前は{0}です", "昨日公園で{0}を見た"], ["{0}", "{0}って誰\uff1f"])),
    "Korean": (
        _sampler(_HANGUL, 4),
        (["내 고양이 이름은 {0}야", "어제 공원에서 {0}을 봤어"], ["{0}", "{0}는 누구야?"]),
    ),
    "Thai": (_sampler(_THAI, 5), (["แมวของฉันชื่อ{0}", "เมื่อวานเห็น{0}ที่สวน"], ["{0}", "{0}คือใคร"])),
}


def planted_facts(count: int, *, seed: int) -> Iterator[tuple[str, str]]:
    """Yield facts with a question for each, of every kind in turn; a question may be typed decomposed (NFD)."""
    random, seen = Random(seed), set[str]()
    kinds = list(_KINDS.values())
    while len(seen) < count:
        make, (facts, questions) = kinds[len(seen) % len(kinds)]
        token = make(random)
        if token in seen:
            continue
        seen.add(token)
        fact, question = random.choice(facts).format(token), random.choice(questions).format(token)
        yield fact, unicodedata.normalize("NFD", question) if random.random() < 0.3 else question


def noise_facts(count: int, *, seed: int) -> list[str]:
    """Yield facts of everyday words, in the sentences of the planted ones and in others."""
    random = Random(-seed)
    things = [
        "market",
        "park",
        "notes",
        "parcel",
        "trip",
        "cat",
        "garden",
        "friend",
        "brother",
        "train",
        "piano",
        "soup",
        "winter",
        "letter",
        "bicycle",
    ]
    forms = (
        "I met a {0} by the {1}",
        "My {0} is about the {1}",
        "Yesterday the {0} and the {1} were late",
        "猫と{0}と{1}",
    )
    texts = (random.choice(forms).format(*random.sample(things, 2)) for _ in range(count))
    return [f"{text}, {number}" for number, text in enumerate(texts)]
