"""Threads and memory by control group: file trees as kernels show them, and a real group where one can be made."""

import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from machine.limits import available_memory_bytes, memory_limit_bytes, usable_threads
from machine.mounts import mount_of, mounts

GIB = 1024**3
REPOSITORY = Path(__file__).resolve().parents[2]
MEMINFO = "MemTotal:       67108864 kB\nMemFree:         1000000 kB\nMemAvailable:   33554432 kB\n"
V2 = "30 23 0:26 / /sys/fs/cgroup rw,relatime - cgroup2 cgroup2 rw,nsdelegate\n"
V1 = (
    "32 31 0:29 {root} /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
    "33 31 0:30 {root} /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
)
NO_LIMIT_V1 = str(2**63 - 4096)


@pytest.fixture(autouse=True)
def many_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(64)))


def system(root: Path, mountinfo: str, own: str, files: dict[str, str]) -> Path:
    """A root directory with the files of /proc and /sys that tell limits."""
    for name, text in {
        "proc/self/mountinfo": mountinfo,
        "proc/self/cgroup": own,
        "proc/meminfo": MEMINFO,
        **{f"sys/fs/cgroup/{name}": text for name, text in files.items()},
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def test_without_control_groups_cores_and_ram_are_the_limit(tmp_path: Path) -> None:
    bare = system(tmp_path, "", "", {})
    assert usable_threads(bare) == 64
    assert memory_limit_bytes(bare) == 64 * GIB
    assert available_memory_bytes(bare) == 32 * GIB


def test_a_system_without_proc_still_answers(tmp_path: Path) -> None:
    assert usable_threads(tmp_path) == 64
    assert memory_limit_bytes(tmp_path) == os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert available_memory_bytes(tmp_path) is None


def test_a_container_under_v2_sees_its_quota_and_limit_at_the_top(tmp_path: Path) -> None:
    """``docker run --cpus=2 --memory=4g``: the group is the namespace's root."""
    stat = "anon 900\ninactive_file 536870912\nactive_file 536870912\n"
    limits = {"cpu.max": "200000 100000", "memory.max": str(4 * GIB), "memory.current": str(2 * GIB)}
    docker = system(tmp_path, V2, "0::/\n", limits | {"memory.stat": stat})
    assert usable_threads(docker) == 2
    assert memory_limit_bytes(docker) == 4 * GIB
    assert available_memory_bytes(docker) == 3 * GIB  # file pages can go


def test_the_tightest_group_above_counts_under_v2(tmp_path: Path) -> None:
    files = {
        "user.slice/cpu.max": "350000 100000",
        "user.slice/memory.max": str(3 * GIB),
        "user.slice/me.scope/cpu.max": "max 100000",
        "user.slice/me.scope/memory.max": "max",
    }
    nested = system(tmp_path, V2, "0::/user.slice/me.scope\n", files)
    assert usable_threads(nested) == 3
    assert memory_limit_bytes(nested) == 3 * GIB


@pytest.mark.parametrize("root", ["/", "/docker/abc"])
def test_a_container_under_v1_sees_its_quota_and_limit(tmp_path: Path, root: str) -> None:
    """With the host's mounts, or with the container's own group mounted as the top."""
    inside = "docker/abc/" if root == "/" else ""
    files = {
        f"cpu,cpuacct/{inside}cpu.cfs_quota_us": "150000",
        f"cpu,cpuacct/{inside}cpu.cfs_period_us": "100000",
        f"memory/{inside}memory.limit_in_bytes": str(4 * GIB),
        f"memory/{inside}memory.usage_in_bytes": str(GIB),
        f"memory/{inside}memory.stat": "inactive_file 0\ntotal_inactive_file 0\ntotal_active_file 268435456\n",
    }
    own = "4:memory:/docker/abc\n1:cpu,cpuacct:/docker/abc\n"
    docker = system(tmp_path, V1.format(root=root), own, files)
    assert usable_threads(docker) == 1
    assert memory_limit_bytes(docker) == 4 * GIB
    assert available_memory_bytes(docker) == 3 * GIB + GIB // 4


def test_no_limit_under_v1_is_no_limit(tmp_path: Path) -> None:
    files = {
        "cpu,cpuacct/cpu.cfs_quota_us": "-1",
        "cpu,cpuacct/cpu.cfs_period_us": "100000",
        "memory/memory.limit_in_bytes": NO_LIMIT_V1,
    }
    free = system(tmp_path, V1.format(root="/"), "4:memory:/\n1:cpu,cpuacct:/\n", files)
    assert usable_threads(free) == 64
    assert memory_limit_bytes(free) == 64 * GIB


def test_a_quota_below_one_core_is_one_thread(tmp_path: Path) -> None:
    assert usable_threads(system(tmp_path, V2, "0::/\n", {"cpu.max": "20000 100000"})) == 1


def test_the_affinity_counts_where_it_is_tighter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 5})
    assert usable_threads(system(tmp_path, V2, "0::/\n", {"cpu.max": "800000 100000"})) == 2


def test_a_mount_point_may_have_a_space(tmp_path: Path) -> None:
    table = system(tmp_path, "40 30 8:1 / /mnt/my\\040drive rw - ext4 /dev/sda1 rw\n", "", {})
    assert [str(mount.point) for mount in mounts(table)] == ["/mnt/my drive"]


def test_the_mount_of_a_path_is_the_nearest_above() -> None:
    assert mount_of(Path("/proc/self/status")).file_system == "proc"


@contextmanager
def group(controller: str, files: dict[str, str]) -> Iterator[Path]:
    """A real group with limits, for one controller. Needs root, and a kernel and container that let it."""
    for mount in mounts():
        if (mount.file_system == "cgroup" and controller in mount.options) or mount.file_system == "cgroup2":
            directory = mount.point / f"kvtiers-{uuid.uuid4()}"
            try:
                directory.mkdir()
            except OSError:
                continue
            try:
                if all((directory / name).exists() for name in files):
                    for name, text in files.items():
                        (directory / name).write_text(text)
                    yield directory
                    return
            finally:
                directory.rmdir()
    raise OSError


def real_answers() -> dict[str, str]:
    """What a process in real groups is told, by controller; nothing where none can be made."""
    wanted = {
        "cpu": [{"cpu.max": "100000 100000"}, {"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "100000"}],
        "memory": [{"memory.max": str(GIB)}, {"memory.limit_in_bytes": str(GIB)}],
    }
    asks = {"cpu": "usable_threads", "memory": "memory_limit_bytes"}
    answers = {}
    for controller, forms in wanted.items():
        for files in forms:
            code = (
                "import os, sys; open(sys.argv[1], 'w').write(str(os.getpid())); "
                f"from machine.limits import {asks[controller]} as ask; print(ask())"
            )
            try:
                with group(controller, files) as directory:
                    done = subprocess.run(
                        [sys.executable, "-c", code, directory / "cgroup.procs"],
                        cwd=REPOSITORY,
                        capture_output=True,
                        text=True,
                        check=True,
                    )
                    answers[controller] = done.stdout.strip()
            except OSError:
                continue
    return answers


def test_real_groups_answer_as_the_trees_do() -> None:
    assert real_answers().items() <= {"cpu": "1", "memory": str(GIB)}.items()
