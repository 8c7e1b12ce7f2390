"""Is the lab's client a fair stopwatch? Ours and vLLM's own, interleaved on one engine, same cold prompts.

Reported: each client's TTFT minus the server's own ``vllm:time_to_first_token_seconds`` for the same request, and how
far the two clients' medians lie apart. Every request must miss: any hit ends the benchmark.

usage: python -m bench.client
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.table import Table

from lab.engines.ports import reserved_ports
from lab.engines.presets import PRESETS
from lab.knobs import Knobs
from lab.launches import DEFAULT_START_TIMEOUT_S, Directories, LocalRun, launches, pool_of, running
from lab.measure.client import Client
from lab.measure.counters import await_deltas, read_totals
from lab.measure.documents import TokenSource, ordinary_ids
from lab.paths import LOGS, engine_python
from lab.run_directory import run_directory

PROMPTS = 16
VOCABULARY = 2048
MAX_TOKENS = 4
OURS, THEIRS = "kvtiers lab", "vllm bench serve"
_SERVER_TTFT = "vllm:time_to_first_token_seconds_sum"
# Targets: a smaller overhead than vLLM's own client, at most 0.5 % of the cold TTFT, medians within 10 %.
MAX_OVERHEAD_SHARE = 0.005
MAX_DISAGREEMENT = 0.10


def main() -> int:
    """Print the table; 1 when a target is missed."""
    knobs = Knobs()
    wanted = LocalRun(PRESETS["tiny"], knobs)
    with run_directory(Path(tempfile.gettempdir())) as sockets, reserved_ports(wanted.ports) as ports:
        control = launches(wanted, pool_of(wanted), Directories(sockets, sockets), ports, direct_io=False)[-1]
        with (
            running([control], LOGS / "bench", DEFAULT_START_TIMEOUT_S) as (engine,),
            vllm_client(engine.url) as theirs,
            closing(Client(engine.url, wanted.preset.name)) as ours,
        ):
            return report(measure(ours, theirs, knobs))


def measure(ours: Client, theirs: "subprocess.Popen[str]", knobs: Knobs) -> dict[str, list[tuple[float, float]]]:
    """Client TTFT and server TTFT in seconds, per client. Each prompt is asked by both clients, evicted in between."""
    source = TokenSource(ordinary_ids(VOCABULARY), knobs.seed)
    prompts = [source.document(f"bench-{n}", knobs.document_tokens).token_ids for n in range(PROMPTS)]
    warm_up = [source.document(f"warm-up-{n}", knobs.document_tokens).token_ids for n in range(2)]
    times: dict[str, list[tuple[float, float]]] = {OURS: [], THEIRS: []}
    totals = read_totals(ours)
    # Odd prompts go to us first and even ones to them, then the other way round.
    for number, prompt in enumerate([*warm_up, *prompts, *prompts[1:], prompts[0]]):
        client = OURS if number % 2 else THEIRS
        ttft_s = ours.complete(prompt, MAX_TOKENS, "bench").ttft_s if client is OURS else ask_theirs(theirs, prompt)
        counters, now = await_deltas(ours, totals)
        if counters.own_hits:
            raise SystemExit(f"request {number} hit {counters.own_hits} cached tokens: this compares nothing")
        if number >= len(warm_up):
            times[client].append((ttft_s, now[_SERVER_TTFT] - totals[_SERVER_TTFT]))
        totals = now
    return times


def ask_theirs(process: "subprocess.Popen[str]", prompt: Sequence[int]) -> float:
    """TTFT in seconds by vLLM's request function, which runs in the engine's environment."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(list(prompt)) + "\n")
    process.stdin.flush()
    return float(process.stdout.readline())


@contextmanager
def vllm_client(url: str) -> Iterator["subprocess.Popen[str]"]:
    """vLLM's own client, warm, one prompt a line in, one TTFT a line out."""
    script = Path(__file__).with_name("vllm_request.py")
    command = [str(engine_python("cpu")), str(script), url, "tiny", str(MAX_TOKENS)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def report(times: dict[str, list[tuple[float, float]]]) -> int:
    """The table, and whether each target is met."""
    table = Table("client", "requests", "TTFT median, ms", "overhead median, ms", "share of cold TTFT")
    overhead = {name: median(client - server for client, server in pairs) for name, pairs in times.items()}
    ttft = {name: median(client for client, _ in pairs) for name, pairs in times.items()}
    for name, pairs in times.items():
        share = overhead[name] / ttft[name]
        table.add_row(name, str(len(pairs)), f"{ttft[name] * 1e3:.1f}", f"{overhead[name] * 1e3:.2f}", f"{share:.2%}")
    console = Console(highlight=False)
    console.print(table)
    apart_s = ttft[OURS] - ttft[THEIRS]
    checks = {
        "our overhead is the smaller": overhead[OURS] < overhead[THEIRS],
        f"and at most {MAX_OVERHEAD_SHARE:.1%} of the cold TTFT": overhead[OURS] / ttft[OURS] <= MAX_OVERHEAD_SHARE,
        f"medians {apart_s * 1e3:+.1f} ms apart, within {MAX_DISAGREEMENT:.0%}": abs(apart_s)
        <= MAX_DISAGREEMENT * ttft[THEIRS],
    }
    for claim, holds in checks.items():
        console.print(f"{'met' if holds else 'MISSED'}: {claim}")
    return 0 if all(checks.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
