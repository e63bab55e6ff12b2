"""Credentials are recognised by their form and masked; the rest of a text stays as it is."""

# ruff: noqa: RUF001 - letters that look like others are meant

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaia_memory.redaction.credentials import (
    contains_credential,
    is_all_masked,
    mask_credentials,
    masked_kinds,
)
from gaia_memory.redaction.forms import FORMS

# A broken bar is removed, so that scanners do not take the texts for a leak.
STATED = {
    "My password is ~swordfish~, says Ada": "a password",
    "password: ~hunter2~": "a password",
    "the wifi password is ~correct horse battery staple~": "a password",
    "the passphrase is '~tea at noon~'": "a password",
    "Das Passwort ist ~Geheim99~ und der Router steht im Flur": "a password",
    "La contraseña del wifi es ~abracadabra9~": "a password",
    "パスワードは~hunter2x~、変更済み": "a password",
    "DB_PASSWORD=~s3cr3t!x~": "a password",
    "{'password': '~hunter2~'}": "a password",
    "guest wifi password ~Otter-5521~ for visitors": "a password",
    "He uses ~Otter5521~ as his password": "a password",
    "user: ada pass: ~swordfish~": "a password",
    "mara@example.org / ~Sternenstaub88~": "a password",
    "login ada / ~Nimbus!20~": "a password",
    "curl -u ada:~nimbus20~ https://example.org": "a password",
    "It lives at postgres://admin:~letmein~@db.local/app": "a password",
    "User's key is ~sk-¦proj-abcDEF1234567890abcd~": "a key or token",
    "Uses ~ghp_¦16C7e42F292c6912E7710c838347Ae178B4a~ to push": "a key or token",
    "token ~eyJ¦hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmN~": "a key or token",
    "see ~-----BEGIN RSA ¦PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----~ there": "a key or token",
    "It said ~Zx8Qv3Lm9Rt2Yp7Wk4Nd6Bf1~ twice": "a key or token",
    "AWS has ~wJalrXUtnFEMI/K7MDENG/bPxRfiCY¦EXAMPLEKEY~": "a key or token",
    "Authorization: Basic ~YWRtaW46aHVudGVyMg¦==~": "a key or token",
    "api_key=~a1b2c3d4e5f6~": "a key or token",
    "~zdurf9zw9hy44abc~ is the nuget key": "a key or token",
    "my PIN for the bank card is ~4821~": "a code",
    "PIN ~4821~ and no more": "a code",
    "The CVV is ~123~": "a code",
    "alarm code ~4921~": "a code",
    "~482913~ is your verification code": "a code",
    "验证码 ~839204~，5分钟内有效": "a code",
    "my words: ~legal winner thank year wave sausage worth useful legal winner thank yellow~": "a seed phrase",
    "card ~4111 1111 1111 1111~ expires soon": "an account number",
    "my Maestro card ~6759 6498 2643 8453~": "an account number",
    "the IBAN is ~DE89 3704 0044 0532 0130 00~": "an account number",
    "my SSN is ~219-09-9999~": "an account number",
    "SSN ~219 09 9999~": "an account number",
}
HARMLESS = [
    *("User forgot their password again", "The password was changed last week", "the password policy is annoying"),
    *("My password manager is Bitwarden", "I gave my password to Anna", "password: str = Field(min_length=8)"),
    *(
        "password = getpass.getpass()",
        "the API key is in the vault",
        "the primary key is company-17",
        "sort_key: user-1",
    ),
    *("User likes scikit-learn", "sk-learning is fun", "risk-assessment-for-the-team", "User likes keys and locks"),
    *("The error code is 4021", "zip code 90210", "The dress code: 1920s", "User wants to pin 1500 flyers to trees"),
    *("commit 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", "call +972 50 123 4567 at 9"),
    *("7b9e0e5c-3c1f-4f8e-9b1a-2f0d9c8e7a66", "file id 1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms"),
    *("User reads http://host:8000/models/name@001", "https://example.com/a/Zx8Qv3Lm9Rt2Yp7Wk4Nd6Bf1/b"),
    *("The order is 4111 1111 1111 1112", "The order is DE88 3704 0044 0532 0130 00", "The order is 000-09-9999"),
    "I will only use this one if you know that you can do it again when you are there and then go",
]


def both(marked: str) -> tuple[str, str, str]:
    """Return a marked text as it is meant, its secret, and the text around it with a place for the mask."""
    before, secret, behind = marked.replace("¦", "").split("~")
    return before + secret + behind, secret, f"{before}[redacted: {{}}]{behind}"


@pytest.mark.parametrize(("marked", "kind"), STATED.items(), ids=range(len(STATED)))
def test_only_the_credential_is_masked(marked: str, kind: str) -> None:
    """The rest of the text stays as it was written, and a second look changes nothing."""
    text, _, masked = both(marked)

    assert mask_credentials(text) == masked.replace("{}", kind)
    assert contains_credential(text)
    assert not contains_credential(masked.replace("{}", kind))
    assert masked_kinds(masked.replace("{}", kind)) == (kind,)


@pytest.mark.parametrize("text", HARMLESS)
def test_a_harmless_text_stays_as_it_is(text: str) -> None:
    """The form decides, not the topic."""
    assert mask_credentials(text) == text


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("ｐａｓｓｗｏｒｄ： ｐｌｕｍ９９，Ada", "ｐａｓｓｗｏｒｄ： [redacted: a password]，Ada"),
        ("Кто знает, пароль: слон99 ок", "Кто знает, пароль: [redacted: a password] ок"),
        ("card 4111\u200b1111 1111 1111 expires", "card [redacted: an account number] expires"),
        ("Kenn\u00adwort: plum99fig, Ada", "Kenn\u00adwort: [redacted: a password], Ada"),
    ],
)
def test_letters_of_other_forms_and_invisible_ones_keep_their_places(text: str, masked: str) -> None:
    """What a reader sees is searched, what was written is kept."""
    assert mask_credentials(text) == masked


@pytest.mark.parametrize("text", ["card 4111 1111 1111 1111", "DE89 3704 0044 0532 0130 00", "my SSN is 219-09-9999"])
def test_numbers_are_kept_if_they_are_allowed(text: str) -> None:
    """`memory.allow_numbers` does not reach PINs, verification values and one-time codes."""
    assert contains_credential(text)
    assert mask_credentials(f"{text}, PIN 4921", allow_numbers=True) == f"{text}, PIN [redacted: a code]"


@pytest.mark.parametrize(
    ("text", "is_nothing_else"),
    [
        ("[redacted: a code]", True),
        ("[redacted: a code], [redacted: a password].", True),
        ("PIN [redacted: a code]", False),
    ],
)
def test_a_text_of_masks_alone_is_told_apart(text: str, is_nothing_else: bool) -> None:
    """Only such a text is not worth keeping."""
    assert is_all_masked(text) is is_nothing_else


@given(st.lists(st.sampled_from([*(both(text)[0] for text in STATED), *HARMLESS, "is", ":", "\n"]), max_size=4))
def test_masking_twice_changes_nothing(texts: list[str]) -> None:
    """What is stored masked is masked again when it is shown."""
    masked = mask_credentials(" ".join(texts))

    assert mask_credentials(masked) == masked


@given(st.text(max_size=300))
def test_any_text_can_be_masked(text: str) -> None:
    """It never fails, whatever characters there are."""
    assert mask_credentials(mask_credentials(text)) == mask_credentials(text)


def test_every_kind_of_form_has_an_example() -> None:
    """A kind without one would not be tested above."""
    assert {form.kind for form in FORMS} == set(STATED.values())


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit",
    [
        *(
            "My password is /z./z.",
            "password for ",
            "password is ",
            "密码:abc",
            "a1",
            "1 ",
            "sk-",
            "pin 123 ",
            "code 1234 ",
        ),
        *("token a1b2c3d4 ", "a://a:b@", "abandon ", "é4 ", "as password ", "4000 1234 5678 9012 ", "2021-05-03 "),
        *(
            "a@b.cd:",
            "I live in Oslo and my sister likes tea. ",
            "[redacted: a code] ",
            "1234 is my code ",
            "m\u200b",
            "漢",
        ),
    ],
)
def test_screening_takes_a_millisecond_for_a_thousand_characters(unit: str) -> None:
    """Also where every word is one; the bounds leave room for a busy machine."""
    for size, most_seconds in ((1_000, 0.005), (100_000, 0.5)):
        text = (unit * size)[:size]
        taken = []
        for _ in range(5):
            begun = time.process_time()
            mask_credentials(text)
            taken.append(time.process_time() - begun)
            if taken[-1] < most_seconds:
                break
        assert min(taken) < most_seconds
