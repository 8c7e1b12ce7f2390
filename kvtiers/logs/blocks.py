"""Logs as blocks of whole lines, whatever they come in: files, standard input, gzip. Memory is bounded."""

import zlib
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from kvtiers.errors import KvtiersError

BLOCK_BYTES = 1 << 18  # small enough to stay in the processor's cache while it is searched several times
LONGEST_LINE = 1 << 22
_GZIP_MEMBER = 16 + zlib.MAX_WBITS


class LogBlocks:
    """Iterates over blocks of whole lines.

    Known after iterating: ``cut_off``: the compressed file ended early; ``overlong``: lines that were passed over, too
    long to be one of a log.
    """

    def __init__(self, stream: BinaryIO, name: str) -> None:
        self._stream = stream
        self._name = name
        self.cut_off = False
        self.overlong = 0

    def __iter__(self) -> Iterator[bytes]:
        head = self._stream.read(BLOCK_BYTES)
        if not head:
            raise KvtiersError(f"{self._name} is empty")
        pieces = self._plain(head)
        yield from self._whole_lines(
            self._texts(self._decompressed(pieces) if head.startswith(b"\x1f\x8b") else pieces)
        )

    def _plain(self, head: bytes) -> Iterator[bytes]:
        while head:
            yield head
            head = self._stream.read(BLOCK_BYTES)

    def _decompressed(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        """Every byte there is, of a file that was cut off as well; a file may have several members."""
        member = zlib.decompressobj(_GZIP_MEMBER)
        try:
            for piece in pieces:
                packed = piece if self.cut_off else piece.lstrip(b"\0")
                while packed:
                    self.cut_off = True  # until the member's end is found
                    yield member.decompress(packed, BLOCK_BYTES)
                    packed = member.unconsumed_tail
                    if member.eof:
                        packed = member.unused_data.lstrip(b"\0")  # padding between members
                        member = zlib.decompressobj(_GZIP_MEMBER)
                        self.cut_off = False
            yield member.flush()
        except zlib.error as error:
            raise KvtiersError(f"{self._name} is a damaged gzip file: {error}") from None

    def _texts(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        for number, piece in enumerate(pieces):
            if number == 0 and piece.startswith((b"\xff\xfe", b"\xfe\xff")):
                raise KvtiersError(f"{self._name} is UTF-16 text: save it as UTF-8")
            if number == 0 and b"\0" in piece[:4096]:
                raise KvtiersError(f"{self._name} is not a text log")
            yield piece

    def _whole_lines(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        """The same bytes, cut at ends of lines; a line of many megabytes is no log line and is passed over."""
        rest = b""
        for piece in pieces:
            end = piece.rfind(b"\n") + 1
            if end:
                yield rest + piece[:end]
                rest = piece[end:]
            elif len(rest) < LONGEST_LINE:
                rest = rest + piece
            else:
                rest = b""
                self.overlong += 1
        if rest:
            yield rest
