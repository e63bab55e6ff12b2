"""Building blocks of the schema: frozen sections, numbers that reject booleans, mem0 providers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from gaia_memory.redaction.mask import is_secret_name, mask_secrets

REMOTE_STORE_KEYS = ("host", "url", "client", "api_key", "connection_string", "tenant")
"""Options of a vector store any of which puts it elsewhere than in a folder."""

_IN_FOLDERS = ("chroma", "faiss", "none", "qdrant")


def reject_bool(value: object) -> object:
    """Return a value unless it is a boolean, which pydantic would take for 0 or 1."""
    if isinstance(value, bool):
        raise ValueError("is not a number")
    return value


Count = Annotated[int, BeforeValidator(reject_bool)]
Amount = Annotated[float, BeforeValidator(reject_bool)]
Days = Annotated[int, Field(ge=1, le=36_500), BeforeValidator(reject_bool)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False), BeforeValidator(reject_bool)]


class Section(BaseModel):
    """A frozen group of settings."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True, hide_input_in_errors=True)

    def __repr_args__(self) -> Iterable[tuple[str | None, Any]]:
        for name, value in super().__repr_args__():
            yield name, mask_secrets(value) if isinstance(value, str) else value


class ProviderConfig(Section):
    """A mem0 provider and its own settings.

    All keys but `provider` go to mem0, either flat (`{provider: openai, model: m}`) or below mem0's own `config:`.
    """

    model_config = ConfigDict(json_schema_extra={"additionalProperties": True})

    provider: str = Field(
        default="auto",
        min_length=1,
        description="The provider's name: one of mem0's, `offline` or `auto`; for `memory.llm` also `agent`.",
        json_schema_extra={"allowed": "the name of a provider"},
    )
    config: Mapping[str, Any] = Field(
        default_factory=dict,
        description="The provider's own settings, such as `model`.",
        json_schema_extra={"allowed": "a section of the provider's own keys"},
    )

    @property
    def is_of_agent(self) -> bool:
        """Whether it is the agent's own model, which only the process of the agent has."""
        return self.provider == "agent"

    @model_validator(mode="before")
    @classmethod
    def _gather(cls, data: Any) -> Any:
        return normalize_provider(data) if isinstance(data, Mapping) else data

    def __repr_args__(self) -> Iterable[tuple[str | None, Any]]:
        yield "provider", self.provider
        yield "config", {key: "***" if is_secret_name(key) else value for key, value in self.config.items()}


class VectorStoreConfig(ProviderConfig):
    """The vector store of mem0."""

    provider: str = Field(
        default="chroma",
        min_length=1,
        description="The store's name: one of mem0's vector stores, or `none` if no other mem0 program reads it.",
        json_schema_extra={"allowed": "the name of a vector store"},
    )
    accept: bool = Field(
        default=False,
        description="Whether what other programs write to a store on a server becomes facts, unconfirmed.",
        json_schema_extra={"allowed": "true or false"},
    )

    @property
    def is_on_server(self) -> bool:
        """Whether other programs may write it, too."""
        return self.provider not in _IN_FOLDERS or any(self.config.get(key) for key in REMOTE_STORE_KEYS)

    @model_validator(mode="after")
    def _require_server_to_accept(self) -> Self:
        if self.accept and not self.is_on_server:
            where = "there is no store" if self.provider == "none" else "it is in a folder that only gaia may write"
            fix = "leave `accept` out, or name a store on a server"
            raise ValueError(f"accept is true, but the provider is {self.provider!r}: {where}; {fix}")
        return self


def normalize_provider(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return a provider section in one form: flat keys move into `config` and win over keys in it."""
    own = {"provider", "accept"}
    provider = {key: value for key, value in data.items() if key in own}
    flat = {key: value for key, value in data.items() if key not in {*own, "config"}}
    nested = {} if data.get("config") is None else data["config"]
    if not isinstance(nested, Mapping):
        return {**provider, "config": nested}
    return {**provider, "config": {**nested, **flat}}
