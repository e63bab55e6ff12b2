"""What a pattern cannot tell of a credential: check digits, randomness, and what stands around it."""

# ruff: noqa: RUF001 - quotation marks of all kinds are meant

from __future__ import annotations

import re
from importlib.resources import files
from typing import NamedTuple

from gaia_memory.language.distinctive_words import COMMON_WORDS, is_common_word
from gaia_memory.language.stop_words import STOP_WORDS
from gaia_memory.redaction.linear import compile_linear

Span = tuple[int, int]

_CONTEXT_BYTES, _CLAUSE_BYTES = 200, 40
"""Around what was found no pattern sees more than this."""

_CLAUSE_END = re.compile(r"[.!?,;:)(\n。，]|\s[-—–]\s")
_CLAUSE_BEGIN = re.compile(rb"[.!?,;:\n]")


def _read_words(name: str) -> frozenset[str]:
    # Read when the module is imported: screening may run in an event loop, which must not wait for a file.
    text = files("gaia_memory.redaction").joinpath(name).read_text(encoding="utf-8")
    return frozenset(word for line in text.splitlines() if not line.startswith("#") for word in line.split())


_SEED_WORDS = _read_words("seed_words.txt")
_NOT_PASSWORDS = _read_words("not_passwords.txt")


class Found(NamedTuple):
    """What a form matches in the UTF-8 bytes of a text: from `first` to `last`, the secret from `start` to `end`."""

    data: bytes
    first: int
    last: int
    start: int
    end: int

    @property
    def secret(self) -> str:
        """The secret."""
        return self._text(self.start, self.end)

    @property
    def name(self) -> str:
        """What matches in front of the secret: its name, and the words or signs up to it."""
        return self._text(self.first, self.start)

    @property
    def before(self) -> str:
        """The end of the text in front of the secret."""
        return self._text(max(0, self.start - _CONTEXT_BYTES), self.start)

    @property
    def behind(self) -> str:
        """The beginning of the text behind the secret."""
        return self._text(self.end, self.end + _CONTEXT_BYTES)

    @property
    def clause(self) -> bytes:
        """The match with what stands in front of it in its clause."""
        begun = self.data[max(0, self.first - _CLAUSE_BYTES) : self.first] if self.last == self.end else b""
        return _CLAUSE_BEGIN.split(begun)[-1] + self.data[self.first : self.last]

    def _text(self, start: int, end: int) -> str:
        return self.data[start:end].decode(errors="ignore")


_MIN_KEY_CHARACTERS = 14
_MIN_NAMED_KEY_CHARACTERS, _MIN_RANDOM_CHARACTERS = 8, 16
_MIN_DIGIT_CHANGES, _MIN_CASE_CHANGES = 4, 5
_QUALIFIER_BYTES = 20

# What stands before a random token that is no secret: its name, or the address it is a part of.
_IDENTIFIER_NAME = compile_linear(
    r"(?i)(?:\b(?:ids?|doc|document|file|folder|video|playlist|sheet|page|commit|hash|tx|txid|transaction|block|checksum"
    r"|digest|integrity|e-?tag|fingerprint|u?uid|guid|order|tracking|address|bitcoin|btc|model)\b\W*(?:(?:is|to)\W+)?"
    r"|\w_id\W+|sha-?\d+[:-]|base64,|\bAAAA|(?:public key|certificate)-----\s*)\z"
)
_SECRET_ARGUMENT = compile_linear(r"(?i)[?&#][\w-]*(?:token|key|secret|sig|signature|password|auth|code)=\z")
_PUBLIC_TOKEN = re.compile(r"[\da-fA-F-]+|(?i:sha\d+-.*)|AAAA.*|0x[\da-fA-F]{40}|[13][1-9A-HJ-NP-Za-km-z]{25,34}")
_CAMEL_CASE = re.compile(r"(?:[A-Z][a-z]{3,}){2}")
_SECRET_NAME = compile_linear(
    r"(?i)api|access|private|secret|token|sign|encrypt|client|auth|session|licen[sc]e|recovery|backup|shared|bearer|basic"
)
_PUBLIC_NAME = compile_linear(
    r"(?i)\b(?:public|primary|foreign|partition|shard|sort|row|index|hash|lookup|cache|storage|object|file|s3|idempotency"
    r"|dedup\w*|routing|registry|map|host|gpg|pgp)(?:[ _-]|\b)"
)
_CASE_CHANGE = re.compile(r"[a-z](?=[A-Z])")
_DIGIT = re.compile(r"\d")
_KEY_END = re.compile(r"[\"'`,;<>]")
_DIGIT_CHANGE = re.compile(r"[A-Za-z](?=\d)|\d(?=[A-Za-z])")


def is_key(found: Found) -> Span | None:
    """Return the whole if it is as long as a key and has a digit: `sk-learning` is a word."""
    secret = found.secret
    is_mixed = any(map(str.isdigit, secret)) or len(_CASE_CHANGE.findall(secret)) >= _MIN_CASE_CHANGES
    return (0, len(secret)) if len(secret) >= _MIN_KEY_CHARACTERS and is_mixed else None


def is_random(found: Found) -> Span | None:
    """Return the whole if it looks random; not a hash, an identifier or a part of an address."""
    secret, before = found.secret, found.before
    if "/" in secret or "+" in secret:
        looks_random = len(_CASE_CHANGE.findall(secret)) >= _MIN_CASE_CHANGES and any(map(str.isdigit, secret))
    else:
        looks_random = (
            not (secret.islower() or secret.isupper())
            and len(_DIGIT_CHANGE.findall(secret)) >= _MIN_DIGIT_CHANGES
            and not _PUBLIC_TOKEN.fullmatch(secret)
            and not _CAMEL_CASE.search(secret)
        )
    if not looks_random:
        return None
    address = before.rsplit(None, 1)[-1] if before[-1:].strip() else ""
    is_argument = _SECRET_ARGUMENT.search(before.encode())
    is_part = "/" in address or "\\" in address or address.startswith("www.")
    return None if not is_argument and (is_part or _IDENTIFIER_NAME.search(before.encode())) else (0, len(secret))


def is_named_key(found: Found) -> Span | None:
    """Return the value that is called a key, a token or a secret; what a database or a cache calls a key is none."""
    secret = found.secret
    if not _DIGIT.search(secret):
        return None
    value = _KEY_END.split(secret.lstrip("\"'`"), 1)[0].rstrip(_TRAILING)
    length, changes = len(value), len(_DIGIT_CHANGE.findall(value))
    if length < _MIN_NAMED_KEY_CHARACTERS or not changes or _CODE.match(secret):
        return None
    name = found.data[max(0, found.first - _QUALIFIER_BYTES) : max(found.last, found.start)]
    is_linked = not found.name.strip(" \n_-").isalpha()
    is_random = length >= _MIN_RANDOM_CHARACTERS and changes >= _MIN_DIGIT_CHANGES - is_linked
    is_marked = changes > 1 if is_linked or length >= _MIN_RANDOM_CHARACTERS else False
    is_marked |= is_linked and (length >= _MIN_RANDOM_CHARACTERS or any(sign in value for sign in "!#$&*?^~"))
    if not is_random and not (is_marked and _SECRET_NAME.search(name)):
        return None
    return None if _PUBLIC_NAME.search(name) else (secret.find(value), secret.find(value) + length)


_OPENING, _CLOSING = "\"'`“„«‘「『", "\"'`”“»’」』"
_TRAILING = ".,;:!?…。，、；"
_EDGE_SIGNS = _OPENING + _CLOSING + _TRAILING + "()<>"
_PASSPHRASE_WORDS = range(2, 8)
# Variables, masks, calls, paths and types of code, and what stands for a password where a form is explained.
_CODE = re.compile(
    r"(?:[\W_]*\Z|[<{(\[*•|]|\$[{(\dA-Z_]|//|%[\w(]|[\w.]{1,60}[(\[]|~?(?:/[A-Za-z._-]+){2,}/?\Z|\w{1,9}://|[!=]="
    r"|(?:self|this|user|os|process|config|env|settings|args|HTTP)[./]|(?i:x+|\w{0,20}password|passwd|pass|pwd|token)\W?\Z"
    r"|(?i:str|string|bool|bytes|none|null|nil|true|false|raise|return|undefined|text|varchar|n/a|tbd|optional)\b)"
)
_HAS_SIGN = re.compile(r"[!@#$%^&*?].|\d")
_NO_WORD = re.compile(r"[=(/]|@[^@]*\.")
_SIGN_IN_NAME = re.compile(r"(?i)\b(?:user(?:name)?|login)\b")
_MIN_PASSWORD_CHARACTERS = 3
_NAME_WORDS = re.compile(r"[^\W\d_]+")


def is_address_password(found: Found) -> Span | None:
    """Return the password of an address; `http://host:8000/models/name@001` has a port."""
    secret = found.secret
    is_port = found.name.startswith("http") and secret.partition("/")[0].isdigit() and "/" in secret
    return None if is_port or _CODE.match(secret) or secret.casefold() == "secret" else (0, len(secret))


def is_stated_password(found: Found) -> Span | None:
    """Return the value that stands behind the name of a password: a word, a quotation or a phrase of plain words."""
    secret = found.secret
    bare = secret.lstrip(_OPENING)
    begin = len(secret) - len(bare)
    if _CODE.match(bare):
        return None
    if begin:
        length = (bare + found.behind).partition("\n")[0].find(_CLOSING[_OPENING.index(secret[begin - 1])])
        if length >= _MIN_PASSWORD_CHARACTERS:
            return begin, begin + length
    value = bare.rstrip(_EDGE_SIGNS)
    if not value.isascii() and found.name.rstrip()[-1:] in "是为為은는は" and value[0] >= "\u2e80":
        return None
    if len(value) < _MIN_PASSWORD_CHARACTERS or "[[" in value:
        return None
    if value.isalpha():
        behind = found.behind if bare.endswith(value) else ""
        length = _plain_value(value, found.name, _CLAUSE_END.split(behind, 1)[0])
        return (begin, begin + length) if length else None
    return begin, begin + len(value)


def is_strong_password(found: Found) -> Span | None:
    """Return the value if it is no ordinary word: letters with digits or signs, or digits that are no year."""
    secret = found.secret
    value = secret.strip(_EDGE_SIGNS)
    if len(value) < _MIN_PASSWORD_CHARACTERS + 1 or _CODE.match(secret) or "[[" in value:
        return None
    if value.replace("-", "").isdigit():
        is_secret = not value.startswith(("19", "20")) and not found.behind.lstrip()[:1].isalpha()
    else:
        is_secret = len(value) >= 6 and _HAS_SIGN.search(value) is not None and not _NO_WORD.search(value)
        is_secret = is_secret and sum(map(str.isalpha, value)) >= 3
    if not is_secret and found.name.rstrip()[-1:] in ":=":
        is_secret = _SIGN_IN_NAME.search(found.before) is not None and value.casefold() not in _NOT_PASSWORDS
    begin = secret.find(value)
    return (begin, begin + len(value)) if is_secret else None


def _plain_value(value: str, name: str, others: str) -> int:
    """Return how many characters a password of letters has: those of a row of plain words, of one word, or none."""
    words = others.split()
    row = [value, *words]
    is_row = len(row) in _PASSPHRASE_WORDS and all(word.isalpha() and word.islower() for word in row)
    if is_row and COMMON_WORDS.isdisjoint(row) and (value not in _NOT_PASSWORDS or len(row) > 3):
        return len(value + others.rstrip())
    between = _NAME_WORDS.findall(name)
    is_of_thing = len(between) > 2 and between[1].casefold() not in COMMON_WORDS
    is_common = value.casefold() in _NOT_PASSWORDS or (bool(words) and is_common_word(value))
    return 0 if is_common or is_of_thing else len(value)


_PUBLIC_CODE = compile_linear(
    r"(?i)(?:^|[^A-Za-z0-9\x80-\xff])(?:zip|post|area|countr|error|exit|status|http|return|dress|promo|discount|coupon|gift|product|article"
    r"|item|part|model|course|class|colou?r|hex|source|tax|order|customer|client|employee|staff|student|school|room|seat"
    r"|flight|airport|dial|booking|reservation|tracking|referral|invit|voucher|branch|sort|swift|bic|bar|qr|hs|icd|iso"
    r"|module|team|party|game|project|invoice|build|version|lines?|names?|plz|vorwahl|fehler|rabatt|gutschein|artikel|artic"
    r"|artíc|artig|kunden|farb|strich|kurs|projekt|erreur|réduction|remise|civil|route|barre|couleur|produit|commande"
    r"|descuento|barras|color|pedido|país|cliente|errore|sconto|fiscale|prodotto|ordine|erro|desconto|produto|encomenda"
    r"|fout|korting|klant|kleur|ошибк|город|почт|poczt|проект|скидк|товар|заказ|страны|שגיאה|ה?מיקוד|הנחה|מוצר|לקוח)"
)
_UNIT = re.compile(
    r"[0-9A-Za-z_À-ÿ%€$]|[.,:-]\d|\s(?:m|km|cm|mm|g|kg|ml|l|V|px|EUR|USD|percent)\b|[号室階楼条本枚回円元年月日時点分人個个次章页]"
)
_COUNTED_NOUN = re.compile(r"\s+([^\W\d_]{3,})")
_LINKING_VERBS = frozenset(
    ["is", "was", "are", "ist", "war", "est", "es", "era", "é", "è", "je", "jest", "er", "är", "este", "это"]
)


def is_pin(found: Found) -> Span | None:
    """Return the digits if they are no part of a longer number, no amount and no year."""
    behind, secret = found.behind, found.secret
    if _UNIT.match(behind):
        return (0, cut) if behind[0].isdigit() and (cut := max(map(secret.rfind, " -"))) > 2 else None
    is_year, counted = len(secret) == 4 and secret.startswith(("19", "20")), _COUNTED_NOUN.match(behind)
    if (is_year or counted) and found.last == found.end:
        last = found.name.rstrip().rpartition(" ")[2]
        is_linked = not last.isalpha() or last.casefold() in _LINKING_VERBS
        if is_year and not is_linked:
            return None
        if counted and (not is_linked or secret.endswith("00")) and counted[1].casefold() not in COMMON_WORDS:
            return None
    return 0, len(secret)


def is_stated_code(found: Found) -> Span | None:
    """Return the digits of a code that opens or confirms something: not those of a zip, an error or a discount."""
    secret = found.secret
    is_code = len(secret) >= 4 if secret.isdigit() else sum(map(str.isdigit, secret)) >= 2
    if not is_code or (span := is_pin(found)) is None:
        return None
    clause = found.clause
    return None if len(clause.split(None, 1)) < 2 or _PUBLIC_CODE.search(clause) else span


_MIN_SEED_WORDS, _MIN_KNOWN_WORDS, _MAX_STOP_WORDS = 12, 11, 4
"""Of 2,048 words on the list 43 are stop words: three of a million wallets have more of them among their twelve words,
and many sentences do, such as "only when you know that you will use this one, then you …"."""
_SEED_WORD = re.compile("[A-Za-z]{3,8}")


def seed_phrase(found: Found) -> Span | None:
    """Return the first twelve or more words of the list that wallets use (BIP-39)."""
    text = found.secret
    words = list(_SEED_WORD.finditer(text))
    lower = [word[0].lower() for word in words]
    known = [word in _SEED_WORDS and word != before for word, before in zip(lower, ["", *lower], strict=False)]
    if sum(known) < _MIN_KNOWN_WORDS:
        return None
    stopped = [word in STOP_WORDS for word in lower]
    for at in range(len(words) - _MIN_SEED_WORDS + 1):
        last = at + _MIN_SEED_WORDS
        if known[at] and sum(known[at:last]) >= _MIN_KNOWN_WORDS and sum(stopped[at:last]) <= _MAX_STOP_WORDS:
            while last < len(words) and known[last]:
                last += 1
            return words[at].start(), words[last - 1].end()
    return None


_IBANS = """
NO15 BE16 DK18 FI18 FO18 GL18 NL18 SD18 MK19 SI19 AT20 BA20 EE20 KZ20 LT20 LU20 MN20 XK20 CH21 HR21 LI21
LV21 BG22 BH22 CR22 DE22 GB22 GE22 IE22 ME22 RS22 VA22 AE23 GI23 IL23 IQ23 OM23 SO23 TL23 AD24 CZ24 ES24
MD24 PK24 RO24 SA24 SE24 SK24 TN24 VG24 LY25 PT25 ST25 IS26 TR26 BI27 DJ27 FR27 GR27 IT27 MC27 MR27 SM27
AL28 AZ28 BY28 CY28 DO28 GT28 HN28 HU28 LB28 NI28 PL28 SV28 BR29 EG29 PS29 QA29 UA29 JO30 KW30 MU30 YE30
MT31 SC31 RU33
"""
_IBAN_LENGTHS = {each[:2]: int(each[2:]) for each in _IBANS.split()}


def is_card(found: Found) -> Span | None:
    """Return the whole if its last digit is right (Luhn)."""
    digits = [int(char) for char in reversed(found.secret) if char.isdecimal()]
    doubled = sum(sum(divmod(2 * digit, 10)) for digit in digits[1::2])
    is_valid = len(set(digits)) > 1 and (sum(digits[::2]) + doubled) % 10 == 0 and _stands_alone(found)
    return (0, len(found.secret)) if is_valid else None


def is_iban(found: Found) -> Span | None:
    """Return the IBAN if its check digits are right (mod 97)."""
    text = found.secret.upper()
    places = [at for at, char in enumerate(text) if char.isalnum()][: _IBAN_LENGTHS.get(text[:2], 0)]
    if not places or len(places) < _IBAN_LENGTHS[text[:2]] or text[places[-1] + 1 : places[-1] + 2].isalnum():
        return None
    iban = "".join(text[at] for at in places)
    is_valid = int("".join(str(int(char, 36)) for char in iban[4:] + iban[:4])) % 97 == 1
    return (0, places[-1] + 1) if is_valid else None


def is_ssn(found: Found) -> Span | None:
    """Return the whole if such a US social security number may have been issued."""
    digits = "".join(filter(str.isdigit, found.secret))
    is_issued = digits[:3] not in {"000", "666"} and digits[0] != "9" and digits[3:5] != "00" and digits[5:] != "0000"
    return (0, len(found.secret)) if is_issued and _stands_alone(found) else None


def _stands_alone(found: Found) -> bool:
    """Return whether a number is no part of a longer one, of a path or of a name."""
    before, behind = found.before[-1:], found.behind[:2]
    is_begun = (before.isascii() and before.isalnum()) or before in {*"_.+/-"}
    return not is_begun and behind[:1] not in {*"_/-"} and not (behind[:1] == "." and behind[1:].isdigit())
