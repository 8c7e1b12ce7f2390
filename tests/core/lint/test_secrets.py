"""Secrets stay unsaid."""

import json

import pytest

from kvtiers.lint import Source, lint
from kvtiers.words import LANGUAGES

SECRETS = ("hf_abcdefghijklmnopqrstuvwx", "sk-proj-1234567890abcdefgh", "p4ssw0rd-of-mine")


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize(
    "text",
    [
        'export HF_TOKEN={0}\nvllm serve m --api-key {0} --kv-transfer-config {{"kv_connector":{0}',
        "remote_url: redis://user:{0}@host:1\nunknown_thing: {0}\nlocal_cpu: {0}\nchunk_size: {0}\n"
        'extra_config: \'{{"password": "{0}"\'\n',
        "LMCACHE_RESP_PASSWORD={0}\nLMCACHE_REMOTE_URL=rediz://:{0}@h:1\nLMCACHE_PRE_CACHING_HASH_ALGORITHM={0}\n",
        "services:\n  a:\n    image: vllm/vllm-openai:v1\n    environment: [API_KEY={0}]\n"
        "    command: --model m --hf-token {0}\n",
    ],
)
@pytest.mark.parametrize("language", LANGUAGES)
def test_no_secret_is_ever_echoed(secret: str, text: str, language: str) -> None:
    found = lint([Source("paste", text.format(secret))])
    assert found
    assert secret not in json.dumps([finding.to_json(language) for finding in found], ensure_ascii=False)
