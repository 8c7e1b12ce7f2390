"""The NVIDIA GPU, where there is one."""

import subprocess


def gpu_name() -> str:
    """The first NVIDIA GPU with its memory, or empty text where there is none."""
    try:
        answer = subprocess.run(
            ["nvidia-smi", "--query-gpu=name,memory.total", "--format=csv,noheader"],
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError:
        return ""
    return answer.stdout.splitlines()[0].strip() if answer.returncode == 0 and answer.stdout.strip() else ""


def engine_for(wanted: str) -> str:
    """``cpu`` or ``cuda``: the wanted one, or for ``auto`` the one that fits this machine."""
    if wanted != "auto":
        return wanted
    return "cuda" if gpu_name() else "cpu"
