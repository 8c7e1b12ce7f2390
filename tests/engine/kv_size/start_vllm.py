"""Runs in the engine's own environment: starts vLLM once per case and prints what it set aside.

Each start has a process of its own, forked after the imports and ended without vLLM's shutdown: collecting garbage
among all that vLLM imports would take most of the time.

Standard input: a JSON list of cases ``{"name", "config", "arguments"}`` (arguments of ``vllm.LLM``). Standard output:
one JSON object a line, the engine's own log line, the memory it divided, and the settings it resolved.
"""

import gc
import json
import logging
import multiprocessing
import os
import sys
import tempfile
import traceback
from pathlib import Path

os.environ.update(
    VLLM_ENABLE_V1_MULTIPROCESSING="0",  # the engine's log must reach the handler here
    TORCHDYNAMO_DISABLE="1",
    OMP_NUM_THREADS="1",
    VLLM_NO_USAGE_STATS="1",
    DO_NOT_TRACK="1",
    HF_HUB_OFFLINE="1",
    CUDA_VISIBLE_DEVICES="",
)
RESULTS = os.fdopen(os.dup(1), "w", buffering=1)
os.dup2(2, 1)  # whatever libraries print goes to the error stream

from vllm import LLM, ModelRegistry  # noqa: E402
from vllm.v1.core import kv_cache_utils  # noqa: E402


class LogLines(logging.Filter):
    """Keeps the engine's messages. A filter, since vLLM's first start drops the handlers set before it."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def filter(self, record: logging.LogRecord) -> bool:
        """Keep the message and let it pass."""
        self.lines.append(record.getMessage())
        return True


def load_architecture(name: str) -> None:
    """Inspect the model class in this process: by itself vLLM starts an interpreter for each, ten seconds a piece."""
    ModelRegistry.register_model(name, ModelRegistry.models[name].load_model_cls())


def start(case: dict) -> dict:
    """Start the engine for one case."""
    log = LogLines()
    load_architecture(case["config"]["architectures"][0])
    kv_cache_utils.logger.addFilter(log)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "config.json").write_text(json.dumps(case["config"]), encoding="utf-8")
        engine = LLM(
            model=folder,
            load_format="dummy",
            skip_tokenizer_init=True,
            enforce_eager=True,
            distributed_executor_backend="uni",
            **case["arguments"],
        )
    STARTED.append(engine)
    core = engine.llm_engine.engine_core.engine_core
    settings = engine.llm_engine.vllm_config
    pool = core.scheduler.kv_cache_config
    return {
        "log": next((line for line in log.lines if "KV cache size" in line), ""),
        "memory_bytes": case["arguments"]["kv_cache_memory_bytes"],
        "prefix_caching": settings.cache_config.enable_prefix_caching,
        "state_dtype": settings.cache_config.mamba_ssm_cache_dtype,
        "in_flight_tokens": settings.max_in_flight_tokens,
        "max_model_len": settings.model_config.max_model_len,
        "hybrid_manager": not settings.scheduler_config.disable_hybrid_kv_cache_manager,
        "hit_granularity_tokens": pool.cache_hit_alignment_tokens,
    }


def try_start(case: dict) -> dict:
    """What the engine set aside for one case, or why it did not start."""
    try:
        result = start(case)
    except Exception as error:  # the test names the case and shows this
        result = {"error": "".join(traceback.format_exception(error))}
    return {"name": case["name"], **result}


STARTED: list[LLM] = []  # kept until the process ends
gc.collect()
gc.freeze()
with multiprocessing.get_context("fork").Pool(len(os.sched_getaffinity(0)), maxtasksperchild=1) as pool:
    for result in pool.imap(try_start, json.load(sys.stdin)):
        RESULTS.write(json.dumps(result) + "\n")
