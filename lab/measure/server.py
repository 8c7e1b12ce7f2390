"""A server that speaks HTTP, over one warm connection: its answers, and what its /metrics count."""

from collections import defaultdict
from typing import Any

import httpx
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from lab.errors import LabError


class RequestError(LabError):
    """The server refused, broke off, or sent something that is not a completion. ``status``: HTTP's, where known."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class Server:
    """By its address. ``called``: what a message puts before that where nothing answers."""

    called = ""

    def __init__(self, url: str, **options: Any) -> None:
        self.url = url.rstrip("/")
        self._http = httpx.Client(base_url=self.url, **options)

    def close(self) -> None:
        self._http.close()

    def answer(self, method: str, path: str, body: dict[str, Any] | None = None) -> str:
        """The body of an answer.

        Raises:
            RequestError: with what the server said.
        """
        try:
            response = self._http.request(method, path, json=body)
        except httpx.HTTPError as error:
            raise RequestError(f"no answer from {self.called}{self.url}{path}: {error}") from error
        if not response.is_success:
            status = response.status_code
            raise RequestError(f"{self.url}{path} answered {status}: {said(response.content)}", status)
        return response.text

    def totals(self) -> dict[str, float]:
        """Every sample of /metrics, summed over its labels; 0 where there is none of that name."""
        totals: dict[str, float] = defaultdict(float)
        for sample in self.samples():
            totals[sample.name] += sample.value
        return totals

    def samples(self) -> list[Sample]:
        """All of /metrics.

        Raises:
            RequestError: there are none, or it is something else.
        """
        text = self.answer("GET", "/metrics")
        try:
            return [sample for family in text_string_to_metric_families(text) for sample in family.samples]
        except ValueError as error:
            raise RequestError(f"{self.url}/metrics is not Prometheus' text: {said(text[:100].encode())}") from error


def said(content: bytes) -> str:
    """What a message shows of an answer."""
    return content.decode(errors="replace").strip()[:300]
