"""Recognizes PINs, card verification values, one-time codes and the codes of doors and alarms that a text names."""

# ruff: noqa: RUF001 - quotation marks of all kinds are meant

from __future__ import annotations

import re
from collections.abc import Iterator

from gaia_memory.redaction.stated_passwords import COPULA, SIGN

_DIGIT_WORDS = r"(?:(?:zero|oh|one|two|three|four|five|six|seven|eight|nine)[ ,-]*){4,8}\b"
_DIGITS = rf"(?P<value>\d(?:[ -]?\d){{3,7}}(?![\w%€$]|[.,:]\d|-\d)|{_DIGIT_WORDS})"
_PIN_DIGITS = _DIGITS.replace("{3,7}", "{2,7}")
_LINK_PATTERN = rf"(?:\s*{SIGN}\s*|\s+{COPULA}\s+|\s*(?:是|为|為|は|는|은|คือ)\s*)"

_CODE_WORD = r"(?:pass)?(?:codes?|kode|código|codigo|codice|код|ה?קוד|kod|κωδικός|combinations?)"
# What a secret code opens or confirms. Not: zip, area, error, dress, discount.
_SECURED_NOUN = (
    r"alarm\w*|door|front\s+door|gate|garage|safe|(?:pad)?lock\b|vault|entry|access|security|house|lobby|"
    r"verification|confirmation|one[ -]time|login|log-?in|sign-?in|2fa|mfa|two-factor|sms|authenticator|unlock|"
    r"recovery|backup|voicemail|keypad|bank|card|sim|whatsapp|google|telegram|apple|paypal|"
    r"best[äa]tigungs|sicherheits|zugangs|freischalt|verifizierungs|anmelde|einmal|alarmanlage|haust[üu]r|t[üu]r|tor|tresor|schlie[ßs]fach|"
    r"karte|"
    r"alarme|porte|portail|immeuble|coffre|carte|v[ée]rification|s[ée]curit[ée]|confirmation|"
    r"alarma|puerta|portal|caja|tarjeta|verificaci[óo]n|seguridad|acceso|confirmaci[óo]n|"
    r"cancello|portone|allarme|cassaforte|carta|porta|port[ãa]o|cofre|cart[ãa]o|"
    r"домофона|сигнализации|двери|подъезда|сейфа|карты|подтверждения|безопасности|доступа|"
    r"\S*אזעקה|\S*דלת|\S*כניסה|\S*אימות|\S*כספת|ה?סודי"
)
_PUBLIC = (
    r"(?:zip|postal|post|area|country|error|exit|status|dress|promo|discount|coupon|product|course|class|colou?r|source|"
    r"tax|order|customer|client|employee|student|room|dial|booking|tracking|referral|branch|sort|swift|bar|qr|hs|locker)\b"
)
_PIN_OWNER = (
    r"(?:card|bank|debit|credit|phone|sim|voicemail|atm|my|your|our|the|karte|meine|mein|tarjeta|carte|mi|mon|мой|моя)"
)

_CODES = (
    # "PIN 4921", "the pin for my phone is 4921", "CVV 123"
    re.compile(
        rf"(?i)(?<!\w)(?:pin|пин)(?:[ -]?(?:code|number|nummer|код|コード))?\b(?:[^.!?\n:=\d]{{0,40}}?)"
        rf"(?:{_LINK_PATTERN}){_PIN_DIGITS}"
    ),
    re.compile(
        rf"(?:(?i:\b{_PIN_OWNER}[ -]+(?:pin|пин))|(?<!\w)(?:PIN|ПИН))(?i:[ -]?(?:code|number|код))?\s+"
        rf"(?:(?:карты|de|of|for)\s+)?{_DIGITS}(?!\s+[a-z]{{3}})"
    ),
    re.compile(
        r"(?i)(?<!\w)(?:cvv2?|cvc2?|card\s+verification\s+(?:value|code|number)|security\s+code\s+(?:on|of)\s[^.!?\n\d]{0,30})"
        rf"(?:{_LINK_PATTERN}|\s+)(?P<value>\d{{3,4}})(?![\w%-]|[.,:]\d)"
    ),
    re.compile(
        r"(?i)(?<!\w)(?:puk|tan|otp|totp|one[ -]time\s+(?:pass)?(?:code|word)|geheimzahl|geheimnummer)"
        rf"(?:[^.!?\n:=\d]{{0,30}}(?:{_LINK_PATTERN})|\s+){_DIGITS}"
    ),
    # "alarm code 4921", "the door's code is 4921", "the code for the alarm is 4921"
    re.compile(
        rf"(?i)(?<!\w)(?:{_SECURED_NOUN})(?:['’]s)?[ -]?(?:[\w-]+\s+)?{_CODE_WORD}\b"
        rf"(?:(?:\s+(?:for|to|of|on|für)\s[^.!?\n:=\d]{{1,40}}?)?{_LINK_PATTERN}|\s+){_DIGITS}"
    ),
    re.compile(
        rf"(?i)(?<!\w){_CODE_WORD}\s+(?:for|to|of|on|für|de|del|della|dello|do|du|pour|para|da|от|для|к)?\s*"
        rf"(?:(?:the|my|our|a|die|das|den|der|la|le|el|mi|ma|mon)\s+)?(?:l['’]|d['’]|de\s+l['’]|ל|ה)?"
        rf"(?:[\w-]+\s+)?(?:building|{_SECURED_NOUN})\b(?:\s+\S+){{0,2}}?(?:{_LINK_PATTERN}|\s+){_DIGITS}"
    ),
    # "your Apple ID code is 229104"; not: your zip code
    re.compile(rf"(?i)\b(?:your|my|our)\s+(?:(?!{_PUBLIC})[\w-]+\s+){{1,3}}code(?:{_LINK_PATTERN}){_DIGITS}"),
    # "use code 551204", "opens with code 7741"
    re.compile(
        rf"(?i)\b(?:use|enter|type|opens?\s+with|unlocks?\s+with|mit|avec|con)\s+(?:the\s+|dem\s+|der\s+|le\s+|el\s+)?"
        rf"(?:pass)?(?:code|código|pin|combination)\s+{_DIGITS}"
    ),
    re.compile(rf"(?i)\bkeypad(?:{_LINK_PATTERN}){_DIGITS}"),
    # "482913 is your code", "use 482913 as your passcode"
    re.compile(
        r"(?i)(?<![\w.,:-])(?:G-)?(?P<value>\d{4,8})\s+is\s+(?:your|my|our|the)\s+(?:[\w-]+\s+){0,3}?(?:code|pin|passcode|otp)\b"
    ),
    re.compile(
        r"(?i)\b(?:enter|use|type|press|dial)\s+(?P<value>\d{4,8})\s+(?:as|to|for)\s+[^.!?\n\d]{0,40}?"
        r"\b(?:code|pin|passcode|alarm|door|gate|safe|log\s+in|sign\s+in|verify|confirm)\b"
    ),
    re.compile(
        r"(?:验证码|驗證碼|校验码|动态码|確認コード|認証コード|暗証番号|인증번호|인증\s?코드|비밀번호)\D{0,6}(?P<value>\d{4,8})(?!\d)"
    ),
)
_TRIGGERS = re.compile(
    r"(?i)pin|пин|cv[vc]|code|kode|código|codigo|codice|код|קוד|kod|κωδ|combination|puk|tan|otp|one[ -]time|geheim"
    r"|verification|keypad|enter|use|type|press|dial|码|碼|コード|番号|인증|비밀"
)


def find_stated_codes(text: str) -> Iterator[tuple[int, int]]:
    """Yield where the digits of a code stand that the text names as secret."""
    if not _TRIGGERS.search(text):
        return
    for pattern in _CODES:
        yield from (found.span("value") for found in pattern.finditer(text))
