"""Facts, configuration and messages recognise the same forms of keys."""

from __future__ import annotations

import pytest

from gaia_memory.backend.model_errors import to_model_error
from gaia_memory.config.secrets import drop_secrets
from gaia_memory.config.sources.load import FILE_NAME
from gaia_memory.redaction.credentials import contains_credential
from gaia_memory.redaction.forms import KEY_FORMS
from gaia_memory.redaction.linear import compile_linear
from gaia_memory.redaction.mask import MASK, mask_secrets
from gaia_memory.redaction.redact_locations import CONFIG_FILE_NAME, redact_locations

# Put together at run time, so that scanners do not take the tests for a leak.
TWENTY = "a1B2c3D4e5F6g7H8i9J0"
HEX = "0a1b2c3d4e5f60718293a4b5c6d7e8f9"
KEYS = [
    "sk-" + "ant-" + TWENTY,
    "sk-" + "or-" + TWENTY,
    "sk-" + TWENTY,
    "AI" + "za" + TWENTY + TWENTY,
    "AQ" + "." + TWENTY,
    "gsk" + "_" + TWENTY,
    "xai" + "-" + TWENTY,
    "hf" + "_" + TWENTY,
    "AK" + "IA" + "ABCDEFGH12345678",
    "ya29" + "." + TWENTY,
    "sk" + "_live_" + TWENTY,
    "ghp" + "_" + TWENTY,
    "github" + "_pat_" + TWENTY,
    "glpat" + "-" + TWENTY,
    "xoxb" + "-" + TWENTY,
    "SG" + f".{TWENTY}.{TWENTY}",
    "ey" + f"J{TWENTY}.{TWENTY}.{TWENTY}",
    "shpat" + "_" + TWENTY,
    "dop" + "_v1_" + HEX,
    "key" + "-" + HEX,
    "SK" + HEX,
    "npm" + "_" + TWENTY + TWENTY,
    "pypi" + "-" + TWENTY + TWENTY,
    "rubygems" + "_" + HEX,
    "110201543" + ":AA" + TWENTY + TWENTY,
    "https://hooks." + "slack.com/services/T000/B000/" + TWENTY,
    "https://discord." + "com/api/webhooks/123/" + TWENTY + TWENTY,
    "M" + TWENTY + "abcde" + ".a1B2c3." + TWENTY + TWENTY,
    "hvs" + "." + TWENTY,
    "dapi" + HEX,
    "GOCSPX" + "-" + TWENTY,
    "1/" + "/0" + TWENTY + TWENTY,
    "lin" + "_api_" + TWENTY + TWENTY,
    "dckr" + "_pat_" + TWENTY,
    "whsec" + "_" + TWENTY,
    "sbp" + "_" + HEX,
    "sq0" + "atp-" + TWENTY,
    "r8" + "_" + TWENTY + TWENTY,
    "pplx" + "-" + TWENTY + TWENTY,
    "nvapi" + "-" + TWENTY + TWENTY,
    "PMAK" + "-" + HEX + HEX,
    "glsa" + "_" + TWENTY + TWENTY,
    "pat" + TWENTY[:14] + "." + HEX,
    HEX + "-" + "us14",
    "xkeysib" + "-" + HEX + HEX,
    "sntrys" + "_" + TWENTY + TWENTY,
    "EA" + "A" + TWENTY + TWENTY,
    "NRAK" + "-" + "ABCDEFGHIJKLMNOPQRSTUVWXYZ0",
    "lsv2" + "_pt_" + HEX,
    "amzn" + ".mws." + HEX,
    "pat" + "-eu1-" + HEX,
    TWENTY[:14] + ".atlasv1" + "." + TWENTY + TWENTY,
    "secret" + "_" + TWENTY + TWENTY,
    "ntn" + "_" + TWENTY + TWENTY,
    "figd" + "_" + TWENTY + TWENTY,
    "ATA" + "TT3" + TWENTY + TWENTY,
    "AGE-SECRET" + "-KEY-1" + TWENTY.upper() + TWENTY.upper(),
    "rzp" + "_live_" + TWENTY,
    "access_token" + "$production$" + "a1b2c3d4e5f6a7b8$" + HEX,
    "$" + "2b$12$" + TWENTY + TWENTY,
    "Account" + "Key=" + TWENTY + TWENTY,
    "si" + "g=" + TWENTY + TWENTY,
]


def test_every_form_has_an_example() -> None:
    """A form without an example would not be tested below."""
    forms = {form.name: compile_linear(form.pattern) for form in KEY_FORMS}
    assert [name for name, form in forms.items() if not any(form.fullmatch(key.encode()) for key in KEYS)] == []


@pytest.mark.parametrize("key", [*KEYS, "-----BEGIN " + f"EC PRIVATE KEY-----\n{TWENTY}"])
def test_a_key_is_recognised_in_facts_configuration_and_messages(key: str) -> None:
    """Otherwise it could be learned, stored or logged."""
    error = RuntimeError(f"refused {key}")
    clean, found = drop_secrets({"memory": {"llm": {"user": key}}})

    assert contains_credential(f"User noted {key}")
    assert (clean, len(found)) == ({"memory": {"llm": {}}}, 1)
    assert mask_secrets(f"refused {key}") == f"refused {MASK}"
    assert key not in str(to_model_error(error, subject="the model"))


@pytest.mark.parametrize("url", ["postgres://admin:letmein@db.local/app", "redis://:letmein@cache"])
def test_a_password_in_a_url_is_recognised_everywhere(url: str) -> None:
    """The user name may be missing."""
    assert contains_credential(f"The backup lives at {url}")
    assert drop_secrets({"memory": {"llm": {"host": url}}})[1]
    assert "letmein" not in mask_secrets(url)


def test_a_port_is_not_a_password() -> None:
    """This holds even if an at sign follows."""
    assert not contains_credential("User reads http://host:8000/models/name@001")


@pytest.mark.parametrize("text", ["sk-learning is fun", "hf_hub_models"])
def test_ordinary_words_in_facts_are_not_keys(text: str) -> None:
    """A false positive would lose a fact."""
    assert not contains_credential(f"User likes {text}")


def test_the_name_of_the_configuration_file_is_not_redacted() -> None:
    """It says which file to correct."""
    assert CONFIG_FILE_NAME == FILE_NAME
    assert redact_locations("/home/ada/.gaia/gaia.yaml is wrong") == "gaia.yaml is wrong"
