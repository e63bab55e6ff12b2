"""A provider's message is kept unless it repeats what a user said."""

from __future__ import annotations

import pytest

from gaia_memory.backend.model_errors import quotes_user_text, redact_user_text, to_model_error
from gaia_memory.errors import BadAnswerError, ModelError, ModelUnavailableError

TALK = ["My sister Noa is allergic to peanuts, what should I do?", "אחותי נועה גרה בחיפה"]


class RefusedError(Exception):
    """An error of a client for a status code."""

    def __init__(self, said: str, status: int = 400) -> None:
        self.status_code = status
        super().__init__(said)


@pytest.mark.parametrize(
    "said",
    [
        "invalid text: 'My sister Noa'",
        "PEANUTS are not allowed",
        "cannot read the input: what should I do? My sister No",
        "bad character near \\u05d0\\u05d7",
    ],
)
def test_a_message_that_repeats_user_text_is_removed(said: str) -> None:
    """Case, truncation, escapes and missing spaces make no difference; our own words stay."""
    error = to_model_error(RefusedError(said), subject="the model gemini/x")
    with pytest.raises(BadAnswerError) as caught, redact_user_text(TALK):
        raise error

    assert str(caught.value) == "the model gemini/x refused the request (400)"


@pytest.mark.parametrize(
    "said",
    ["API key not valid. Please pass a valid API key.", "what the user should do: use a longer context"],
)
def test_a_message_that_repeats_no_user_text_is_kept(said: str) -> None:
    """Very common words do not count as a repetition."""
    error = to_model_error(RefusedError(said, status=429), subject="the model gemini/x")
    with pytest.raises(ModelUnavailableError) as caught, redact_user_text(TALK):
        raise error

    assert said in str(caught.value)


def test_unknown_errors_are_redacted_too() -> None:
    """They may quote anything."""
    with pytest.raises(ModelError) as caught, redact_user_text(TALK):
        raise to_model_error(RuntimeError(f"cannot parse {TALK[0]}"), subject="the embedder x")

    assert str(caught.value) == "the embedder x could not be asked: RuntimeError"


def test_common_technical_words_do_not_count_as_user_text() -> None:
    """A provider's message about tokens is kept although users write such words."""
    assert not quotes_user_text("the input has too many tokens for this model", ["I used all my tokens on this model"])
