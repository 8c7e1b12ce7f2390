"""A small server that shows what a real one cannot be made to show on demand."""

import json
import time
import zlib
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler

from tests.lab import answering
from tests.lab.answering import Answering

KEY = "the-key"
POOL_TOKENS = 3000
COLD_S, HIT_S = 0.2, 0.001  # far enough apart for a busy machine
METRICS = """# TYPE vllm:request_success counter
vllm:request_success_total {requests}
# TYPE vllm:prefix_cache_queries counter
vllm:prefix_cache_queries_total {own_queries}
# TYPE vllm:prefix_cache_hits counter
vllm:prefix_cache_hits_total {own_hits}
# TYPE vllm:external_prefix_cache_queries counter
vllm:external_prefix_cache_queries_total {external_queries}
# TYPE vllm:external_prefix_cache_hits counter
vllm:external_prefix_cache_hits_total {external_hits}
# TYPE vllm:cache_config_info gauge
vllm:cache_config_info{{block_size="16",num_gpu_blocks="{blocks}"}} 1
"""


@dataclass
class Engine:
    """A server's memory: prompts in the pool, oldest first, and in the tier; a word is a token."""

    connector: bool = True
    tier: bool = True
    chat_only: bool = False
    metrics: bool = True
    usage_details: bool = True
    stale: bool = False
    answers: str = "same"  # or "other when cached", or "other from the tier"
    gap_nats: float | None = 2.0  # between the two answers; None: it gives no logprobs
    wait_s: float = 0.0
    forgets: bool = False  # prefix caching off
    others: int = 0  # tokens that somebody else asks meanwhile
    refuse_after: int = 10**9
    status: int = 429
    break_stream: bool = False
    from_tier: bool = False  # the last answer
    pool_blocks: int = POOL_TOKENS // 16 + 1
    pool: list[str] = field(default_factory=list)
    stored: set[str] = field(default_factory=set)
    counts: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys(
            ("requests", "own_queries", "own_hits", "external_queries", "external_hits"), 0
        )
    )

    def ask(self, prompt: str) -> tuple[int, int]:
        """Tokens of the prompt, and of those cached."""
        tokens = len(prompt.split())
        known = (
            prompt if not self.stale else next((p for p in self.pool if p.split()[1:] == prompt.split()[1:]), prompt)
        )
        own = tokens - 1 if known in self.pool else 0
        external = tokens - 1 - own if self.connector and self.tier and prompt in self.stored and not own else 0
        self.from_tier = external > 0
        self.counts["requests"] += 1
        self.counts["own_queries"] += tokens + self.others
        self.counts["own_hits"] += own
        self.counts["external_queries"] += tokens - own if self.connector else 0
        self.counts["external_hits"] += external
        time.sleep(self.wait_s + (HIT_S if own or external else COLD_S))
        self.pool = [*(held for held in self.pool if held != prompt), prompt]
        if self.forgets:
            self.pool.clear()
        while sum(len(held.split()) for held in self.pool) > POOL_TOKENS:
            self.pool.pop(0)
        self.stored.add(prompt)
        return tokens, own + external


class _Handler(Answering, BaseHTTPRequestHandler):
    engine: Engine
    asked = 0

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        engine = self.engine
        type(self).asked += 1
        if self.headers.get("authorization") != f"Bearer {KEY}":
            self.answer(401, b'{"error": "Unauthorized"}')
        elif type(self).asked > engine.refuse_after:
            self.answer(engine.status, b"slow down")
        elif "prompt_logprobs" in body:
            self._logprobs(engine)
        elif engine.chat_only and self.path != "/v1/chat/completions":
            self.answer(404, b"The model does not support Completions API")
        else:
            self.answer(200, self._stream(body))

    def _logprobs(self, engine: Engine) -> None:
        if engine.gap_nats is None:
            self.answer(400, b"logprobs are switched off")
            return
        likely = {"token_id:1": -0.5, "token_id:2": -0.5 - engine.gap_nats}
        self.answer(200, json.dumps({"choices": [{"logprobs": {"top_logprobs": [likely]}}]}).encode())

    def _stream(self, body: dict[str, object]) -> bytes:
        chat = "messages" in body
        prompt = body["messages"][0]["content"] if chat else body["prompt"]  # type: ignore[index]
        tokens, cached = self.engine.ask(str(prompt))
        changed = {"same": False, "other when cached": cached > 0, "other from the tier": self.engine.from_tier}
        same = not changed[self.engine.answers]
        word = "x" if same else "y"
        texts = ["", word, word]
        ids = [[], *[[1 if same else 2]] * 2]
        choices: list[dict[str, object]]
        if chat:
            choices = [{"delta": {"role": "assistant", "content": ""}}, {"delta": {"reasoning_content": word}}]
            choices += [{"delta": {"content": word}}]
        else:
            choices = [{"text": text} for text in texts]
        for choice, token_ids in zip(choices, ids, strict=True):
            choice["token_ids"] = token_ids
        events: list[dict[str, object]] = [{"choices": [choice]} for choice in choices]
        events[0]["prompt_token_ids"] = [zlib.crc32(word.encode()) for word in str(prompt).split()]
        usage: dict[str, object] = {"prompt_tokens": tokens}
        if self.engine.usage_details:
            usage["prompt_tokens_details"] = {"cached_tokens": cached}
        events.append({"choices": [], "usage": usage})
        if self.engine.break_stream:
            events.insert(2, {"error": {"message": "EngineCore died"}})
        return b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events) + b"data: [DONE]\n\n"

    def do_GET(self) -> None:
        if self.headers.get("authorization") != f"Bearer {KEY}":
            self.answer(401, b"Unauthorized")
        elif self.path == "/v1/models":
            self.answer(200, b'{"data": [{"id": "m"}]}')
        elif self.path == "/metrics" and self.engine.metrics:
            self.answer(200, METRICS.format(**self.engine.counts, blocks=self.engine.pool_blocks).encode())
        else:
            self.answer(404, b"not here")


def serving(engine: Engine) -> AbstractContextManager[str]:
    return answering.serving(_Handler, engine=engine, asked=0)
