"""Write the embedded model: Qwen3-shaped, 27M parameters, seeded random weights. Runs in the engine's environment.

usage: python make_model.py DIRECTORY [SEED OF THE WEIGHTS]

The weights are wide enough that the next token depends on the whole context. vLLM's own ``--load-format dummy`` gives
flat logits, and then every answer looks alike whether or not the cache brought back the right KV.
"""

import json
import random
import shutil
import string
import sys
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast, Qwen3Config

SEED = 20260731
VOCABULARY = 2048
EMBEDDING_STD, LAYER_STD, HEAD_STD = 1.0, 0.05, 0.2


def write_tokenizer(directory: Path) -> None:
    """A byte-level BPE tokenizer trained on made-up words."""
    chance = random.Random(SEED)
    words = ["".join(chance.choices(string.ascii_lowercase, k=chance.randint(2, 8))) for _ in range(1500)]
    sentences = [" ".join(chance.choices(words, k=50)) + "." for _ in range(2000)]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(
        sentences,
        trainers.BpeTrainer(
            vocab_size=VOCABULARY,
            special_tokens=["<|pad|>", "<|end|>"],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    wrapped = PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="<|pad|>", eos_token="<|end|>")
    wrapped.chat_template = "{% for message in messages %}{{ message['content'] }}\n{% endfor %}"
    wrapped.save_pretrained(directory)


def write_weights(directory: Path, seed: int) -> None:
    """config.json and model.safetensors, float32."""
    config = Qwen3Config(
        vocab_size=VOCABULARY,
        hidden_size=512,
        intermediate_size=1536,
        num_hidden_layers=8,
        num_attention_heads=8,
        num_key_value_heads=4,
        head_dim=64,
        max_position_embeddings=40960,
        tie_word_embeddings=False,
        pad_token_id=0,
        bos_token_id=None,
        eos_token_id=1,
        dtype="float32",
    )
    torch.manual_seed(seed)
    model = AutoModelForCausalLM.from_config(config)
    with torch.no_grad():
        for name, weights in model.named_parameters():
            if weights.dim() == 2:
                std = EMBEDDING_STD if "embed" in name else HEAD_STD if "lm_head" in name else LAYER_STD
                weights.normal_(0.0, std)
    model.save_pretrained(directory)


def main(target: Path, seed: int = SEED) -> None:
    """Build beside the target and rename, so that a half-written model is never taken for a whole one."""
    building = target.with_name(target.name + ".building")
    shutil.rmtree(building, ignore_errors=True)
    building.mkdir(parents=True)
    write_tokenizer(building)
    write_weights(building, seed)
    (building / "made.json").write_text(json.dumps({"seed": seed, "torch": torch.__version__}))
    building.rename(target)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
