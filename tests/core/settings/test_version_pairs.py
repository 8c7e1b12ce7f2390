import pytest

from kvtiers.settings.version_pairs import known_pairs, verdict


def test_the_recommended_pair_stands_first_and_works() -> None:
    first = known_pairs()[0]
    assert first.works
    assert verdict(first.vllm_from, first.lmcache_from, known_pairs()) == first


@pytest.mark.parametrize(
    ("vllm", "lmcache", "works"),
    [
        ("0.15.1", "0.3.8", False),
        ("0.15.1+cu129", "0.3.8", False),
        ("0.15.1", "0.3.9", None),
        ("0.32.0", "0.5.6", True),
    ],
)
def test_known_bad_pairs_are_known_and_others_are_not_guessed(vllm: str, lmcache: str, works: bool | None) -> None:
    pair = verdict(vllm, lmcache, known_pairs())
    assert (pair.works if pair else None) is works


def test_every_pair_names_its_source_and_date() -> None:
    for pair in known_pairs():
        assert pair.source.startswith(("measured here", "reported: "))
        assert len(pair.date) == len("2026-11-29")
