"""Which card is used, and what is said where none can be. The lines have the form of nvidia-smi's answers in public
reports; no card was at hand to record one."""

import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from machine import MachineError, gpu

A4090 = "0, GPU-5f0c8a3e-0000-4090-8000-000000000001, NVIDIA GeForce RTX 4090, 580.95.05, 8.9, 24564, 23999"
A3060 = "1, GPU-77aa0000-0000-3060-8000-000000000002, NVIDIA GeForce RTX 3060, 580.95.05, 8.6, 12288, 11911"
GB10 = "0, GPU-2dee1e25-b3b5-007e-2b55-79f2d0f2ebe5, NVIDIA GB10, 580.126.09, 12.1, [N/A], [N/A]"
OLD_DRIVER = "0, GPU-0, NVIDIA A100-SXM4-80GB, 535.161.08, 8.0, 81920, 81037"
V100 = "0, GPU-0, Tesla V100-SXM2-16GB, 580.65.06, 7.0, 16384, 16160"
THOR = "0, GPU-0, NVIDIA Thor, 580.00, 11.0, 125772, 120000"
B300 = "0, GPU-0, NVIDIA B300 SXM6 AC, 580.95.05, 10.3, 275040, 274000"
T4 = "0, GPU-0, Tesla T4, 580.65.06, 7.5, 15360, 14913"
Smi = Callable[..., None]


@pytest.fixture
def smi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Smi:
    """The machine's nvidia-smi prints this and ends so."""
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)

    def install(out: str, err: str = "", code: int = 0) -> None:
        (tmp_path / "out").write_text(out)
        (tmp_path / "err").write_text(err)
        program = tmp_path / "nvidia-smi"
        program.write_text(f"#!/bin/sh\ncat {tmp_path}/out\ncat {tmp_path}/err >&2\nexit {code}\n")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)

    return install


def test_the_card_is_named_with_its_memory(smi: Smi) -> None:
    smi(A4090 + "\n")
    choice = gpu.choose("auto")
    assert (choice.engine, str(choice.card)) == ("cuda", "NVIDIA GeForce RTX 4090, 24564 MiB")
    assert choice.card is not None
    assert choice.card.free_bytes == 23999 * 1024**2


@pytest.mark.parametrize(
    ("wanted", "name"),
    [
        (None, "4090"),
        ("1", "3060"),
        ("0,1", "4090"),
        ("1,7,0", "3060"),
        ("GPU-77aa", "3060"),
        (" 1", "3060"),
    ],
)
def test_cuda_visible_devices_is_honoured_and_of_several_cards_the_freest_taken(
    smi: Smi, monkeypatch: pytest.MonkeyPatch, wanted: str | None, name: str
) -> None:
    smi(f"{A3060}\n{A4090}\n")
    if wanted is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", wanted)
    assert name in gpu.find_card().name


def test_a_card_in_use_is_left_to_its_user(smi: Smi) -> None:
    smi(f"{A4090.replace('23999', '800')}\n{A3060}\n")
    assert gpu.find_card().index == 1


def test_a_card_that_can_run_it_is_taken_before_a_larger_one_that_cannot(smi: Smi) -> None:
    smi(f"{V100}\n{A3060}\n")
    assert gpu.find_card().index == 1


def test_a_card_without_memory_of_its_own_has_the_systems(smi: Smi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "memory_limit_bytes", lambda: 128 * 10**9)
    monkeypatch.setattr(gpu, "available_memory_bytes", lambda: 100 * 10**9)
    smi(GB10)
    card = gpu.find_card()
    assert (card.total_bytes, card.free_bytes, str(card)) == (
        128 * 10**9,
        100 * 10**9,
        "NVIDIA GB10, the system's memory",
    )


@pytest.mark.parametrize("line", [A4090, A3060, GB10, B300, T4])
def test_cards_that_the_wheel_has_code_for_are_fit(line: str) -> None:
    assert gpu.parse(line)[0].unfit() == ""


FAILED = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest …"
MISMATCH = "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 535.161"
NO_LIBRARY = "nvidia-smi: error while loading shared libraries: libnvidia-ml.so"
NO_HANDLE = "Unable to determine the device handle for GPU0000:01:00.0: Unknown Error"


@pytest.mark.parametrize(
    ("answer", "visible", "said"),
    [
        ((OLD_DRIVER, "", 0), None, r"A100-SXM4-80GB: driver 535\.161\.08 is too old for CUDA 13: install 580"),
        ((V100, "", 0), None, r"compute capability is 7\.0, and vLLM's wheel has code for 7\.5, .*12\.0"),
        ((THOR, "", 0), None, r"compute capability is 11\.0"),
        ((A4090, "", 0), "", r"CUDA_VISIBLE_DEVICES='' leaves no card; there are 0 \(NVIDIA GeForce RTX 4090\)"),
        ((A4090, "", 0), "-1", "CUDA_VISIBLE_DEVICES='-1' leaves no card"),
        ((A4090, "", 0), "3", "CUDA_VISIBLE_DEVICES='3' leaves no card"),
        ((A4090, "", 0), "MIG-1c2d", "names a part of a card"),
        (("No devices were found", "", 6), None, "finds no card"),
        (("No devices were found", "", 0), None, "finds no card"),
        (("", "", 0), None, "nvidia-smi ended with 0: nothing said"),
        ((MISMATCH, "", 18), None, "reboot"),
        (("Failed to initialize NVML: Unknown Error", "", 255), None, "start it anew"),
        ((FAILED, "", 9), None, "no kernel module of the driver is loaded"),
        (('Field "compute_cap" is not a valid field to query.', "", 2), None, "too old to be asked"),
        (("", NO_LIBRARY, 127), None, "ended with 127: nvidia-smi"),
        ((NO_HANDLE, "", 0), None, "can't be read"),
        ((A4090.replace("23999", "[Insufficient Permissions]"), "", 0), None, "is MIG on"),
        ((A4090.replace("8.9", "[N/A]"), "", 0), None, "can't be read"),
    ],
)
def test_where_no_card_can_be_used_auto_takes_the_cpu_and_says_why_and_cuda_is_refused(
    smi: Smi, monkeypatch: pytest.MonkeyPatch, answer: tuple[str, str, int], visible: str | None, said: str
) -> None:
    smi(*answer)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    choice = gpu.choose("auto")
    assert (choice.engine, choice.card) == ("cpu", None)
    with pytest.raises(MachineError, match=said) as refused:
        gpu.choose("cuda")
    assert choice.why == str(refused.value)
    assert "\n" not in choice.why


def test_without_a_driver_there_is_the_cpu_and_nothing_is_asked_where_it_is_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(gpu, "_PLACES", ("nvidia-smi",))
    assert "no nvidia-smi" in gpu.choose("auto").why
    assert gpu.choose("cpu").why == ""


def test_a_driver_that_hangs_does_not_hang_us(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "nvidia-smi"
    program.write_text("#!/bin/sh\nexec sleep 60\n")
    program.chmod(0o700)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(gpu, "_PATIENCE_S", 0.2)
    assert "did not answer" in gpu.choose("auto").why
