"""A run against a server that somebody else started, as far as that needs none."""

from types import SimpleNamespace

import pytest

from lab import url_run
from lab.errors import LabError
from lab.knobs import Knobs


@pytest.mark.parametrize(("tokens", "said"), [(700, "fills no chunk of 768"), (1536, "a multiple of the chunk of 768")])
def test_a_documents_length_is_judged_by_the_servers_own_chunk(
    tokens: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = SimpleNamespace(chunk_tokens=768, close=lambda: None)
    for name, stand_in in {
        "served_model": lambda url: "m",
        "CacheServer": lambda url, log: server,
        "pool_size": lambda client: (4096, 16),
        "ids_of_words": lambda client: range(100, 200),
    }.items():
        monkeypatch.setattr(url_run, name, stand_in)
    with pytest.raises(LabError, match=said):
        url_run.run_url("http://127.0.0.1:9", Knobs(document_tokens=tokens), "http://127.0.0.1:9", None, ())
