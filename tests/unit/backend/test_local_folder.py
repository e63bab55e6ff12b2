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
from gaia_memory.backend.providers import local, provider_specs
from gaia_memory.backend.providers.local import ModelFingerprint, fingerprint_model
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
    """Let sentence-transformers count as installed."""
    monkeypatch.setattr(local, "_PACKAGE", "json")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder as a model has it, with weights that are none."""
    made = tmp_path / "model"
    (made / "1_Pooling").mkdir(parents=True)
    (made / "modules.json").write_text(json.dumps(MODULES))
    (made / "config.json").write_text(json.dumps({"hidden_size": 384}))
    (made / "1_Pooling" / "config.json").write_text(json.dumps(MEAN))
    (made / "tokenizer.json").write_text("{}")
    (made / "model.safetensors").write_bytes(WEIGHTS)
    return made


def embedder(model: object) -> dict[str, Any]:
    """Return the embedder's section of a configuration."""
    return {"provider": "local", **({} if model is None else {"model": str(model)})}


async def refusal(tmp_path: Path, section: dict[str, Any]) -> str:
    """Return why memory is not opened with this embedder."""
    from gaia_memory.config.sources.load import load

    with pytest.raises(ConfigError) as refused:
        await Engine.open(load({"home": str(tmp_path / "home"), "memory": {"embedder": section}}))
    return str(refused.value)


@pytest.mark.usefixtures("installed")
async def test_a_name_that_is_no_folder_is_refused_with_key_value_and_fix(tmp_path: Path) -> None:
    """It is not taken for something to download."""
    said = await refusal(tmp_path, embedder("sentence-transformers/all-MiniLM-L6-v2"))

    assert "memory.embedder.model" in said
    assert "sentence-transformers/all-MiniLM-L6-v2' is no folder" in said
    assert "name the folder" in said
    assert "nothing is downloaded" in said


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("gone", ["model.safetensors", "config.json"])
async def test_a_folder_without_a_model_is_refused(tmp_path: Path, folder: Path, gone: str) -> None:
    """One that holds something else, or only a part of one."""
    (folder / gone).unlink()
    (folder / "modules.json").unlink()
    said = await refusal(tmp_path, embedder(folder))

    assert f"memory.embedder.model: '{folder}' holds no model" in said


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("broken", ["{", "[1]", '[{"type": "Transformer"}]'])
async def test_a_model_whose_files_are_broken_is_refused(tmp_path: Path, folder: Path, broken: str) -> None:
    """Before anything is written with it."""
    (folder / "modules.json").write_text(broken)
    said = await refusal(tmp_path, embedder(folder))

    assert f"'{folder}' cannot be read" in said


@pytest.mark.usefixtures("installed")
async def test_the_folder_has_to_be_named(tmp_path: Path) -> None:
    """There is no model that everybody has."""
    assert "memory.embedder.model: is missing: name the folder" in await refusal(tmp_path, embedder(None))


@pytest.mark.usefixtures("installed")
async def test_a_key_that_the_provider_does_not_have_is_named(tmp_path: Path, folder: Path) -> None:
    """As with every other provider."""
    said = await refusal(tmp_path, {**embedder(folder), "modell": "x"})

    assert "memory.embedder.modell: not a key of the provider 'local'; did you mean 'model'?" in said


async def test_a_missing_package_is_named_with_the_extra(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command that installs it stands there."""
    monkeypatch.setattr(local, "_PACKAGE", "no_such_package_at_all")

    assert "pip install 'gaia-memory[local]'" in await refusal(tmp_path, embedder(folder))


@pytest.mark.usefixtures("installed")
async def test_a_relative_path_is_taken_from_the_home(tmp_path: Path, folder: Path) -> None:
    """As that of a database is."""
    home = tmp_path / "home"
    shutil.copytree(folder, home / "models" / "small")
    told = await asyncio.to_thread(fingerprint_model, folder)
    backend = Backend(backend_config(home, embedder=embedder("models/small")))
    await backend.check()
    await backend.close()

    assert backend.embedder_provider.model == str(home / "models" / "small")
    assert backend.embedder.identity == f"local/{told.name}/384"


@pytest.mark.usefixtures("installed")
async def test_the_identity_is_known_once_memory_is_open(tmp_path: Path, folder: Path) -> None:
    """Without loading the model, so that its vectors and those of another model never count as the same."""
    from gaia_memory.config.sources.load import load

    told = await asyncio.to_thread(fingerprint_model, folder)
    loaded = load({"home": str(tmp_path / "home"), "memory": {"embedder": embedder(folder)}})
    engine = await Engine.open(loaded)
    try:
        assert engine.memory.embedder.identity == f"local/{told.name}/384"
    finally:
        await engine.close()


def test_a_model_keeps_its_name_where_its_folder_is_moved_or_described(folder: Path, tmp_path: Path) -> None:
    """What has no say in the vectors does not count."""
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
    "weights of another size": lambda it: (it / "model.safetensors").write_bytes(WEIGHTS + WEIGHTS),
    "tokenizer": lambda it: (it / "tokenizer.json").write_text("{ }"),
    "vocabulary": lambda it: (it / "vocab.txt").write_text("a"),
    "pooling": lambda it: (it / "1_Pooling" / "config.json").write_text(json.dumps({**MEAN, "include_prompt": True})),
    "prompts": lambda it: (it / "config_sentence_transformers.json").write_text('{"prompts": {"query": "query: "}}'),
    "parts": lambda it: (it / "modules.json").write_text(json.dumps(MODULES[:1])),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_another_model_in_the_same_folder_has_another_name(folder: Path, change: Callable[[Path], object]) -> None:
    """Their vectors must not mix."""
    before = fingerprint_model(folder).name
    change(folder)

    assert fingerprint_model(folder).name != before


@pytest.mark.parametrize(
    ("pooling", "dense", "expected"),
    [
        (MEAN, None, 384),
        ({**MEAN, "pooling_mode_max_tokens": True}, None, 768),
        (MEAN, {"in_features": 384, "out_features": 128}, 128),
        ({"word_embedding_dimension": 384}, None, None),
        ({"word_embedding_dimension": 384, "pooling_mode_mean_tokens": False}, {"out_features": "many"}, None),
    ],
)
def test_the_length_of_the_vectors_is_told_by_the_last_part(
    folder: Path, pooling: dict[str, Any], dense: dict[str, Any] | None, expected: int | None
) -> None:
    """Where the files do not settle it, the first vector does."""
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling))
    if dense is not None:
        (folder / "2_Dense").mkdir()
        (folder / "2_Dense" / "config.json").write_text(json.dumps(dense))
        (folder / "modules.json").write_text(json.dumps([*MODULES, {"path": "2_Dense", "type": "Dense"}]))

    assert fingerprint_model(folder).dimensions == expected


def test_a_plain_transformer_has_the_length_of_its_layers(folder: Path) -> None:
    """The library adds the mean over a text by itself."""
    (folder / "modules.json").unlink()
    shutil.rmtree(folder / "1_Pooling")

    assert fingerprint_model(folder).dimensions == 384


async def test_a_model_that_was_exchanged_since_the_start_is_not_asked(folder: Path, tmp_path: Path) -> None:
    """Its vectors would pass for those of the one before."""

    class Other:
        name = "another"

        def embed(self, *_: object) -> list[float]:
            return [1.0, 0.0]

    from gaia_memory.backend.embedder import Mem0Embedder
    from gaia_memory.backend.thread_pools import WorkerPools
    from gaia_memory.errors import ModelUnavailableError

    pools = WorkerPools()
    provider = provider_specs.Provider("local", {"model": str(folder)})
    made = Mem0Embedder(Other, provider, pools.embedder)
    made.adopt_fingerprint(ModelFingerprint("one", 2))
    made.adopt_fingerprint(ModelFingerprint("another", 2))
    with pytest.raises(ModelUnavailableError, match="has changed since memory was started"):
        await made.embed(["x"], purpose="add")
    again = Mem0Embedder(Other, provider, pools.embedder)
    again.adopt_fingerprint(ModelFingerprint("another", 2))

    assert (made.identity, again.identity) == ("local/one/2", "local/another/2")
    assert [*map(tuple, await again.embed(["x"], purpose="add"))] == [(1.0, 0.0)]
    await asyncio.gather(pools.embedder.close(), pools.store.close())
