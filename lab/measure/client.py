"""Streaming completions over one warm connection, timed where the first content token arrives."""

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import httpx

from lab.errors import LabError

# A cold 8k prompt takes half a minute on one CPU core; only a dead server takes this long.
READ_TIMEOUT_S = 600.0
# As many as vLLM gives unless its --max-logprobs says otherwise.
LIKELIEST = 20
_LOGPROBS = {"logprobs": 0}  # of the token that was chosen, and of no other


class RequestError(LabError):
    """The server refused, broke off, or sent something that is not a completion. ``status``: HTTP's, where known."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


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


class Client:
    """Talks to one OpenAI-compatible vLLM server, with ``api_key`` where it wants one."""

    def __init__(
        self, base_url: str, model: str, api_key: str | None = None, read_timeout_s: float = READ_TIMEOUT_S
    ) -> None:
        self.base_url = base_url.rstrip("/")
        self.model = model
        headers = {"authorization": f"Bearer {api_key}"} if api_key else {}
        timeout = httpx.Timeout(10.0, read=read_timeout_s)
        self._http = httpx.Client(base_url=self.base_url, timeout=timeout, headers=headers)

    def complete(
        self, prompt: Sequence[int], max_tokens: int, request_id: str, *, logprobs: bool = False
    ) -> Completion:
        """Greedy completion of a prompt of token ids.

        Args:
            prompt: token ids, sent as they are: no chat template, no tokenizer between us and the cache.
            max_tokens: always that many are generated.
            request_id: the engine logs the request as ``cmpl-<request_id>-0…``.
            logprobs: of the generated tokens, too; that takes time.

        Raises:
            RequestError: with what the server said.
        """
        body = {
            "model": self.model,
            "prompt": list(prompt),
            "max_tokens": max_tokens,
            "temperature": 0,
            "ignore_eos": True,
            "stream": True,
            "stream_options": {"include_usage": True},
            "return_token_ids": True,
        }
        return self._stream("/v1/completions", body | (_LOGPROBS if logprobs else {}), request_id)

    def ask(self, text: str, max_tokens: int, request_id: str, *, chat: bool, logprobs: bool = False) -> Completion:
        """Greedy answer to a text, for servers whose tokenizer we do not have.

        Args:
            text: the prompt, or with ``chat`` the only message.
            max_tokens: at most that many are generated.
            request_id: as in ``complete``.
            logprobs: of the generated tokens, too.
            chat: use /v1/chat/completions.

        Raises:
            RequestError: with what the server said.
        """
        body: dict[str, Any] = {"model": self.model, "max_tokens": max_tokens, "temperature": 0, "stream": True}
        body |= {"stream_options": {"include_usage": True}, "return_token_ids": True}
        if chat:
            body |= {"messages": [{"role": "user", "content": text}], "logprobs": logprobs}
            return self._stream("/v1/chat/completions", body, request_id)
        return self._stream("/v1/completions", body | {"prompt": text} | (_LOGPROBS if logprobs else {}), request_id)

    def _stream(self, path: str, body: dict[str, Any], request_id: str) -> Completion:
        content = json.dumps(body, separators=(",", ":")).encode()
        headers = {"content-type": "application/json", "accept-encoding": "identity", "x-request-id": request_id}
        request = self._http.build_request("POST", path, content=content, headers=headers)
        arrivals: list[tuple[float, bytes]] = []
        started = time.perf_counter()
        try:
            response = self._http.send(request, stream=True)
            try:
                if response.status_code != httpx.codes.OK:
                    status = response.status_code
                    raise RequestError(f"the server answered {status}: {_said(response.read())}", status)
                # Arrival is noted before anything is parsed: parsing is our time, not the engine's.
                for piece in response.iter_raw():
                    arrivals.append((time.perf_counter(), piece))
            finally:
                response.close()
        except httpx.HTTPError as error:
            raise RequestError(f"the connection to {self.base_url} broke: {error or type(error).__name__}") from error
        return _completion(arrivals, started)

    def gap_nats(self, prompt: Sequence[int], first: int, second: int) -> float | None:
        """By how much the likelier of two tokens is likelier to come next, in nats; None where one of them is not among
        the LIKELIEST. Computed anew, whatever caches hold: vLLM reads none where a prompt's own logprobs are asked for.

        Raises:
            RequestError: with what the server said.
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
        answer = self._post("/v1/completions", body)
        try:
            likely = json.loads(answer)["choices"][0]["logprobs"]["top_logprobs"][0]
        except (ValueError, KeyError, IndexError, TypeError) as error:
            raise RequestError(f"{self.base_url} answered without logprobs: {answer[:200]}") from error
        both = [likely.get(f"token_id:{token}") for token in (first, second)]
        return None if None in both else abs(both[0] - both[1])

    def get_text(self, path: str) -> str:
        """The body of a GET.

        Raises:
            RequestError: when it is not there.
        """
        return self._answer("GET", path)

    def tokenize(self, text: str) -> list[int]:
        """Token ids of a text by the server's own tokenizer, without special tokens.

        Raises:
            RequestError: when the server has no /tokenize.
        """
        body = {"model": self.model, "prompt": text, "add_special_tokens": False}
        return [int(token) for token in json.loads(self._post("/tokenize", body))["tokens"]]

    def close(self) -> None:
        """Close the connection."""
        self._http.close()

    def _post(self, path: str, body: dict[str, Any]) -> str:
        return self._answer("POST", path, body)

    def _answer(self, method: str, path: str, body: dict[str, Any] | None = None) -> str:
        try:
            response = self._http.request(method, path, json=body)
        except httpx.HTTPError as error:
            raise RequestError(f"no answer from {self.base_url}{path}: {error}") from error
        if response.status_code != httpx.codes.OK:
            status = response.status_code
            raise RequestError(f"{self.base_url}{path} answered {status}: {_said(response.content)}", status)
        return response.text


def served_model(base_url: str, api_key: str | None = None) -> str:
    """The name of the first model a server serves.

    Raises:
        RequestError: when nothing that speaks the OpenAI protocol answers there.
    """
    client = Client(base_url, "", api_key)
    try:
        return str(json.loads(client.get_text("/v1/models"))["data"][0]["id"])
    except (ValueError, KeyError, IndexError) as error:
        raise RequestError(f"{base_url}/v1/models does not list a model") from error
    finally:
        client.close()


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
        prompt_ids = tuple(
            data.get("prompt_token_ids") or prompt_ids
        )  # of a chat; of a completion each choice has them
        for choice in data.get("choices", ()):
            prompt_ids = tuple(choice.get("prompt_token_ids") or prompt_ids)
            ids, said = choice.get("token_ids") or [], _text(choice)
            # A chat's first chunk is empty. So is an answer that ends at once, or that no text can show.
            ended_empty = bool(choice.get("finish_reason")) and not token_times
            if ids or said or ended_empty:
                token_times.append(arrived)
                token_ids += ids
                text.append(said)
                logprobs += _logprobs(choice)
    if not token_times:
        raise RequestError("the server's stream held no token")
    tokens = len(token_ids) or len(token_times)
    tpot_s = (token_times[-1] - token_times[0]) / (tokens - 1) if tokens > 1 else 0.0
    ttft_s = token_times[0] - started
    said_tokens, whole = tuple(token_ids), "".join(text)
    return Completion(prompt_tokens, said_tokens, whole, ttft_s, tpot_s, cached_tokens, prompt_ids, tuple(logprobs))


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


def _said(content: bytes) -> str:
    return content.decode(errors="replace").strip()[:300]
