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

import httpx
import psutil

from kvtiers.logs.lines import strip_ansi
from kvtiers.result.schema import Program
from lab.engines.launch import HOST, Launch
from lab.engines.ports import require_free_port
from lab.errors import LabError
from lab.waiting import tries

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
# Signal 9 is the user's or the kernel's, which is short of memory.
_END = re.compile(r"(?:was killed by signal (?!9:)\d+|ended with exit code \d+):")
_MEANINGFUL = re.compile(r"error|exception|refus|denied|killed|no space|out of memory|not found", re.IGNORECASE)
# "(EngineCore pid=41) ERROR 11-29 14:06:56 [core.py:1] "
_PREFIX = re.compile(r"^(?:\([^)]*pid=\d+\) )?(?:[A-Z]+ \d\d-\d\d [\d:]+ \[[^\]]*\] ?)?")
_BOILERPLATE = re.compile(r"Traceback|^\s|raise |See root cause|EngineCore failed to start|non-default args")


class Process:
    """A running process, which leads a group as ``pid``. Use as a context manager; leaving it stops that group. Its
    methods raise LabError, with what its log says, where it is gone."""

    def __init__(self, launch: Launch, log_path: Path) -> None:
        self.launch = launch
        self.log_path = log_path
        self.url = f"http://{HOST}:{launch.port}"
        self.start_s = 0.0

    def __enter__(self) -> "Process":
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
        self.pid = self._process.pid
        self._guard = guard(self.pid)
        return self

    def progress(self) -> tuple[int, str]:
        """How many of MILESTONES the log shows, and the last of them."""
        text = self.log_path.read_text(errors="replace")
        milestones = MILESTONES[self.launch.program]
        reached = max((index for index, line in enumerate(milestones, start=1) if line in text), default=0)
        return reached, milestones[reached - 1] if reached else "importing"

    def healthy(self) -> bool:
        """Does /health answer? The first time it does, the start is over; it may not be another process that
        answers."""
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
        """Fail, with the last line of the log, when ``timeout_s`` have passed since the start."""
        if time.monotonic() - self._started_at < timeout_s:
            return
        lines = strip_ansi(self.log_path.read_text(errors="replace")).strip().splitlines() or ["nothing"]
        raise LabError(
            f"the {self.launch.name} was not healthy after {timeout_s:.0f} s; the last it said:\n"
            f"  {lines[-1][:300]}\nThe whole log: {self.log_path}. --start-timeout gives it longer."
        )

    def check(self) -> None:
        """Fail unless it is still there, with the last lines of its log that mean something."""
        code = self._process.poll()
        if code is not None:
            how = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
            lines = "\n".join(f"  {line}" for line in meaningful_lines(self.log_path.read_text(errors="replace")))
            raise LabError(f"the {self.launch.name} {how}:\n{lines}\nThe whole log: {self.log_path}")

    def alive(self) -> bool:
        """Has it not ended?"""
        return self._process.poll() is None

    def kill(self) -> None:
        """End it as a crash would, without a word."""
        self._signal(signal.SIGKILL)
        self._process.wait()

    def __exit__(self, *_: object) -> None:
        """End the process group: first politely, then for good. Returns when all of it is gone."""
        self._signal(signal.SIGINT)
        for is_last in tries(STOP_GRACE_S, _POLL_S):
            self._process.poll()
            if is_last or not self._signal(0):
                break
        self._signal(signal.SIGKILL)
        self._process.wait()
        self._guard.kill()
        self._guard.communicate()

    def _require_own_port(self) -> None:
        """A stranger on the port would be measured in this process's stead."""
        started, port = psutil.Process(self.pid), self.launch.port
        for process in (started, *started.children(recursive=True)):
            with contextlib.suppress(psutil.NoSuchProcess):
                sockets = process.net_connections("tcp")
                if any(socket.status == psutil.CONN_LISTEN and socket.laddr[1] == port for socket in sockets):
                    return
        raise LabError(f"port {port} is answered by another process, not by the {self.launch.name}: stop that one")

    def _signal(self, number: int) -> bool:
        """Is there a process left in the group to take it?"""
        try:
            os.killpg(self.pid, number)
        except ProcessLookupError:
            return False
        return True


def wait_until_healthy(
    processes: Sequence[Process], timeout_s: float, on_progress: Callable[[Process, int, str], None]
) -> None:
    """Block until every process is healthy; they start side by side.

    Raises:
        LabError: when one ends, or is not healthy ``timeout_s`` after its start.
    """
    while waiting := [process for process in processes if not process.healthy()]:
        for process in processes:
            process.check()
        for process in waiting:
            process.give_up(timeout_s)
            on_progress(process, *process.progress())
        time.sleep(_POLL_S)


def tells_of_an_end(problem: str) -> bool:
    """Does a message of ``Process.check`` say that the process ended by its own fault?"""
    return _END.search(problem) is not None


def guard(group: int) -> subprocess.Popen[bytes]:
    """Ends a process group when the lab is killed: its end of the pipe closes then."""
    return subprocess.Popen(
        ["sh", "-c", _GUARD, "sh", str(group), str(round(STOP_GRACE_S))],
        stdin=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def meaningful_lines(log: str, limit: int = 6) -> list[str]:
    """The last distinct lines of a log that name a fault; its very last lines where none does."""
    lines = [_PREFIX.sub("", strip_ansi(line)).rstrip() for line in log.splitlines()]
    lines = [line for line in lines if line]
    telling = [line for line in lines if _MEANINGFUL.search(line) and not _BOILERPLATE.search(line)]
    return list(dict.fromkeys(line.strip()[:300] for line in telling or lines))[-limit:]
