"""One process, an engine or LMCache's server: start, wait for health, watch, stop. It dies with the lab, whatever that
dies of."""

import contextlib
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType

import httpx
import psutil

from kvtiers.logs.lines import strip_ansi
from kvtiers.result.schema import Program
from lab.engines.launch import HOST, Launch
from lab.engines.ports import require_free_port
from lab.errors import LabError

# Lines every start goes through, in this order; the start's progress bar counts them.
MILESTONES = {
    Program.ENGINE: (
        "vLLM API server version",
        "Initializing a V1 LLM engine",
        "Starting to load model",
        "KV cache size",
        "Supported tasks",
        "Application startup complete",
    ),
    Program.SERVER: (
        "Starting LMCache HTTP server on",
        "Initialized FSL2Adapter",
        "zmq cache server is running",
        "Application startup complete",
    ),
}
_HEALTH = {Program.ENGINE: "/health", Program.SERVER: "/healthcheck"}
STOP_GRACE_S = 20.0
_POLL_S = 0.1
_GUARD = """
cat
kill -s TERM -- "-$1"
for second in $(seq "$2"); do
    kill -s 0 -- "-$1" || exit
    sleep 1
done
kill -s KILL -- "-$1"
"""
_MEANINGFUL = re.compile(r"error|exception|refus|denied|killed|no space|out of memory|not found", re.IGNORECASE)
# "(EngineCore pid=41) ERROR 11-29 14:06:56 [core.py:1] "
_PREFIX = re.compile(r"^(?:\([^)]*pid=\d+\) )?(?:[A-Z]+ \d\d-\d\d [\d:]+ \[[^\]]*\] ?)?")
_BOILERPLATE = re.compile(r"Traceback|^\s|raise |See root cause|EngineCore failed to start|non-default args")


class ProcessError(LabError):
    """The process did not start, or is gone."""


class Process:
    """A running process. Use as a context manager; leaving it stops the whole process group."""

    def __init__(self, launch: Launch, log_path: Path) -> None:
        self.launch = launch
        self.log_path = log_path
        self.url = f"http://{HOST}:{launch.port}"
        self.start_s = 0.0
        self._process: subprocess.Popen[bytes] | None = None
        self._guard: subprocess.Popen[bytes] | None = None
        self._started_at = 0.0

    def start(self) -> None:
        """Spawn the process; it is not healthy yet.

        Raises:
            LabError: when the port is taken.
        """
        require_free_port(self.launch.port)
        self.log_path.parent.mkdir(parents=True, exist_ok=True)
        self._started_at = time.monotonic()
        with self.log_path.open("wb") as log:
            self._process = subprocess.Popen(
                self.launch.command,
                env=self.launch.process_environment(os.environ),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._guard = guard(self._process.pid)

    def progress(self) -> tuple[int, str]:
        """How many of MILESTONES the log shows, and the last of them."""
        text = self.log_path.read_text(errors="replace")
        milestones = MILESTONES[self.launch.program]
        reached = max((index for index, line in enumerate(milestones, start=1) if line in text), default=0)
        return reached, milestones[reached - 1] if reached else "importing"

    def healthy(self) -> bool:
        """Does /health answer? The first time it does, the start is over.

        Raises:
            ProcessError: another process answers on its port.
        """
        if not self.start_s:
            try:
                answered = httpx.get(self.url + _HEALTH[self.launch.program], timeout=2.0).status_code == httpx.codes.OK
            except httpx.HTTPError:
                answered = False
            if answered:
                self._require_own_port()
                self.start_s = time.monotonic() - self._started_at
        return self.start_s > 0

    def give_up(self, timeout_s: float) -> None:
        """Fail when ``timeout_s`` have passed since the start.

        Raises:
            ProcessError: with the last line of the log.
        """
        if time.monotonic() - self._started_at < timeout_s:
            return
        lines = strip_ansi(self.log_path.read_text(errors="replace")).strip().splitlines() or ["nothing"]
        raise ProcessError(
            f"the {self.launch.name} was not healthy after {timeout_s:.0f} s; the last it said:\n"
            f"  {lines[-1][:300]}\nThe whole log: {self.log_path}. --start-timeout gives it longer."
        )

    def check(self) -> None:
        """Is it still there?

        Raises:
            ProcessError: with the last lines of its log that mean something.
        """
        code = self._process.poll() if self._process else None
        if code is not None:
            how = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
            lines = "\n".join(f"  {line}" for line in meaningful_lines(self.log_path.read_text(errors="replace")))
            raise ProcessError(f"the {self.launch.name} {how}:\n{lines}\nThe whole log: {self.log_path}")

    def alive(self) -> bool:
        """Has it not ended?"""
        return self._process is not None and self._process.poll() is None

    def kill(self) -> None:
        """End it as a crash would, without a word; ``stop`` still has to follow."""
        assert self._process is not None
        self._signal(signal.SIGKILL)
        self._process.wait()

    @property
    def pid(self) -> int:
        """Of the process that leads the group."""
        assert self._process is not None
        return self._process.pid

    def stop(self) -> None:
        """End the process group: first politely, then for good. Returns when all of it is gone."""
        if self._process is None:
            return
        self._signal(signal.SIGINT)
        deadline = time.monotonic() + STOP_GRACE_S
        while self._group_alive() and time.monotonic() < deadline:
            self._process.poll()
            time.sleep(_POLL_S)
        self._signal(signal.SIGKILL)
        self._process.wait()
        self._process = None
        if self._guard:
            self._guard.kill()
            self._guard.communicate()

    def __enter__(self) -> "Process":
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _require_own_port(self) -> None:
        """A stranger on the port would be measured in this process's stead."""
        assert self._process is not None
        started = psutil.Process(self._process.pid)
        if any(self.launch.port in _listening(process) for process in (started, *started.children(recursive=True))):
            return
        name = self.launch.name
        raise ProcessError(f"port {self.launch.port} is answered by another process, not by the {name}: stop that one")

    def _signal(self, number: int) -> None:
        assert self._process is not None
        try:
            os.killpg(self._process.pid, number)
        except ProcessLookupError:
            return

    def _group_alive(self) -> bool:
        assert self._process is not None
        try:
            os.killpg(self._process.pid, 0)
        except ProcessLookupError:
            return False
        return True


def wait_until_healthy(
    processes: Sequence[Process], timeout_s: float, on_progress: Callable[[Process, int, str], None]
) -> None:
    """Block until every process is healthy; they start side by side.

    Raises:
        ProcessError: when one ends, or is not healthy ``timeout_s`` after its start.
    """
    while waiting := [process for process in processes if not process.healthy()]:
        for process in processes:
            process.check()
        for process in waiting:
            process.give_up(timeout_s)
            on_progress(process, *process.progress())
        time.sleep(_POLL_S)


def guard(group: int) -> subprocess.Popen[bytes]:
    """Ends a process group when the lab is killed: its end of the pipe closes then."""
    return subprocess.Popen(
        ["sh", "-c", _GUARD, "sh", str(group), str(round(STOP_GRACE_S))],
        stdin=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def _listening(process: psutil.Process) -> set[int]:
    """TCP ports that it listens on."""
    with contextlib.suppress(psutil.NoSuchProcess):
        connections = process.net_connections("tcp")
        return {connection.laddr[1] for connection in connections if connection.status == psutil.CONN_LISTEN}
    return set()


def meaningful_lines(log: str, limit: int = 6) -> list[str]:
    """The last distinct lines of a log that name a fault; its very last lines where none does."""
    lines = [_PREFIX.sub("", strip_ansi(line)).rstrip() for line in log.splitlines()]
    lines = [line for line in lines if line]
    telling = [line for line in lines if _MEANINGFUL.search(line) and not _BOILERPLATE.search(line)]
    return list(dict.fromkeys(line.strip()[:300] for line in telling or lines))[-limit:]
