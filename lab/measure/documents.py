"""What is asked: seeded token ids, or real texts through the server's own tokenizer. No two documents share a block."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from lab.errors import LabError
from lab.knobs import check_document
from lab.measure.client import Client

NONCE_TOKENS = 16
_WORDS = "tier cache block chunk prefix token layer drive memory queue engine evict reuse prefill decode batch"


@dataclass(frozen=True)
class Document:
    """A prompt with a name."""

    name: str
    token_ids: tuple[int, ...]


class TokenSource:
    """Random token ids that depend on the seed and the document's name only."""

    def __init__(self, allowed: Sequence[int], seed: int) -> None:
        self._allowed = allowed
        self._seed = seed

    def document(self, name: str, tokens: int) -> Document:
        """``tokens`` ids."""
        chance = random.Random(f"{self._seed}/{name}")
        return Document(name, tuple(chance.choices(self._allowed, k=tokens)))

    def salted(self, document: Document, repeat: int) -> Document:
        """The same document behind fresh first ids, so that each repeat is cold again."""
        nonce = self.document(f"{document.name}/nonce-{repeat}", NONCE_TOKENS).token_ids
        return Document(document.name, nonce + document.token_ids[NONCE_TOKENS:])


def ordinary_ids(vocabulary: int) -> Sequence[int]:
    """The ids of a vocabulary without its outer 5 % at both ends, where special tokens live."""
    margin = vocabulary // 20
    return range(margin, vocabulary - margin)


def ids_of_words(client: Client) -> Sequence[int]:
    """Ids that a foreign server's tokenizer makes of plain words: safe to send back to it."""
    return sorted(set(client.tokenize(_WORDS)))


def read_documents(
    paths: Sequence[Path], tokenize: Callable[[str], Sequence[int]], chunk_tokens: int, room_tokens: int
) -> list[Document]:
    """Text files as token ids, each shortened by a token where its length is a multiple of the chunk.

    Raises:
        LabError: unreadable, not text, too short, too long, two of one name.
    """
    documents: list[Document] = []
    for path, text in read_texts(paths).items():
        ids = tokenize(text)
        ids = ids[:-1] if len(ids) % chunk_tokens == 0 else ids
        if len(ids) > room_tokens:
            raise LabError(
                f"{path} has {len(ids)} tokens; the pool leaves room for {room_tokens}: "
                f"raise --pool-tokens to at least {len(ids) + len(ids) // 8}"
            )
        try:
            check_document(len(ids), chunk_tokens)
        except LabError as error:
            raise LabError(f"{path}: {error}") from error
        documents.append(Document(path.name, tuple(ids)))
    return documents


def read_texts(paths: Sequence[Path]) -> dict[Path, str]:
    """Each file's text.

    Raises:
        LabError: unreadable, not text, two of one name.
    """
    texts: dict[Path, str] = {}
    for path in paths:
        if path.name in {other.name for other in texts}:
            raise LabError(f"two documents are named {path.name}: the table could not tell them apart")
        try:
            texts[path] = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise LabError(f"cannot read {path} as UTF-8 text: {error}") from error
    return texts
