"""Which facts may answer a question."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict

import numpy as np

from gaia_memory.models.validation import raise_invalid, require_bool, require_label

if TYPE_CHECKING:
    from collections.abc import Collection

    from gaia_memory.recall.index.fact_columns import FactColumns


class VisibilityOptions(TypedDict, total=False):
    """The fields of a `Visibility`, as whoever asks a question gives them."""

    context: str | None
    include_sensitive: bool
    person_said: str


@dataclass(frozen=True, slots=True)
class Visibility:
    """The facts that a question may see: those of `context` and of no context, and with None those of any.

    Sensitive facts are among them with `include_sensitive`, or if the words `person_said` name them.
    """

    context: str | None = None
    include_sensitive: bool = False
    person_said: str = ""

    def sensitive_facts(self, columns: FactColumns) -> FactColumns:
        """Return the columns of the sensitive facts of the context."""
        return columns.select(np.flatnonzero(columns.is_sensitive & columns.is_in(self.context)))

    def apply(self, columns: FactColumns, named_ids: Collection[str]) -> FactColumns:
        """Return the columns of the facts that the question may see; `named_ids` are the sensitive ones it names."""
        if not self.include_sensitive and not named_ids:
            return columns.visible(self.context)
        may_see = np.full(len(columns), self.include_sensitive) | ~columns.is_sensitive
        may_see[columns.known_indices(named_ids)] = True
        return columns.select(np.flatnonzero(may_see & columns.is_in(self.context)))


def require_visibility(
    *, context: str | None = None, include_sensitive: bool = False, person_said: str = ""
) -> Visibility:
    """Return these options of a question.

    Raises:
        InvalidInputError: `context` can be no context, or an option has another type.
    """
    if context is not None:
        require_label("context", context)
    require_bool("include_sensitive", include_sensitive)
    if not isinstance(person_said, str):
        raise_invalid("person_said", person_said, "pass what the person said as text")
    return Visibility(context, include_sensitive, person_said)
