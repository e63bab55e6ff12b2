"""Recognizes PINs, card verification values, one-time codes and the codes of doors and alarms that a text names."""

# ruff: noqa: RUF001 - quotation marks of all kinds are meant

from __future__ import annotations

import re
from collections.abc import Iterator

from gaia_memory.redaction.stated_passwords import COPULA, SIGN

_UNIT_WORD = (
    r"(?:zero|oh|one|two|three|four|five|six|seven|eight|nine|null|eins|zwei|zwo|drei|vier|fünf|sechs|sieben|acht|neun|zéro|"
    r"une?|deux|trois|quatre|cinq|sept|huit|neuf|cero|uno|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|due|tre|quattro|cinque|"
    r"sei|sette|otto|nove|um|dois|três|quatro|sete|oito)"
)
_TENS_WORD = (
    r"(?:ten|eleven|twelve|(?:thir|four|fif|six|seven|eigh|nine)teen|(?:twen|thir|for|fif|six|seven|eigh|nine)ty|"
    r"(?:\w{3,6}und)?(?:zwanzig|dreißig|vierzig|fünfzig|sechzig|siebzig|achtzig|neunzig)|"
    r"vingt|trente|quarante|cinquante|soixante|veinte|treinta|cuarenta|cincuenta|sesenta|setenta|ochenta|noventa|"
    r"venti|trenta|quaranta|cinquanta|sessanta|settanta|ottanta|novanta|vinte|trinta|quarenta|cinquenta|sessenta|oitenta)"
)
_BETWEEN_WORDS = r"(?:[ ,-]+|\s+(?:et|y|e)\s+)"
# "four nine two one", "forty-nine twenty-one"; "PIN is one of two" has no such row.
_DIGIT_WORDS = (
    rf"(?:{_UNIT_WORD}(?:[ ,-]+{_UNIT_WORD}){{2,7}}"
    rf"|{_TENS_WORD}(?:{_BETWEEN_WORDS}{_UNIT_WORD})?(?:[ ,]+{_TENS_WORD}(?:{_BETWEEN_WORDS}{_UNIT_WORD})?){{1,3}})\b"
)
_NO_UNIT = (
    r"(?![^\W\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]|[%€$号室階楼条本枚回円元年月日時点分人個个次章页]|[.,:]\d|-\d"
    r"|\s(?:m|km|cm|mm|g|kg|ml|l|px|eur|euros?|usd|dollars?|percent|points?|minutes?|hours?|degrees?)\b)"
)
_DIGITS = rf"(?P<value>\d(?:[ -]?\d){{3,7}}{_NO_UNIT}|{_DIGIT_WORDS})"
_PIN_DIGITS = _DIGITS.replace("{3,7}", "{2,7}")
_CARD_DIGITS = rf"(?P<value>\d{{3,4}}{_NO_UNIT}|{_DIGIT_WORDS})"
# "47B12": keypads of doors have letters, too.
_KEYPAD_LETTERS = r"(?-i:(?=\d*[A-ZА-Я])(?=(?:[A-ZА-Я]*\d){2})[\dA-ZА-Я]{4,7}(?!\w))"
_KEYPAD_DIGITS = _DIGITS.replace("(?P<value>", rf"(?P<value>{_KEYPAD_LETTERS}|[*#]?")
_START = r"(?<![^\W_\u3040-\u30ff\u4e00-\u9fff])"
_QUALIFIER_PATTERN = r"[^.!?;\n:=\d]{0,50}?"
"""What stands between a name and its value: whose it is, and what for."""
_LINK_PATTERN = (
    rf"(?:\s*{SIGN}\s*|['’]s\s+|\s+{COPULA}\s+(?:(?:le|la|el|the|die|der|das|o|a|il)\s+)?"
    r"|\s*(?:是|为|為|は|는|은|คือ)\s*)"
)

_CODE_WORD = (
    r"(?:pass|digi)?(?:codes?|kode|código|codigo|codice|код|ה?קוד|kod|κωδικός|"
    r"combin(?:ations?|aison|ación|aç[ãa]o|azione)|\w*kombination|clave)"
)
# What a secret code opens or confirms. Not: zip, area, error, dress, discount.
_SECURED_NOUN = (
    r"alarm\w*|door|front\s+door|gate|garagen?|safe|wallet|"
    r"(?:pad)?lock\b|vault|entry|access|security|house|lobby|"
    r"verification|confirmation|one[ -]time|login|log-?in|sign-?in|2fa|mfa|two-factor|sms|authenticator|unlock|"
    r"recovery|backup|voicemail|keypad|bank|card|sim|secret|whatsapp|google|telegram|apple|paypal|"
    r"instagram|facebook|signal|discord|microsoft|github|linkedin|twitter|tiktok|"
    r"best[äa]tigungs\w*|sicherheits\w*|zugangs\w*|freischalt\w*|verifizierungs\w*|anmelde\w*|einmal\w*|geheim\w*|haust[üu]r|t[üu]r|"
    r"tor|tresor|schlie[ßs]fach|karte|"
    r"alarme|porte|portail|immeuble|coffre|carte|v[ée]rification|s[ée]curit[ée]|confidentiel|d[ée]verrouillage|"
    r"alarma|puerta|portal|caja|tarjeta|verificaci[óo]n|seguridad|acceso|confirmaci[óo]n|secreto|desbloqueo|"
    r"cancello|portone|allarme|cassaforte|carta|porta|verifica|sicurezza|conferma|accesso|segreto|sblocco|"
    r"port[ãa]o|cofre|cart[ãa]o|verificaç[ãa]o|confirmaç[ãa]o|segurança|acesso|secreto|"
    r"deur|poort|kluis|kaart|verificatie|bevestigings\w*|beveiligings\w*|toegangs\w*|"
    r"смс|sms|домофона|сигнализации|двери|подъезда|сейфа|карты|подтверждения|безопасности|доступа|"
    r"\S*אזעקה|\S*דלת|\S*כניסה|\S*אימות|\S*כספת|ה?סודי"
)
# What has a code that opens and confirms nothing, as the words begin in several languages.
_PUBLIC = (
    r"(?:zip|post|area|countr|error|exit|status|http|return|dress|promo|discount|coupon|gift|product|article|item|part|model|course|class|"
    r"colou?r|hex|source|tax|order|customer|client|employee|staff|student|school|room|seat|flight|airport|dial|booking|reservation|"
    r"tracking|referral|invit|voucher|branch|sort|swift|bic|bar|qr|hs|icd|iso|module|team|party|game|project|invoice|build|"
    r"name|names|plz|vorwahl|fehler|rabatt|gutschein|artikel|art[íi]cul|articol|artig|kunden|farb|strich|kurs|projekt|"
    r"erreur|r[ée]duction|remise|civil|route|barre|couleur|produit|client|commande|"
    r"descuento|producto|barras|color|vestimenta|curso|pedido|pa[íi]s|ciudad|cliente|"
    r"errore|sconto|fiscale|prodotto|colore|ordine|erro|desconto|produto|barras|cor|vestu[áa]rio|encomenda|"
    r"fout|korting|klant|kleur|ошибк|город|почт|скидк|товар|заказ|цвет|страны|проект|שגיאה|מיקוד|הנחה|לבוש|מוצר|לקוח)"
)
_IS_PUBLIC = re.compile(rf"(?i)(?<![^\W_])ה?{_PUBLIC}")
# Names of numbers that are secret whatever they are for.
_PIN_NAME = r"(?:pin|пин)(?:[ _-]?(?:code|number|nummer|numarası|n[úu]mero|numéro|код|コード|码|碼))?(?![a-zа-я])"
_CARD_CODE_NAME = (
    r"(?:cv[vc]2?(?:[ -]?(?:code|number|nummer))?|(?:three|3|last)\s+(?:digits|numbers)\s+on\s+the\s+back|"
    r"card\s+verification\s+(?:value|code|number)|security\s+(?:code|number)|(?:karten)?pr[üu]f(?:ziffer|nummer|zahl)n?|"
    r"sicherheitscode|cryptogramme(?:\s+visuel)?|code\s+de\s+s[ée]curit[ée]|c[óo]digo\s+de\s+(?:seguridad|segurança)|"
    r"codice\s+di\s+sicurezza|beveiligingscode|セキュリティコード|安全码|安全碼)"
)
_OF_CARD = r"(?:\s+(?:of|for|on|der|des|meiner|auf|de|del|della|da|do|van|sur)(?:\s+[^\W\d_]+){1,3})"
_SECRET_NAME = (
    r"(?:puk|m?tan|otp|totp|one[ -]time\s+(?:pass)?(?:code|word)|geheim(?:zahl|nummer|code)|"
    r"einmal(?:code|passwort|kennwort)|code\s+(?:à\s+usage\s+unique|temporaire|monouso)|c[óo]dig?[oe]\s+(?:de\s+(?:un\s+solo\s+uso|uso\s+[úu]nico)|temporal)|"
    r"codice\s+(?:monouso|temporaneo|usa\s+e\s+getta)|digicode|pincode|codepin)"
)
_EAST_ASIAN_NAME = (
    r"(?:暗証|認証|確認|ワンタイム|オートロック|玄関|金庫|ロック|セキュリティ|验证|驗證|校验|动态|確認|门禁|門禁|开门|开锁|保险箱|取款|支付|"
    r"인증|현관|도어락|보안)[^\d\s。、，,]{0,8}?(?:コード|番号|码|碼|코드|번호)|비밀번호"
)
_PIN_OWNER = (
    r"(?:card|bank|debit|credit|phone|sim|voicemail|atm|my|your|our|the|karte|meine|mein|tarjeta|carte|mi|mon|мой|моя)"
)

_CODES = (
    # "PIN 4921", "the pin for my phone is 4921", "PIN of the bank card 4921"
    re.compile(rf"(?i){_START}{_PIN_NAME}{_QUALIFIER_PATTERN}{_LINK_PATTERN}{_PIN_DIGITS}"),
    re.compile(
        rf"(?:(?i:\b{_PIN_OWNER}[ -]+(?:pin|пин))|(?<!\w)(?:PIN|ПИН))(?i:[ -]?(?:code|number|код))?\s+"
        rf"(?:(?:карты|(?:de|of|for|von|der|del|van)(?:\s+(?:the|my|la|mi|ma|meiner))?(?:\s+[^\W\d_]+){{0,2}})\s+)?"
        rf"{_DIGITS}(?!\s+(?!(?:for|für|pour|para|and|und|is|are)\b)[a-z]{{3}})"
    ),
    re.compile(rf"(?i){_START}pin[ -]?code{_OF_CARD}?\s+(?P<value>\d{{4,5}}{_NO_UNIT})(?!\d)"),
    # "CVV 123", "the security code on the back is 123"
    re.compile(rf"(?i){_START}{_CARD_CODE_NAME}(?:{_QUALIFIER_PATTERN}{_LINK_PATTERN}|{_OF_CARD}?\s+){_CARD_DIGITS}"),
    re.compile(rf"(?i){_START}{_SECRET_NAME}(?:{_QUALIFIER_PATTERN}{_LINK_PATTERN}|\s+){_KEYPAD_DIGITS}"),
    # "alarm code 4921", "the door's code is 4921", "the code for the alarm is 4921"
    re.compile(
        rf"(?i){_START}(?:{_SECURED_NOUN})(?:['’]s)?[ _-]?(?:[\w-]+\s+)?(?:{_CODE_WORD}|pin)\b"
        rf"(?:{_QUALIFIER_PATTERN}{_LINK_PATTERN}|\s+){_KEYPAD_DIGITS}"
    ),
    re.compile(
        rf"(?i){_START}(?:{_CODE_WORD}\s[^.!?;\n:=\d]{{0,25}}?(?<!\w)(?:building|ל?ה?{_SECURED_NOUN})\b"
        rf"|pin\s+(?:for|of|to)\s[^.!?;\n:=\d]{{0,25}}?\b(?:phone|tablet|laptop|{_SECURED_NOUN})\b)"
        rf"(?:{_QUALIFIER_PATTERN}{_LINK_PATTERN}|\s+){_KEYPAD_DIGITS}"
    ),
    re.compile(
        rf"(?i)\b(?:backup|recovery|rescue)\s+codes?(?:{_LINK_PATTERN}|\s+)(?P<value>\d(?:[ -]?\d){{7,19}})(?!\w)"
    ),
    re.compile(r"(?i)\bcode\s+(?P<value>\d{4,8})\s+to\s+(?:log|sign|get|verify|confirm|open|unlock|disarm|enter)\b"),
    # "use code 551204", "opens with code 7741"
    re.compile(
        rf"(?i)\b(?:use|enter|type|opens?\s+with|unlocks?\s+with|mit|avec|con)\s+(?:the\s+|dem\s+|der\s+|le\s+|el\s+)?"
        rf"(?:pass)?(?:code|código|pin|combination)\s+{_DIGITS}"
    ),
    # "the safe opens with 34-12-27", "the luggage lock is set to 385"
    re.compile(
        r"(?i)\b(?:safe|(?:pad)?lock|vault|keypad|suitcase|gate|schloss|tresor|koffer|cadenas|coffre|candado|caja|lucchetto)\b"
        r"[^.!?;\n:=\d]{0,20}?\s(?:opens?\s+(?:with|to|on)|unlocks?\s+with|(?:is\s+)?set\s+to|öffnet\s+mit|s['’]ouvre\s+avec|"
        rf"se\s+abre\s+con|si\s+apre\s+con)\s+{_PIN_DIGITS}(?!\s+(?!(?:and|und|et|y|e)\b)[^\W\d_]{{3}})"
    ),
    # "I unlock my phone with 375503", "mein Handy entsperre ich mit 375503"
    re.compile(
        r"(?i)\b(?:unlock\w*|disarm\w*|entsperr\w*|entriegel\w*|déverrouill\w*|désactiv\w*|desbloque\w*|desactiv\w*|sblocc\w*"
        r"|disattiv\w*|destrav\w*|desativ\w*)\b[^.!?;\n:=\d]{0,40}?\s(?:with|using|by\s+typing|mit|durch|avec|en\s+tapant|con"
        rf"|com|digitando|tecleando)\s+(?:(?:the|my|dem|der|le|la|el|il|o)\s+)?{_PIN_DIGITS}(?!\s+(?!(?:and|und|et|y|e)\b)[^\W\d_]{{3}})"
    ),
    re.compile(rf"(?i)\bkeypad(?:{_LINK_PATTERN}|\s+(?:takes|needs|wants|accepts)\s+){_DIGITS}"),
    # "482913 is your code", "use 482913 as your passcode"
    re.compile(
        r"(?i)(?<![\w.,:-])(?:G-)?(?P<value>\d(?:[ -]?\d){3,7})\s+(?:is|as)\s+(?:(?:your|my|our|the)"
        r"\s+(?:[\w-]+\s+){0,3}?|(?:an?\s+)?(?:verification|confirmation|login|security|access)\s+)"
        r"(?:code|pin|passcode|otp)\b"
    ),
    re.compile(
        r"(?i)\b(?:enter|use|type|press|dial)\s+(?P<value>\d{4,8})\s+(?:as|to|for)\s+[^.!?\n\d]{0,40}?"
        r"\b(?:code|pin|passcode|alarm|door|gate|safe|log\s+in|sign\s+in|verify|confirm)\b"
    ),
    # "to open the gate type 6142#"
    re.compile(
        r"(?i)\b(?:open|unlock|disarm|get\s+in|log\s+in|sign\s+in)\b[^.!?\n\d]{0,40}?\b(?:type|enter|press|dial|use|punch\s+in)\s+"
        rf"[*#]?(?P<value>\d{{4,8}}{_NO_UNIT})(?!\s+[^\W\d_]{{3}})"
    ),
    # A comma behind the digits is no decimal one.
    re.compile(rf"(?:{_EAST_ASIAN_NAME})[^\d\n。、，,]{{0,6}}{_PIN_DIGITS.replace('[.,:]', '[.:]')}"),
    # "my authenticator seed is JBSW Y3DP EHPK 3PXP"
    re.compile(
        r"(?i)\b(?:authenticator|2fa|mfa|t?otp|two-factor)\b[^.!?\n:=\d]{0,25}?\b(?:seed|secret|key|schlüssel|cl[ée]|clave|chiave|chave)"
        rf"(?:{_LINK_PATTERN}|\s+)"
        r"(?P<value>(?=[a-z -]*(?:[a-z][2-7]|[2-7][a-z]))[a-z2-7]{4}(?:[ -]?[a-z2-7]{4}){3,}(?!\w))"
    ),
)
# "the code for the padlock is 3310": a code is secret unless what it is for says otherwise.
_ANY_CODE = re.compile(
    rf"(?i){_CODE_WORD}(?:\b|_)(?P<between>{_QUALIFIER_PATTERN}){_LINK_PATTERN}{_KEYPAD_DIGITS}"
    r"(?!\s+(?!(?:and|und|et|y|e|i|for|to|on|if|für|pour|para|per)\b)[^\W\d_]{3})"
)
_OWNER_CHARACTERS = 40
_WORD_BEGINNING = re.compile(r"(?:^|[\s\"'’])[^\W\d_]*\Z")
_CLAUSE_END = re.compile(r"[.!?;,\n]")
_SPELLED_NAME = re.compile(r"(?i)pin|cv[vc]|code|c[óo]di|puk|tan\b|otp")
_SPELLED_VALUE = re.compile(rf"(?i)\b{_DIGIT_WORDS}")
_TRIGGERS = re.compile(
    r"(?i)pin|пин|cv[vc]|unlock|disarm|entsperr|entrieg|verrouill|d[ée]s[ab]|sblocc|disatt|destrav|code|kode|código|codigo|codice|код|קוד|kod|κωδ|combin|kombin|clave|puk|tan|otp|einmal|pr[üu]f|cryptog"
    r"|one[ -]time|geheim|digits"
    r"|set\s+to|opens|unlocks|öffnet|ouvre|abre|apre|verification|security|authentic|2fa|mfa|factor|keypad|enter|use|type|press|dial|码|碼|コード|番号|인증|비밀"
)


def find_stated_codes(text: str) -> Iterator[tuple[int, int]]:
    """Yield where the digits of a code stand that the text names as secret."""
    has_value = re.search(r"\d", text) or (_SPELLED_NAME.search(text) and _SPELLED_VALUE.search(text))
    if not (has_value and _TRIGGERS.search(text)):
        return
    for pattern in _CODES:
        yield from (found.span("value") for found in pattern.finditer(text))
    for found in _ANY_CODE.finditer(text):
        before = _CLAUSE_END.split(text[max(0, found.start() - _OWNER_CHARACTERS) : found.start()])[-1]
        clause = before + text[found.start() : found.end("between")]
        is_in_sentence = len(clause.split()) > 1 and _WORD_BEGINNING.search(text[: found.start()])
        if is_in_sentence and not _IS_PUBLIC.search(clause):
            yield found.span("value")
