"""What each kind of machine is told, for each command."""

import pytest

from machine import MachineError
from machine.kinds import MachineKind, remark, this_kind

X86 = MachineKind("Linux", "x86_64", (2, 36), avx2=True)
ARM = MachineKind("Linux", "aarch64", (2, 36), avx2=False)
MAC = MachineKind("Darwin", "arm64", None, avx2=False)


def test_what_we_run_ourselves_needs_no_remark() -> None:
    assert {remark(X86, command, "cpu") for command in ("lab", "test", "course", "site", "check")} == {""}


@pytest.mark.parametrize(
    ("kind", "command"), [(ARM, "lab"), (ARM, "test"), (ARM, "course"), (MAC, "course"), (MAC, "site")]
)
def test_what_nobody_has_run_is_said_to_be_resolved_only(kind: MachineKind, command: str) -> None:
    assert "resolved, not run" in remark(kind, command, "cpu")


@pytest.mark.parametrize(
    ("kind", "command", "engine", "why"),
    [
        (MAC, "lab", "cpu", "macOS: make lab starts a real engine, which wants Linux: use a Linux container"),
        (MAC, "test", "cpu", "macOS: make test starts"),
        (MachineKind("Windows", "AMD64", None, False), "course", "", "Windows: .* WSL2"),
        (MachineKind("FreeBSD", "amd64", None, False), "lab", "cpu", "FreeBSD: .* use Linux"),
        (MachineKind("Linux", "riscv64", (2, 36), False), "site", "", "wheels for x86_64 and aarch64 only"),
        (MachineKind("Linux", "x86_64", None, True), "site", "", "musl"),
        (MachineKind("Linux", "x86_64", (2, 27), True), "site", "", "glibc 2.27: the wheels need 2.28"),
        (MachineKind("Linux", "x86_64", (2, 28), True), "lab", "cpu", "glibc 2.28: the wheels need 2.31"),
        (MachineKind("Linux", "aarch64", (2, 31), False), "lab", "cuda", "glibc 2.31: the wheels need 2.34"),
        (MachineKind("Linux", "x86_64", (2, 36), False), "lab", "cpu", "no AVX2"),
    ],
)
def test_what_can_not_work_is_refused_in_one_line(kind: MachineKind, command: str, engine: str, why: str) -> None:
    with pytest.raises(MachineError, match=why) as refusal:
        remark(kind, command, engine)
    assert "\n" not in str(refusal.value)


def test_a_cpu_without_avx2_still_builds_the_course_and_drives_a_gpu() -> None:
    old = MachineKind("Linux", "x86_64", (2, 36), avx2=False)
    assert remark(old, "course", "") == remark(old, "lab", "cuda") == ""


def test_the_machine_that_runs_this_is_one_that_may() -> None:
    remark(this_kind(), "test", "cpu")
