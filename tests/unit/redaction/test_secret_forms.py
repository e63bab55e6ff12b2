"""Facts, configuration and messages recognise the same forms of keys."""

from __future__ import annotations

import pytest

from gaia_memory.backend.model_errors import to_model_error
from gaia_memory.config.secrets import drop_secrets
from gaia_memory.config.sources.load import FILE_NAME
from gaia_memory.redaction.credentials import contains_credential
from gaia_memory.redaction.mask import MASK, mask_secrets
from gaia_memory.redaction.redact_locations import CONFIG_FILE_NAME, redact_locations
from gaia_memory.redaction.secret_forms import KEY_FORMS

# Put together at run time, so that scanners do not take the tests for a leak.
TWENTY = "a1B2c3D4e5F6g7H8i9J0"
HEX = "0a1b2c3d4e5f60718293a4b5c6d7e8f9"
KEYS = {
    r"sk-ant-": "sk-" + "ant-" + TWENTY,
    r"sk-or-": "sk-" + "or-" + TWENTY,
    r"sk-": "sk-" + TWENTY,
    r"AIza": "AI" + "za" + TWENTY + TWENTY,
    r"AQ\.": "AQ" + "." + TWENTY,
    r"gsk_": "gsk" + "_" + TWENTY,
    r"xai-": "xai" + "-" + TWENTY,
    r"hf_": "hf" + "_" + TWENTY,
    r"(?:AKIA|ASIA)": "AK" + "IA" + "ABCDEFGH12345678",
    r"ya29\.": "ya29" + "." + TWENTY,
    r"[srp]k_(?:live|test)_": "sk" + "_live_" + TWENTY,
    r"gh[pousr]_": "ghp" + "_" + TWENTY,
    r"github_pat_": "github" + "_pat_" + TWENTY,
    r"gl(?:pat|": "glpat" + "-" + TWENTY,
    r"xox[a-z]-": "xoxb" + "-" + TWENTY,
    r"SG\.": "SG" + f".{TWENTY}.{TWENTY}",
    r"eyJ": "ey" + f"J{TWENTY}.{TWENTY}.{TWENTY}",
    r"shp(?:at|ca|pa|ss)_": "shpat" + "_" + TWENTY,
    r"do[opr]_v1_": "dop" + "_v1_" + HEX,
    r"key-": "key" + "-" + HEX,
    r"(?:AC|SK)[a-f0-9]": "SK" + HEX,
    r"npm_": "npm" + "_" + TWENTY + TWENTY,
    r"pypi-": "pypi" + "-" + TWENTY + TWENTY,
    r"rubygems_": "rubygems" + "_" + HEX,
    r"\d{8,10}:AA": "110201543" + ":AA" + TWENTY + TWENTY,
    r"https://hooks": "https://hooks." + "slack.com/services/T000/B000/" + TWENTY,
    r"https://(?:ptb": "https://discord." + "com/api/webhooks/123/" + TWENTY + TWENTY,
    r"[MNO][A-Za-z0-9_-]{23": "M" + TWENTY + "abcde" + ".a1B2c3." + TWENTY + TWENTY,
    r"hv[sb]\.": "hvs" + "." + TWENTY,
    r"dapi": "dapi" + HEX,
    r"GOCSPX-": "GOCSPX" + "-" + TWENTY,
    r"1//0": "1/" + "/0" + TWENTY + TWENTY,
    r"lin_api_": "lin" + "_api_" + TWENTY + TWENTY,
    r"dckr_pat_": "dckr" + "_pat_" + TWENTY,
    r"whsec_": "whsec" + "_" + TWENTY,
    r"sbp_": "sbp" + "_" + HEX,
    r"sq0[a-z]{3}-": "sq0" + "atp-" + TWENTY,
    r"r8_": "r8" + "_" + TWENTY + TWENTY,
    r"pplx-": "pplx" + "-" + TWENTY + TWENTY,
    r"nvapi-": "nvapi" + "-" + TWENTY + TWENTY,
    r"PMAK-": "PMAK" + "-" + HEX + HEX,
    r"gl(?:sa|c)_": "glsa" + "_" + TWENTY + TWENTY,
    r"pat[A-Za-z0-9]{14}": "pat" + TWENTY[:14] + "." + HEX,
    r"[a-f0-9]{32}-us": HEX + "-" + "us14",
    r"xkeysib-": "xkeysib" + "-" + HEX + HEX,
    r"sntrys_": "sntrys" + "_" + TWENTY + TWENTY,
    r"EAA": "EA" + "A" + TWENTY + TWENTY,
    r"NRAK-": "NRAK" + "-" + "ABCDEFGHIJKLMNOPQRSTUVWXYZ0",
    r"lsv2_": "lsv2" + "_pt_" + HEX,
    r"amzn\.mws\.": "amzn" + ".mws." + HEX,
    r"pat-[a-z]{2}": "pat" + "-eu1-" + HEX,
    r"[A-Za-z0-9]{14}\.atlasv1": TWENTY[:14] + ".atlasv1" + "." + TWENTY + TWENTY,
    r"secret_": "secret" + "_" + TWENTY + TWENTY,
    r"ntn_": "ntn" + "_" + TWENTY + TWENTY,
    r"figd_": "figd" + "_" + TWENTY + TWENTY,
    r"ATATT3": "ATA" + "TT3" + TWENTY + TWENTY,
    r"AGE-SECRET-KEY-1": "AGE-SECRET" + "-KEY-1" + TWENTY.upper() + TWENTY.upper(),
    r"rzp_": "rzp" + "_live_" + TWENTY,
    r"access_token\$": "access_token" + "$production$" + "a1b2c3d4e5f6a7b8$" + HEX,
    r"\$(?:apr1": "$" + "2b$12$" + TWENTY + TWENTY,
    r"AccountKey=": "Account" + "Key=" + TWENTY + TWENTY,
    r"sig=": "si" + "g=" + TWENTY + TWENTY,
}


def test_every_form_has_an_example() -> None:
    """A form without an example would not be tested below."""
    assert [form.pattern for form in KEY_FORMS if not form.pattern.startswith(tuple(KEYS))] == []
    assert len(KEYS) == len(KEY_FORMS)


@pytest.mark.parametrize("key", [*KEYS.values(), "-----BEGIN " + f"EC PRIVATE KEY-----\n{TWENTY}"])
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


@pytest.mark.parametrize(
    "text", ["scikit-learn", "sk-learning is fun", "hf_hub_models", "risk-assessment-for-the-team"]
)
def test_ordinary_words_in_facts_are_not_keys(text: str) -> None:
    """A false positive would lose a fact."""
    assert not contains_credential(f"User likes {text}")


def test_the_name_of_the_configuration_file_is_not_redacted() -> None:
    """It says which file to correct."""
    assert CONFIG_FILE_NAME == FILE_NAME
    assert redact_locations("/home/ada/.gaia/gaia.yaml is wrong") == "gaia.yaml is wrong"
