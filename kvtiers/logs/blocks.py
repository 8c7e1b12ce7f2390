"""Logs as blocks of whole lines, whatever they come in: files, standard input, gzip. Memory is bounded."""

import zlib
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain
from typing import BinaryIO

from kvtiers.errors import KvtiersError
from kvtiers.logs.state import Log

BLOCK_BYTES = 1 << 18  # small enough to stay in the processor's cache while it is searched several times
LONGEST_LINE = 1 << 22
_GZIP_MEMBER = 16 + zlib.MAX_WBITS


def blocks_of(stream: BinaryIO, name: str, log: Log) -> Iterator[bytes]:
    """Blocks of whole lines. ``log`` learns whether a compressed file ended early, and of lines too long to be read.

    Raises:
        KvtiersError: empty, no text, or damaged.
    """
    head = stream.read(BLOCK_BYTES)
    if not head:
        raise KvtiersError(f"{name} is empty")
    pieces: Iterable[bytes] = chain([head], iter(partial(stream.read, BLOCK_BYTES), b""))
    if head.startswith(b"\x1f\x8b"):
        pieces = _decompressed(pieces, name, log)
    rest = b""
    for number, piece in enumerate(pieces):
        if number == 0:
            _check_text(piece, name)
        end = piece.rfind(b"\n") + 1
        if end:
            yield rest + piece[:end]
            rest = piece[end:]
        elif len(rest) < LONGEST_LINE:
            rest = rest + piece
        else:  # many megabytes are no log line
            rest = b""
            log.not_read += 1
    if rest:
        yield rest


def _decompressed(pieces: Iterable[bytes], name: str, log: Log) -> Iterator[bytes]:
    """Every byte there is, of a file that was cut off as well; a file may have several members."""
    member = zlib.decompressobj(_GZIP_MEMBER)
    try:
        for piece in pieces:
            packed = piece if log.cut_off else piece.lstrip(b"\0")
            while packed:
                log.cut_off = True  # until the member's end is found
                yield member.decompress(packed, BLOCK_BYTES)
                packed = member.unconsumed_tail
                if member.eof:
                    packed = member.unused_data.lstrip(b"\0")  # padding between members
                    member = zlib.decompressobj(_GZIP_MEMBER)
                    log.cut_off = False
        yield member.flush()
    except zlib.error as error:
        raise KvtiersError(f"{name} is a damaged gzip file: {error}") from None


def _check_text(head: bytes, name: str) -> None:
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise KvtiersError(f"{name} is UTF-16 text: save it as UTF-8")
    if b"\0" in head[:4096]:
        raise KvtiersError(f"{name} is not a text log")
