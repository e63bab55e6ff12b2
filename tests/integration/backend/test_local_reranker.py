"""The reranker `local` over a small cross-encoder created here, with the library that reads real ones."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import pytest

from gaia_memory import open_memory
from support.storage.scripted_backend import backend_config

pytestmark = [
    pytest.mark.skipif(find_spec("sentence_transformers") is None, reason="no gaia-memory[local]"),
    # Other libraries warn of what they do to one another on import.
    pytest.mark.filterwarnings("default"),
]
WORDS = "[PAD] [UNK] [CLS] [SEP] [MASK] noa drinks what does likes green tea a dog has lives in haifa ?".split()  # noqa: SIM905
TEXTS = ("Noa drinks green tea", "Noa has a dog", "Noa lives in Haifa")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A cross-encoder with random weights, saved like a real one."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

    made = tmp_path / "encoder"
    tokens = Tokenizer(models.WordLevel({word: place for place, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokens.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Whitespace()])
    PreTrainedTokenizerFast(tokenizer_object=tokens, pad_token="[PAD]", unk_token="[UNK]").save_pretrained(made)
    torch.manual_seed(3)
    sizes = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    BertForSequenceClassification(BertConfig(vocab_size=len(WORDS), num_labels=1, **sizes)).save_pretrained(made)
    assert json.loads((made / "config.json").read_text())["num_hidden_layers"] == 1
    return made


async def test_a_cross_encoder_from_a_folder_orders_the_hits(folder: Path, tmp_path: Path) -> None:
    """By its own scores, whatever they are, without a network (sockets are blocked)."""
    memory = {"llm": {"provider": "offline"}, "embedder": {"provider": "offline"}}
    reranker = {"provider": "local", "model": str(folder)}
    told = backend_config(tmp_path / "home", **memory, reranker=reranker, recall={"seconds": 60})
    async with open_memory(told, model="offline") as gaia:
        scope = gaia.scope("itay")
        for text in TEXTS:
            await gaia.memory.remember(scope, text.lower())
        hits = await gaia.memory.recall(scope, "what does noa drinks ?")

    from sentence_transformers import CrossEncoder

    pairs = [("what does noa drinks ?", hit.fact.text) for hit in hits]
    own = CrossEncoder(str(folder), local_files_only=True).predict(pairs).tolist()
    assert len(set(own)) == len(TEXTS)
    assert own == sorted(own, reverse=True)
    assert [(set(hit.why), hit.missing) for hit in hits] == [({"reranker"}, ())] * len(TEXTS)
