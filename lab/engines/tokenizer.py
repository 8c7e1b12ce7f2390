"""The model's own tokenizer, out of the engine's environment, before an engine runs."""

import json
import os
import subprocess
import tempfile

from lab.engines.presets import Preset
from lab.errors import LabError
from lab.paths import engine_python

_ASK = """
import json, sys
from transformers import AutoTokenizer
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1])
print(json.dumps(tokenizer.encode(sys.stdin.read(), add_special_tokens=False)))
"""


def tokenize(preset: Preset, text: str) -> list[int]:
    """Token ids, without special tokens.

    Raises:
        LabError: the model has no tokenizer.
    """
    command = [str(engine_python(preset.engine)), "-c", _ASK, preset.model]
    with tempfile.TemporaryDirectory() as directory:  # torch leaves a folder there
        own = os.environ | {"HF_HUB_OFFLINE": "1", "TMPDIR": directory}  # set-up has brought it
        answer = subprocess.run(
            command, env=own, input=text, capture_output=True, text=True, encoding="utf-8", check=False
        )
    if answer.returncode:
        raise LabError(f"{preset.name} has no tokenizer: {' '.join(answer.stderr.strip().splitlines()[-1:])}")
    return [int(token) for token in json.loads(answer.stdout.splitlines()[-1])]
