"""Commands whose mounts and processes end with them, and what such a command showed while it ran."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

# The first process of a namespace takes all others with it, and the last one takes the mounts. If this program itself
# is killed, setpriv and --kill-child pass that on.
_UNSHARE = ("unshare", "--mount", "--pid", "--ipc", "--fork", "--kill-child", "--mount-proc")
CONTAINED = ("setpriv", "--pdeathsig", "KILL", *_UNSHARE)
ROWS, COLUMNS, LINE_LENGTH = 40, 120, 50
_TERMINAL = re.compile(
    r"(?P<end>\n)|(?P<erase>\r|\x1b\[2?K)|(?P<up>\x1b\[\d*A)|\x1b\[[0-9;?]*[ -/]*[@-~]|(?P<text>[^\x1b\r\n]+)"
)


@dataclass(frozen=True)
class Outcome:
    """How a command ended. ``silence_s``: the longest time without a sign of life at the terminal."""

    exit_code: int
    seconds: float
    silence_s: float


def run_contained(command: Sequence[str | Path], log: Path, tell: Callable[[str], None]) -> Outcome:
    """Run ``command`` at a terminal of its own, as a person would, write all it shows to ``log``, ``tell`` the last
    line. Whatever it started or mounted is gone afterwards, also when this is broken off.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    terminal, its_end = pty.openpty()
    fcntl.ioctl(its_end, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    started = last_sign = time.monotonic()
    silence = 0.0
    process = subprocess.Popen([*CONTAINED, *command], stdin=subprocess.DEVNULL, stdout=its_end, stderr=its_end)
    os.close(its_end)
    try:
        with log.open("wb") as file:
            while shown := _read(terminal):
                now = time.monotonic()
                silence, last_sign = max(silence, now - last_sign), now
                file.write(shown)
                file.flush()
                if lines := plain_lines(shown):
                    tell(lines[-1][:LINE_LENGTH])
        code = process.wait()
    finally:
        _end(process)
        os.close(terminal)
    return Outcome(code, time.monotonic() - started, max(silence, time.monotonic() - last_sign))


def plain_lines(shown: bytes) -> list[str]:
    """What stands on a terminal in the end, without colours and empty lines: a bar that was drawn anew stands once."""
    lines, line = [], ""
    for match in _TERMINAL.finditer(shown.decode(errors="replace").replace("\r\n", "\n")):
        if match["end"]:
            lines.append(line)
            line = ""
        elif match["up"]:
            line = lines.pop() if lines else ""
        elif match["erase"]:
            line = ""
        else:
            line += match["text"] or ""
    return [line.strip() for line in [*lines, line] if line.strip()]


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # Linux says EIO when nobody holds the other end any more
        return b""


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill the namespace's first process, not unshare: then unshare's end says that all the others have ended too."""
    if process.poll() is None:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        for pid in children or [str(process.pid)]:
            os.kill(int(pid), 9)
        process.wait()
