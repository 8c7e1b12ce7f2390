"""Run by the engine's Python: commands of the lab as vLLM's own parser and its config checks read them. Cases in, one
object a line out."""

import json
import sys
import tempfile
from pathlib import Path

from vllm.engine.arg_utils import AsyncEngineArgs
from vllm.entrypoints.launchers.cli_args import make_arg_parser, validate_parsed_serve_args
from vllm.utils.argparse_utils import FlexibleArgumentParser
from vllm.v1.attention.backend import MultipleOf
from vllm.v1.attention.backends.flash_attn import FlashAttentionBackend
from vllm.v1.attention.backends.flex_attention import FlexAttentionBackend
from vllm.v1.attention.backends.triton_attn import TritonAttentionBackend


def main() -> None:
    for case in json.load(sys.stdin):
        try:
            result = load(case["arguments"], case["config"]) if "arguments" in case else whole_blocks(case["block"])
        except (Exception, SystemExit) as error:
            result = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps({"name": case["name"], **result}, default=str), flush=True)


def whole_blocks(block: int) -> dict:
    """Which attention backends of a GPU's take a block as it is. FlashInfer's is not there to ask."""
    backends = (FlashAttentionBackend, TritonAttentionBackend, FlexAttentionBackend)
    sizes = {backend.__name__: backend.get_supported_kernel_block_sizes() for backend in backends}
    return {
        name: any(block % size.base == 0 if isinstance(size, MultipleOf) else block == size for size in taken)
        for name, taken in sizes.items()
    }


def load(arguments: list[str], config: dict) -> dict:
    args = make_arg_parser(FlexibleArgumentParser()).parse_args(arguments)
    validate_parsed_serve_args(args)
    with tempfile.TemporaryDirectory() as directory:
        (Path(directory) / "config.json").write_text(json.dumps(config))
        args.model = directory
        engine = AsyncEngineArgs.from_cli_args(args)
        model = engine.create_model_config()
    return {
        "host": args.host,
        "port": args.port,
        "served_model_name": args.served_model_name,
        "block_size": engine.block_size,
        "num_gpu_blocks_override": engine.num_gpu_blocks_override,
        "gpu_memory_utilization": engine.gpu_memory_utilization,
        "kv_connector": engine.kv_transfer_config and engine.kv_transfer_config.kv_connector,
        "max_model_len": model.max_model_len,
        "architecture": model.architecture,
        "quantization": model.quantization,
        "dtype": str(model.dtype),
    }


main()
