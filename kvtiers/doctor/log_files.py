"""Logs as blocks of whole lines, whatever they come in: files, standard input, gzip. Memory is bounded."""

import gzip
import zlib
from collections.abc import Iterator
from typing import BinaryIO

from kvtiers.errors import KvtiersError

BLOCK_BYTES = 1 << 18  # small enough to stay in the processor's cache while it is searched several times
_LONGEST_LINE = 1 << 22
_GZIP = b"\x1f\x8b"


class LogBlocks:
    """Iterates over blocks of whole lines. ``cut_off``: the compressed file ended early; known after iterating."""

    def __init__(self, stream: BinaryIO, name: str) -> None:
        self._stream = stream
        self._name = name
        self.cut_off = False

    def __iter__(self) -> Iterator[bytes]:
        head = self._stream.read(BLOCK_BYTES)
        if not head:
            raise KvtiersError(f"{self._name} is empty")
        pieces = self._decompressed(head) if head.startswith(_GZIP) else self._plain(head)
        rest = b""
        for number, piece in enumerate(pieces):
            if number == 0:
                self._require_text(piece)
            end = piece.rfind(b"\n") + 1
            if end:
                yield rest + piece[:end]
                rest = piece[end:]
            else:
                rest += piece
                if len(rest) > _LONGEST_LINE:  # no log line; keep memory bounded
                    rest = b""
        if rest:
            yield rest

    def _plain(self, head: bytes) -> Iterator[bytes]:
        while head:
            yield head
            head = self._stream.read(BLOCK_BYTES)

    def _decompressed(self, head: bytes) -> Iterator[bytes]:
        try:
            with gzip.GzipFile(mode="rb", fileobj=_Rejoined(head, self._stream)) as file:  # type: ignore[call-overload]
                while piece := file.read(BLOCK_BYTES):
                    yield piece
        except EOFError:
            self.cut_off = True
        except (OSError, zlib.error) as error:
            raise KvtiersError(f"{self._name} is a damaged gzip file: {error}") from None

    def _require_text(self, piece: bytes) -> None:
        if piece.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise KvtiersError(f"{self._name} is UTF-16 text: save it as UTF-8")
        if b"\0" in piece[:4096]:
            raise KvtiersError(f"{self._name} is not a text log")


class _Rejoined:
    """A stream whose first bytes were already read."""

    def __init__(self, head: bytes, stream: BinaryIO) -> None:
        self._head = head
        self._stream = stream

    def read(self, size: int = -1) -> bytes:
        if self._head:
            piece, self._head = self._head[:size], self._head[size:]
            return piece
        return self._stream.read(size)
