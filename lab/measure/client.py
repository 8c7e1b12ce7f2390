"""Streaming completions over one warm connection, timed where the first content token arrives."""

import contextlib
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import httpx

from lab.measure.server import RequestError, Server, said

# A cold 8k prompt takes half a minute on one CPU core; only a dead server takes this long.
READ_TIMEOUT_S = 600.0
# As many as vLLM gives unless its --max-logprobs says otherwise.
LIKELIEST = 20
_LOGPROBS = {"logprobs": 0}  # of the token that was chosen, and of no other


@dataclass(frozen=True)
class Completion:
    """One answer. ``ttft_s``: from sending the request to the first token; ``tpot_s``: mean per token after it;
    ``cached_tokens`` and ``prompt_ids``: of the prompt, where the server tells; ``logprobs``: of each generated token,
    where they were asked for."""

    prompt_tokens: int
    token_ids: tuple[int, ...]
    text: str
    ttft_s: float
    tpot_s: float
    cached_tokens: int | None = None
    prompt_ids: tuple[int, ...] = ()
    logprobs: tuple[float, ...] = ()


class Client(Server):
    """Talks to one OpenAI-compatible vLLM server, with ``api_key`` where it wants one. Each method raises RequestError
    with what the server said. ``logprobs``: of the generated tokens, too; that takes time."""

    def __init__(
        self, url: str, model: str, api_key: str | None = None, *, read_timeout_s: float = READ_TIMEOUT_S
    ) -> None:
        headers = {"authorization": f"Bearer {api_key}"} if api_key else {}
        base = url.rstrip("/").removesuffix("/v1")  # as OpenAI's own clients are told it, or without
        super().__init__(base, timeout=httpx.Timeout(10.0, read=read_timeout_s), headers=headers)
        self.model = model

    def complete(
        self, prompt: Sequence[int], max_tokens: int, request_id: str, *, logprobs: bool = False
    ) -> Completion:
        """Greedy completion of a prompt of token ids, sent as they are: no chat template, no tokenizer between us and
        the cache. Always ``max_tokens`` are generated; the engine logs the request as ``cmpl-<request_id>-0…``."""
        more = _LOGPROBS if logprobs else {}
        return self._stream("/v1/completions", request_id, max_tokens, prompt=list(prompt), ignore_eos=True, **more)

    def ask(self, text: str, max_tokens: int, request_id: str, *, chat: bool, logprobs: bool = False) -> Completion:
        """Greedy answer of at most ``max_tokens`` to a text as prompt or, with ``chat``, as the only message: for
        servers whose tokenizer we do not have."""
        if chat:
            message = {"role": "user", "content": text}
            path = "/v1/chat/completions"
            return self._stream(path, request_id, max_tokens, messages=[message], logprobs=logprobs)
        return self._stream("/v1/completions", request_id, max_tokens, prompt=text, **(_LOGPROBS if logprobs else {}))

    def _stream(self, path: str, request_id: str, max_tokens: int, **asked: Any) -> Completion:
        asked |= {"model": self.model, "max_tokens": max_tokens, "temperature": 0, "stream": True}
        asked |= {"stream_options": {"include_usage": True}, "return_token_ids": True}
        content = json.dumps(asked, separators=(",", ":")).encode()
        headers = {"content-type": "application/json", "accept-encoding": "identity", "x-request-id": request_id}
        arrivals: list[tuple[float, bytes]] = []
        request = self._http.build_request("POST", path, content=content, headers=headers)
        started = time.perf_counter()
        try:
            with contextlib.closing(self._http.send(request, stream=True)) as response:
                if response.status_code != httpx.codes.OK:
                    status = response.status_code
                    raise RequestError(f"the server answered {status}: {said(response.read())}", status)
                # Arrival is noted before anything is parsed: parsing is our time, not the engine's.
                for piece in response.iter_raw():
                    arrivals.append((time.perf_counter(), piece))
        except httpx.HTTPError as error:
            raise RequestError(f"the connection to {self.url} broke: {error or type(error).__name__}") from error
        return _completion(arrivals, started)

    def gap_nats(self, prompt: Sequence[int], first: int, second: int) -> float | None:
        """By how much the likelier of two tokens is likelier to come next, in nats; None where one of them is not among
        the LIKELIEST. Computed anew, whatever caches hold: vLLM reads none where a prompt's own logprobs are asked for.
        """
        body = {
            "model": self.model,
            "prompt": list(prompt),
            "max_tokens": 1,
            "temperature": 0,
            "prompt_logprobs": 0,
            "logprobs": LIKELIEST,
            "return_tokens_as_token_ids": True,
        }
        answer = self.answer("POST", "/v1/completions", body)
        try:
            likely = json.loads(answer)["choices"][0]["logprobs"]["top_logprobs"][0]
        except (ValueError, KeyError, IndexError, TypeError) as error:
            raise RequestError(f"{self.url} answered without logprobs: {answer[:200]}") from error
        both = [likely.get(f"token_id:{token}") for token in (first, second)]
        return None if None in both else abs(both[0] - both[1])

    def tokenize(self, text: str) -> list[int]:
        """Token ids of a text by the server's own tokenizer, without special tokens."""
        body = {"model": self.model, "prompt": text, "add_special_tokens": False}
        answer = self.answer("POST", "/tokenize", body)
        try:
            return [int(token) for token in json.loads(answer)["tokens"]]
        except (ValueError, KeyError, TypeError) as error:
            raise RequestError(f"{self.url}/tokenize answered without tokens: {answer[:200]}") from error


def served_model(url: str, api_key: str | None = None) -> str:
    """The name of the first model a server serves.

    Raises:
        RequestError: when nothing that speaks the OpenAI protocol answers there.
    """
    with contextlib.closing(Client(url, "", api_key)) as client:
        try:
            return str(json.loads(client.answer("GET", "/v1/models"))["data"][0]["id"])
        except (ValueError, KeyError, IndexError, TypeError) as error:
            raise RequestError(f"{client.url}/v1/models does not list a model") from error


def _completion(arrivals: Sequence[tuple[float, bytes]], started: float) -> Completion:
    token_times: list[float] = []
    token_ids: list[int] = []
    text: list[str] = []
    prompt_tokens, cached_tokens, prompt_ids, logprobs = 0, None, (), list[float]()
    for arrived, line in _lines(arrivals):
        if not line.startswith("data: ") or line == "data: [DONE]":
            continue
        data = _event(line.removeprefix("data: "))
        usage = data.get("usage") or {}
        prompt_tokens = usage.get("prompt_tokens", prompt_tokens)
        cached_tokens = (usage.get("prompt_tokens_details") or {}).get("cached_tokens", cached_tokens)
        prompt_ids = tuple(data.get("prompt_token_ids") or prompt_ids)  # of a chat; a completion's choices have them
        for choice in data.get("choices", ()):
            prompt_ids = tuple(choice.get("prompt_token_ids") or prompt_ids)
            ids, words = choice.get("token_ids") or [], _text(choice)
            # A chat's first chunk is empty. So is an answer that ends at once, or that no text can show.
            ended_empty = bool(choice.get("finish_reason")) and not token_times
            if ids or words or ended_empty:
                token_times.append(arrived)
                token_ids += ids
                text.append(words)
                logprobs += _logprobs(choice)
    if not token_times:
        raise RequestError("the server's stream held no token")
    tokens = len(token_ids) or len(token_times)
    tpot_s = (token_times[-1] - token_times[0]) / (tokens - 1) if tokens > 1 else 0.0
    ttft_s = token_times[0] - started
    whole = "".join(text)
    return Completion(
        prompt_tokens, tuple(token_ids), whole, ttft_s, tpot_s, cached_tokens, prompt_ids, tuple(logprobs)
    )


def _logprobs(choice: dict[str, Any]) -> list[float]:
    """Of a completion's tokens, or of a chat's."""
    told = choice.get("logprobs") or {}
    return told.get("token_logprobs") or [token["logprob"] for token in told.get("content") or ()]


def _text(choice: dict[str, Any]) -> str:
    """Of a completion, or of a chat's delta, thoughts included: they are the first tokens."""
    delta = choice.get("delta") or {}
    parts = (choice.get("text"), delta.get("reasoning_content"), delta.get("reasoning"), delta.get("content"))
    return "".join(part for part in parts if isinstance(part, str))


def _lines(arrivals: Sequence[tuple[float, bytes]]) -> Iterator[tuple[float, str]]:
    """Whole lines with the time at which their last piece arrived."""
    rest = b""
    for arrived, piece in arrivals:
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            yield arrived, line.decode(errors="replace").rstrip("\r")


def _event(payload: str) -> dict[str, Any]:
    try:
        data = json.loads(payload)
    except ValueError as error:
        raise RequestError(f"the server sent an event that is not JSON: {payload[:200]}") from error
    if not isinstance(data, dict):
        raise RequestError(f"the server sent an event that is not an object: {payload[:200]}")
    if "error" in data:
        raise RequestError(f"the server broke the stream off: {json.dumps(data['error'])[:300]}")
    return data
