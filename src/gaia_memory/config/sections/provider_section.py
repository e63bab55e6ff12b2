"""The building blocks of the schema: frozen sections, numbers that are no truth values, providers of mem0."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from gaia_memory.redaction.mask import is_secret_name, mask_secrets


def reject_bool(value: object) -> object:
    """Return a value that is no truth value: for pydantic, true is 1."""
    if isinstance(value, bool):
        raise ValueError("is no number")
    return value


Count = Annotated[int, BeforeValidator(reject_bool)]
Amount = Annotated[float, BeforeValidator(reject_bool)]
Days = Annotated[int, Field(ge=1, le=36_500), BeforeValidator(reject_bool)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False), BeforeValidator(reject_bool)]


class Section(BaseModel):
    """A group of settings that does not change once it is made."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True, hide_input_in_errors=True)

    def __repr_args__(self) -> Iterable[tuple[str | None, Any]]:
        for name, value in super().__repr_args__():
            yield name, mask_secrets(value) if isinstance(value, str) else value


class ProviderConfig(Section):
    """Which provider of mem0 plays a part, and what it is told.

    Everything beside `provider` goes to mem0, whether it stands flat (`{provider: openai, model: m}`) or under
    mem0's own `config:`.
    """

    model_config = ConfigDict(json_schema_extra={"additionalProperties": True})

    provider: str = Field(
        default="auto",
        min_length=1,
        description="The provider's name: one of mem0's, or `offline`, or `auto`.",
        json_schema_extra={"allowed": "the name of a provider"},
    )
    config: Mapping[str, Any] = Field(
        default_factory=dict,
        description="What the provider is told: `model` and whatever else it knows.",
        json_schema_extra={"allowed": "a section of the provider's own keys"},
    )

    @model_validator(mode="before")
    @classmethod
    def _gather(cls, data: Any) -> Any:
        return normalize_provider(data) if isinstance(data, Mapping) else data

    def __repr_args__(self) -> Iterable[tuple[str | None, Any]]:
        yield "provider", self.provider
        yield "config", {key: "***" if is_secret_name(key) else value for key, value in self.config.items()}


class VectorStoreConfig(ProviderConfig):
    """Where mem0 keeps the vectors."""

    provider: str = Field(
        default="chroma",
        min_length=1,
        description="The store's name: one of mem0's vector stores.",
        json_schema_extra={"allowed": "the name of a vector store"},
    )


def normalize_provider(data: Mapping[str, Any]) -> dict[str, Any]:
    """A provider's section in one form: what stands flat joins what stands under `config`, and wins."""
    provider = {key: value for key, value in data.items() if key == "provider"}
    flat = {key: value for key, value in data.items() if key not in {"provider", "config"}}
    nested = {} if data.get("config") is None else data["config"]
    if not isinstance(nested, Mapping):
        return {**provider, "config": nested}
    return {**provider, "config": {**nested, **flat}}
