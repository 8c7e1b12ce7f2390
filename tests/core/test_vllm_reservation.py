"""What vLLM reserves: public logs, and the rules a user must be able to rely on."""

import pytest

from kvtiers.errors import KvtiersError
from kvtiers.model import VllmOptions, kv_spec, reserve
from kvtiers.model.public import public_models
from kvtiers.units import GIB


def test_gpt_oss_120b_reserves_73728_bytes_a_token_without_the_hybrid_manager() -> None:
    reservation = reserve(kv_spec(public_models()["gpt-oss-120b"]), VllmOptions(hybrid_manager=False))
    assert reservation.reserved_bytes(16_000) == 16_000 * 73_728
    # a public vLLM log: "Available KV cache memory: 5.38 GiB", "GPU KV cache size: 78,384 tokens"; 5.38 is rounded
    assert reservation.capacity_tokens(int(5.38 * GIB), 131_072) == pytest.approx(78_384, rel=0.001)


def test_lmcache_in_process_costs_gemma_3_its_windows() -> None:
    """LMCacheConnectorV1 turns the hybrid manager off: 62 layers grow instead of 10."""
    spec = kv_spec(public_models()["Gemma-3-27B"])
    with_manager = reserve(spec).reserved_bytes(131_072)
    without = reserve(spec, VllmOptions(hybrid_manager=False))
    assert without.reserved_bytes(131_072) == 131_072 * 507_904
    assert without.reserved_bytes(131_072) > 4 * with_manager
    assert any("hybrid" in warning.text() for warning in without.warnings)


def test_chunked_attention_turns_the_manager_off_by_itself() -> None:
    spec = kv_spec(public_models()["Llama-4-Scout"])
    assert reserve(spec).reserved_bytes(32_768) == 32_768 * 196_608
    assert reserve(spec, VllmOptions(hybrid_manager=True)).reserved_bytes(32_768) < 32_768 * 196_608


def test_the_last_block_is_reserved_whole() -> None:
    reservation = reserve(kv_spec(public_models()["Llama-3.1-8B"]), VllmOptions(block_size=16))
    assert reservation.reserved_bytes(1) == reservation.reserved_bytes(16) == 16 * 131_072
    assert reservation.reserved_bytes(17) == 32 * 131_072


def test_users_multiply() -> None:
    reservation = reserve(kv_spec(public_models()["gpt-oss-20b"]))
    assert reservation.reserved_bytes(5000, users=7) == 7 * reservation.reserved_bytes(5000)


@pytest.mark.parametrize(
    ("model", "granularity"),
    [
        ("Llama-3.1-8B", 16),
        ("gpt-oss-120b", 16),
        ("Gemma-4-31B", 32),  # global layers hold half the bytes a token, so their blocks are twice as long
        ("Qwen3-Next-80B-A3B", 544),  # a block must hold a state of 1,097,728 B: 16 x ceil(1,097,728 / (16 x 2,048))
    ],
)
def test_hits_come_in_blocks_of_all_groups(model: str, granularity: int) -> None:
    reservation = reserve(kv_spec(public_models()[model]))
    assert reservation.hit_granularity_tokens == granularity
    assert reservation.smallest_hit_tokens(chunk_tokens=256) == max(granularity, 256)


@pytest.mark.parametrize(("tp", "copies"), [(1, 1), (2, 1), (8, 1), (16, 2), (32, 4)])
def test_kv_heads_are_copied_beyond_their_number(tp: int, copies: int) -> None:
    spec = kv_spec(public_models()["Llama-3-70B"])  # 8 KV heads
    assert reserve(spec, tp=tp).reserved_bytes(1024) == copies * 1024 * 327_680
    assert spec.kept_bytes(1024, tp=tp) == copies * 1024 * 327_680


def test_a_latent_is_copied_to_every_rank() -> None:
    spec = kv_spec(public_models()["DeepSeek-V3"])
    assert reserve(spec, tp=8).rank_reserved_bytes(1024) == reserve(spec).rank_reserved_bytes(1024)
    assert spec.kept_bytes(1024, tp=8) == 8 * spec.kept_bytes(1024)


def test_pipeline_stages_share_the_layers() -> None:
    spec = kv_spec(public_models()["Llama-3.1-405B"])  # 126 layers: 31, 32, 32, 31
    reservation = reserve(spec, pp=4)
    assert reservation.reserved_bytes(1024) == reserve(spec).reserved_bytes(1024)
    assert reservation.rank_reserved_bytes(1024) == 1024 * 32 * 4096


def test_kv_heads_that_no_rank_count_fits_are_refused() -> None:
    with pytest.raises(KvtiersError, match="tp=3"):
        reserve(kv_spec(public_models()["Llama-3.1-8B"]), tp=3)


def test_more_stages_than_layers_are_refused() -> None:
    with pytest.raises(KvtiersError, match="pp=33"):
        reserve(kv_spec(public_models()["Llama-3.1-8B"]), pp=33)


def test_state_layers_without_the_hybrid_manager_are_refused_as_vllm_does() -> None:
    with pytest.raises(KvtiersError, match="hybrid KV cache manager"):
        reserve(kv_spec(public_models()["Jamba-v0.1"]), VllmOptions(hybrid_manager=False))


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (VllmOptions(block_size=0), "block_size"),
        (VllmOptions(kernel_block=-1), "kernel_block"),
        (VllmOptions(max_num_batched_tokens=0), "max_num_batched_tokens"),
        (VllmOptions(concurrent_batches=0), "concurrent_batches"),
    ],
)
def test_options_below_one_are_named(options: VllmOptions, named: str) -> None:
    with pytest.raises(KvtiersError, match=named):
        reserve(kv_spec(public_models()["Llama-3.1-8B"]), options)


def test_a_kv_type_that_the_engine_does_not_have_says_so() -> None:
    assert any("q8_0" in w.text() for w in reserve(kv_spec(public_models()["Llama-3.1-8B"], "q8_0")).warnings)


def test_a_model_that_the_engine_does_not_serve_says_so() -> None:
    assert any("does not serve" in w.text() for w in reserve(kv_spec(public_models()["Phi-4-mini-flash"])).warnings)
