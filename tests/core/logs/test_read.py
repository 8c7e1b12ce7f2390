"""A log is read from whatever it comes in, with bounded memory."""

import gzip
import io
import os
import threading
import tracemalloc
from pathlib import Path

import pytest

from kvtiers.errors import KvtiersError
from kvtiers.logs.read import read_log, read_log_file
from tests.core.logs.builders import REAL


@pytest.mark.parametrize("data", [REAL.read_bytes(), gzip.compress(REAL.read_bytes())], ids=["plain", "gzip"])
def test_a_pipe_is_read(data: bytes, tmp_path: Path) -> None:
    """``diagnose <(zcat log)``: what cannot be read twice."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(data,), daemon=True)
    writer.start()
    log = read_log_file(path)
    writer.join()
    assert (len(log.finished), log.cut_off) == (15, False)


def test_gzip_and_a_gzip_cut_off() -> None:
    packed = gzip.compress(REAL.read_bytes() + b"".join(b"%d\n" % number for number in range(200_000)))
    whole = read_log(io.BytesIO(packed), "log.gz")
    assert not whole.cut_off
    part = read_log(io.BytesIO(packed[:-20_000]), "log.gz")
    assert part.cut_off
    assert part.finished == whole.finished


def test_a_short_gzip_cut_off_gives_what_is_left_of_it() -> None:
    packed = gzip.compress(REAL.read_bytes())
    log = read_log(io.BytesIO(packed[:-200]), "log.gz")
    assert log.cut_off
    assert log.finished


def test_a_gzip_of_several_members_is_read_to_its_end() -> None:
    half = len(REAL.read_bytes()) // 2
    members = gzip.compress(REAL.read_bytes()[:half]) + b"\0\0" + gzip.compress(REAL.read_bytes()[half:])
    log = read_log(io.BytesIO(members), "log.gz")
    assert not log.cut_off
    assert len(log.finished) == 15


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "empty"),
        (b"\x7fELF\0\0\0", "not a text log"),
        ("Reqid".encode("utf-16"), "UTF-16"),
        (b"\x1f\x8b\x08\0broken", "damaged|no line"),
        (b"hello\nworld\n", "no line of vLLM or LMCache"),
        (b"lmcache==0.5.6\nvllm==0.20.0\n", "no line of vLLM or LMCache"),
    ],
)
def test_what_is_no_log_is_refused_in_plain_words(data: bytes, message: str) -> None:
    with pytest.raises(KvtiersError, match=message):
        read_log(io.BytesIO(data), "file")


def test_memory_does_not_grow_with_the_log() -> None:
    once = REAL.read_bytes()

    class Endless(io.RawIOBase):
        left = 400

        def read(self, size: int = -1) -> bytes:
            self.left -= 1
            number = str(self.left).encode()
            return once.replace(b"kvtiers-", b"kvtiers-" + number + b"-") if self.left > 0 else b""

    tracemalloc.start()
    read_log(Endless(), "log", keep=20)  # type: ignore[arg-type]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20e6
