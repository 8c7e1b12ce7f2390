"""Bring a model into the Hugging Face cache, where the engine finds it offline. Runs in the engine's environment.

usage: python fetch_model.py MODEL [config]

With ``config`` only its config.json. Prints one JSON object a line: ``{"bytes": …, "of": …}`` as it comes, at the end
``{"directory": …}``, or ``{"fault": …}``.
"""

import errno
import json
import shutil
import sys
from pathlib import Path

from huggingface_hub import HfApi, constants, hf_hub_download, snapshot_download
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    LocalEntryNotFoundError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
)
from huggingface_hub.file_download import repo_folder_name
from tqdm import tqdm

UNAUTHORIZED = 401
SUFFIXES = (".safetensors", ".json", ".txt", ".model", ".jinja")


class Told(tqdm):
    """A bar that another process draws."""

    brought = 0
    total_bytes = 0

    def update(self, n: float | None = 1) -> bool | None:
        Told.brought += n or 0
        tell(bytes=int(Told.brought), of=Told.total_bytes)
        return super().update(n)


def tell(**what: object) -> None:
    """To the process that asked."""
    print(json.dumps(what), flush=True)


def cached(model: str) -> Path | None:
    """The model's directory in the cache; None where anything of it is missing."""
    try:
        directory = Path(
            snapshot_download(model, local_files_only=True, allow_patterns=[f"*{end}" for end in SUFFIXES])
        )
    except (LocalEntryNotFoundError, OSError, ValueError):
        return None
    index = directory / "model.safetensors.index.json"
    if index.is_file():
        weights = [directory / name for name in set(json.loads(index.read_text())["weight_map"].values())]
    else:
        weights = list(directory.glob("*.safetensors")) or [directory / "model.safetensors"]
    return directory if all(file.is_file() for file in [directory / "config.json", *weights]) else None


def held_bytes(place: Path, model: str) -> int:
    """Of a download that broke off: its whole files. What came of another begins anew."""
    blobs = (place / repo_folder_name(repo_id=model, repo_type="model") / "blobs").glob("*")
    return sum(blob.stat().st_size for blob in blobs if blob.suffix != ".incomplete")


def fetch(model: str) -> None:
    """All that an engine loads, file by file."""
    files = [
        file
        for file in HfApi().model_info(model, files_metadata=True).siblings
        if file.rfilename.endswith(SUFFIXES) and "/" not in file.rfilename
    ]
    if not any(file.rfilename.endswith(".safetensors") for file in files):
        tell(fault=f"{model} has no weights in safetensors files: choose another model")
        return
    Told.total_bytes = sum(file.size or 0 for file in files)
    place = Path(constants.HF_HUB_CACHE)
    place.mkdir(parents=True, exist_ok=True)
    free, left = shutil.disk_usage(place).free, Told.total_bytes - held_bytes(place, model)
    if free < left:
        needed, there = (f"{size / 1e9:.1f} GB" for size in (left, free))
        tell(fault=f"{model} takes {needed} more, and {place} has {there} free: make room, or set HF_HOME elsewhere")
        return
    for file in files:
        hf_hub_download(model, file.rfilename, tqdm_class=Told)
    tell(directory=str(cached(model) or ""))


def fault(model: str, error: Exception) -> str:
    """What to say of it."""
    hub = constants.ENDPOINT
    match error:
        case GatedRepoError():
            return f"{model} is gated: accept its licence at {hub}/{model}, then set HF_TOKEN"
        case RepositoryNotFoundError():
            return f"{hub} has no model {model}, or it is private: check the name, or set HF_TOKEN"
        case OfflineModeIsEnabled():
            return f"{model} is not in the cache, and HF_HUB_OFFLINE forbids to fetch it: unset that"
        case HfHubHTTPError() as refusal:
            status = refusal.response.status_code
            said = f"answered {status} for {model}: try again later"
            return f"{hub} {f'refused the token for {model}: check HF_TOKEN' if status == UNAUTHORIZED else said}"
        case OSError() if error.errno == errno.ENOSPC:
            return f"the drive of {constants.HF_HUB_CACHE} is full: make room, or set HF_HOME elsewhere"
    reason = " ".join(f"{type(error).__name__}: {error}".split())[:200]
    return f"cannot fetch {model} from {hub} ({reason}): check the network or HF_ENDPOINT, or give --model a directory"


def main(model: str, what: str = "all") -> None:
    """Fetch, and put every fault into a sentence."""
    try:
        if directory := cached(model):
            tell(directory=str(directory))
        elif what == "config":
            tell(directory=str(Path(hf_hub_download(model, "config.json")).parent))
        else:
            fetch(model)
    except Exception as error:  # its HTTP client's own errors are no OSErrors
        tell(fault=fault(model, error))


if __name__ == "__main__":
    main(*sys.argv[1:])
