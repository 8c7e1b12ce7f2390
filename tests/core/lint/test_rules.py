"""Each rule from a small input as people write it, with its line, its words and its page."""

from pathlib import Path

import pytest

from kvtiers.lint import Facts, Source, lint
from kvtiers.lint.findings import RULES, Severity
from kvtiers.words import LANGUAGES
from tests.core.lint.builders import (
    BOUNDED,
    DISK,
    DOCKER,
    ESCAPED,
    GOOD_JSON,
    HASH,
    MP,
    SERVE,
    SERVE_MP,
    compose_service,
    offload,
    serve,
)

PREFIX = Facts(prefix_tokens=32_768, kv_bytes_per_token=131_072)

MOUNTS = Facts(mounts="/dev/vda / ext4 rw 0 0\ntmpfs /fast tmpfs rw 0 0\n/dev/nvme0n1 /mnt/nvme xfs rw 0 0\n")

MP_WITH = serve(kv_connector="LMCacheMPConnector", kv_connector_extra_config="EXTRA")
MP_WITH = MP_WITH.replace("{", "{{").replace("}", "}}").replace('"EXTRA"', "{{{}}}")

MP_INSIDE = f"{MP} --http-host 127.0.0.1"

TWO_SERVERS = "\n".join(
    [f"{MP} --port {port} --l2-adapter '{BOUNDED}' &" for port in (1, 2)]
    + [
        serve(kv_connector="LMCacheMPConnector", kv_connector_extra_config={"lmcache.mp.port": port}) + f" {kind} &"
        for port, kind in ((1, "--kv-cache-dtype fp8"), (2, ""))
    ]
)

# rule -> (input, facts, line of the finding)
CASES: dict[str, list[tuple[str, Facts | None, int]]] = {
    "legacy_connector": [(serve(kv_connector="LMCacheConnector"), None, 1)],
    "unknown_connector": [(serve(kv_connector="LMCacheConectorV1"), None, 1)],
    "no_connector": [
        ("export LMCACHE_LOCAL_CPU=true LMCACHE_PRE_CACHING_HASH_ALGORITHM=sha256\nvllm serve m", None, 2)
    ],
    "plain_server": [("docker run --gpus all vllm/vllm-openai:v0.32.0 --model m", None, 1)],
    "kv_role": [(serve(kv_role="both"), None, 1), (serve(kv_role=None), None, 1)],
    "kv_role_one_way": [(serve(kv_role="kv_producer"), None, 1), (serve(kv_role="kv_consumer"), None, 1)],
    "kv_transfer_json": [
        (f"vllm serve m \\\n  --kv-transfer-config {GOOD_JSON}", None, 2),
        (f'vllm serve m --kv-transfer-config "{GOOD_JSON}"', None, 1),
        ("vllm serve m --kv-transfer-config '[]'", None, 1),
    ],
    "load_failure_fail": [
        ("""vllm serve m --kv-transfer-config '{"kv_connector":"LMCacheConnectorV1","kv_role":"kv_both"}'""", None, 1),
        (
            "vllm serve m --kv-transfer-config.kv_connector LMCacheConnectorV1 --kv-transfer-config.kv_role kv_both",
            None,
            1,
        ),
    ],
    "disk_without_limit": [
        (f"{HASH}local_disk: file:///mnt/nvme/kv\n", None, 2),
        (f"{HASH}local_disk: /mnt/nvme/kv\nmax_local_disk_size: 0\n", None, 3),
    ],
    "limit_without_disk": [
        (f"export LMCACHE_MAX_LOCAL_DISK_SIZE=5 LMCACHE_PRE_CACHING_HASH_ALGORITHM=sha256\n{SERVE}", None, 1)
    ],
    "disk_volatile": [
        (f"{HASH}max_local_disk_size: 5\nlocal_disk: /tmp/lmcache\n", None, 3),
        (f"{HASH}max_local_disk_size: 5\nlocal_disk: file:///dev/shm/kv\n", None, 3),
        (f"{HASH}max_local_disk_size: 5\nlocal_disk: /fast/kv\n", MOUNTS, 3),
    ],
    "disk_on_system_drive": [(f"{HASH}max_local_disk_size: 5\nlocal_disk: /var/lib/kv\n", MOUNTS, 3)],
    "disk_uri": [
        (f"{HASH}max_local_disk_size: 5\nlocal_disk: file:/mnt/nvme/kv\n", None, 3),
        (f"{HASH}max_local_disk_size: 5\nlocal_disk: FILE:///mnt/nvme/kv\n", None, 3),
    ],
    "disk_relative": [(f"{HASH}max_local_disk_size: 5\nlocal_disk: file://mnt/kv\n", None, 3)],
    "disk_larger_than_drive": [
        (HASH + DISK, Facts(drive_gib=40), 3),
        (
            f"export LMCACHE_PRE_CACHING_HASH_ALGORITHM=sha256\nexport LMCACHE_LOCAL_DISK=/mnt/n/kv\n"
            f"export LMCACHE_MAX_LOCAL_DISK_SIZE=30\n{SERVE} --tensor-parallel-size 2",
            Facts(drive_gib=40),
            3,
        ),
    ],
    "value_type": [
        (f"{HASH}chunk_size: many\n", None, 2),
        (f"{HASH}max_local_cpu_size: 20GB\n", None, 2),
        (f"{HASH}local_cpu: maybe\n", None, 2),
        ("LMCACHE_PRE_CACHING_HASH_ALGORITHM=sha256\nLMCACHE_EXTRA_CONFIG={use_odirect: true}\n", None, 2),
    ],
    "bool_reads_false": [
        ("LMCACHE_PRE_CACHING_HASH_ALGORITHM=sha256\nLMCACHE_LOCAL_CPU=yes\n", None, 2),
        (f'{HASH}local_cpu: "on"\n', None, 2),
    ],
    "staging_zero": [(f"{HASH}{DISK}max_local_cpu_size: 0\n", None, 4)],
    "staging_too_small": [(f"{HASH}{DISK}local_cpu: false\nmax_local_cpu_size: 2\n", PREFIX, 5)],
    "hash_builtin": [("chunk_size: 256\n", None, 1), ("pre_caching_hash_algorithm: builtin\n", None, 1)],
    "hash_unknown": [("pre_caching_hash_algorithm: sha265\n", None, 1)],
    "hashseed_unset": [
        (
            "export LMCACHE_PRE_CACHING_HASH_ALGORITHM=sha256\nexport LMCACHE_REMOTE_STORAGE_PLUGINS=redis\n" + SERVE,
            None,
            2,
        )
    ],
    "chunk_not_multiple": [
        (f"{HASH}chunk_size: 100\n", None, 2),
        (f"export LMCACHE_CHUNK_SIZE=256 LMCACHE_PRE_CACHING_HASH_ALGORITHM=sha256\n{SERVE} --block-size 96", None, 1),
    ],
    "chunk_larger_than_prefix": [(f"{HASH}chunk_size: 4096\n", Facts(prefix_tokens=2000), 2)],
    "file_and_variables": [
        (f"export LMCACHE_CONFIG_FILE=/etc/lmcache.yaml\nexport LMCACHE_CHUNK_SIZE=256\n{SERVE}", None, 1)
    ],
    "file_and_variables_differ": [
        (
            "cat > lmcache.yaml <<EOF\nchunk_size: 256\npre_caching_hash_algorithm: sha256\nEOF\n"
            f"export LMCACHE_CONFIG_FILE=lmcache.yaml\nexport LMCACHE_CHUNK_SIZE=512\n{SERVE}",
            None,
            5,
        )
    ],
    "unknown_key": [
        (f"export LM_CACHE_CHUNK_SIZE=256 PYTHONHASHSEED=0\n{SERVE}", None, 1),
        (f"{HASH}max_local_disc_size: 5\n", None, 2),
        (f"{HASH}enable_xpyd: true\n", None, 2),
        (f"export LMCACHE_PRE_CACHING_HASH_ALGORITHM=sha256\nexport LMCACHE_CHUNKSIZE=256\n{SERVE}", None, 2),
        (
            serve(
                kv_connector_extra_config={"lmcache.pre_caching_hash_algorithm": "sha256", "lmcache.local_dsik": "x"}
            ),
            None,
            1,
        ),
    ],
    "renamed_key": [(f"{HASH}external_backends: [a]\n", None, 2)],
    "remote_scheme": [(f"{HASH}remote_url: rediz://h:6379\n", None, 2), (f"{HASH}remote_url: h:6379\n", None, 2)],
    "remote_fs_url": [(f"{HASH}remote_url: fs:///mnt/kv\n", None, 2)],
    "remote_url_deprecated": [(f"{HASH}remote_url: redis://h:6379\n", None, 2)],
    "remote_plugin": [(f"{HASH}remote_storage_plugins: [s3]\n", None, 2)],
    "prefix_caching_off": [(SERVE + " --no-enable-prefix-caching", None, 1)],
    "mp_ignores_settings": [("export LMCACHE_LOCAL_CPU=true\n" + serve(kv_connector="LMCacheMPConnector"), None, 1)],
    "offloading_backend_lmcache": [("vllm serve m --kv-offloading-backend lmcache --kv-offloading-size 20", None, 1)],
    "offloading_cpu_bytes": [
        (
            serve(kv_connector="OffloadingConnector", kv_connector_extra_config={"spec_name": "TieringOffloadingSpec"}),
            None,
            1,
        ),
        (serve(kv_connector="OffloadingConnector"), None, 1),
    ],
    "offloading_bytes_unread": [
        (offload(cpu_bytes_to_use="64GB"), None, 1),
        (offload(cpu_bytes_to_use="64 GiB"), None, 1),
        (offload(cpu_bytes_to_use=-1), None, 1),
    ],
    "offloading_speculative": [
        ("""vllm serve m --kv-offloading-size 8 --speculative-config '{"method": "mtp"}'""", None, 1),
    ],
    "unknown_spec": [(offload(spec_name="TieredSpec"), None, 1)],
    "unknown_offloading_key": [(offload(cpu_bytes=1), None, 1)],
    "tiers_unread": [(offload(spec_name="CPUOffloadingSpec", secondary_tiers=[{"type": "p2p"}]), None, 1)],
    "unknown_tier": [(offload({"type": "disk"}), None, 1), (offload({"root_dir": "/kv"}), None, 1)],
    "tier_key_missing": [(offload({"type": "obj"}), None, 1)],
    "unknown_tier_key": [(offload({"type": "obj", "store_config": {}, "bucket": "b"}), None, 1)],
    "drive_unbounded": [
        (offload({"type": "fs", "root_dir": "/mnt/nvme/kv"}), None, 1),
        (MP + """ --l2-adapter '{"type":"fs","base_path":"/mnt/nvme/kv"}'""", None, 1),
    ],
    "connector_unseen": [
        ("vllm serve m $MORE", None, 1),
        ('exec vllm serve m "$@"', None, 1),
        ('vllm serve m --kv-transfer-config "$KV"', None, 1),
        ("export LMCACHE_LOCAL_CPU=true PYTHONHASHSEED=0\nvllm serve --config /etc/vllm.yaml", None, 2),
        ("python3 -m dynamo.vllm --model m", None, 1),
    ],
    "literal_quotes": [
        (compose_service(f"""["m", "--kv-transfer-config='{ESCAPED}'"]"""), None, 5),
        (
            compose_service(f"""["m", "--kv-transfer-config", "{ESCAPED}"]\n    environment: ['PYTHONHASHSEED="0"']"""),
            None,
            6,
        ),
        (f"ARGS=\"--kv-transfer-config '{ESCAPED}'\"\nvllm serve m $ARGS", None, 2),
    ],
    "command_ends_early": [
        (SERVE.replace(" --kv", " \\ \n  --kv"), None, 1),
        (SERVE.replace(" --kv", " \\\n  # the cache\n  --kv"), None, 1),
        (SERVE.replace(" --kv", "\n  --kv"), None, 1),
        (f"sh -c vllm serve m --kv-transfer-config '{GOOD_JSON}'", None, 1),
        (f"docker run vllm/vllm-openai \\ \n  --kv-transfer-config '{GOOD_JSON}'", None, 1),
    ],
    "not_exported": [
        ("LMCACHE_LOCAL_CPU=true\nexport PYTHONHASHSEED=0\n" + SERVE, None, 1),
        ("LMCACHE_CONFIG_FILE=lmcache.yaml\nexport PYTHONHASHSEED=0\n" + SERVE, None, 1),
        ("LMCACHE_LOCAL_CPU=true\n" + DOCKER.format("-e LMCACHE_LOCAL_CPU -e PYTHONHASHSEED=0"), None, 1),
    ],
    "mp_server_beside_in_process": [(f"{MP} &\n{SERVE}", None, 2)],
    "mp_keys_unread": [(serve(kv_connector_extra_config={"lmcache.mp.port": 6555}), None, 1)],
    "mp_required": [("lmcache server --l1-size-gb 20", None, 1)],
    "unknown_server_option": [(f"{MP} --l1_sizes-gb 3", None, 1), (f"{MP} --max-worker-count 3", None, 1)],
    "mp_port": [(f"{MP} --port 6555 &\n{SERVE_MP}", None, 2)],
    "mp_workers": [
        (f"{MP} &\n{SERVE_MP} &\n{SERVE_MP} --port 2", None, 1),
        (f"{MP} &\n{SERVE_MP} -tp 2", None, 1),
        (f"{MP} --max-workers 2 &\n{SERVE_MP} -tp=4", None, 1),
    ],
    "hybrid_in_process": [
        (SERVE, Facts(recurrent=True), 1),
        (SERVE.replace("Qwen3-8B", "Qwen3-Next-80B-A3B-Instruct"), None, 1),
    ],
    "hybrid_mp": [(SERVE_MP, Facts(recurrent=True), 1)],
    "mamba_cache_mode": [(SERVE_MP + " --mamba-cache-mode none", None, 1)],
    "mp_ipc": [(f"docker run lmcache/standalone {MP} &\ndocker run vllm/vllm-openai {SERVE_MP}", None, 2)],
    "mp_isolated_one_side": [
        (f"{MP} --isolated-ipc &\n{SERVE_MP}", None, 1),
        (f"{MP} &\n" + MP_WITH.format('"lmcache.mp.isolated_ipc": true'), None, 2),
        (
            f"docker run lmcache/standalone {MP} &\ndocker run vllm/vllm-openai "
            + MP_WITH.format('"lmcache.mp.isolated_ipc": true'),
            None,
            2,
        ),
    ],
    "came_later": [
        (f"pip install lmcache==0.4.6\n{MP_INSIDE} --shm-name kv", None, 2),
        (f"pip install lmcache==0.5.5\n{MP_INSIDE.replace('LRU', 'ARC')}", None, 2),
        (f"pip install lmcache==0.5.2\n{MP_INSIDE} --l2-adapter '{BOUNDED[:-1]},\"shared\":true}}'", None, 2),
        ("pip install vllm==0.30.0\n" + offload({"type": "fs", "root_dir": "/kv", "backpressure": {}}), None, 2),
        ("pip install lmcache==0.5.3\n" + MP_WITH.format('"lmcache.mp.lazy_offload": true'), None, 2),
    ],
    "gone_since": [(f"pip install lmcache==0.5.6\n{MP} --transfer-mode auto", None, 2)],
    "release_assumed": [(f"{MP} --shm-name kv", None, 1)],
    "unknown_mp_key": [
        (MP_WITH.format('"lmcache.mp.hots": "tcp://a"'), None, 1),
        (MP_WITH.format('"lmcache.mp.mq_timeouts": 30'), None, 1),
    ],
    "mp_l2_shared": [
        (f"{MP} --l2-adapter '{BOUNDED}' &\n{SERVE_MP} &\n{SERVE_MP.replace('Qwen3-8B', 'Qwen3-4B')}", None, 2),
    ],
    "mp_mixed": [
        (TWO_SERVERS, None, 4),
        (f"{MP} &\n{SERVE_MP} --dtype bfloat16 &\n{SERVE_MP} --dtype float16", None, 3),
    ],
    "mp_l2_json": [(f"{MP} --l2-adapter fs", None, 1)],
    "unknown_l2_adapter": [(MP + """ --l2-adapter '{"type":"disk"}'""", None, 1)],
    "mp_l2_unbounded": [
        (MP + """ --l2-adapter '{"type":"fs_native","base_path":"/kv","max_capacity_gb":9}'""", None, 1)
    ],
    "mp_open": [
        (f"{MP} --host 0.0.0.0", None, 1),
        (f"{MP} --http-host 10.0.0.7", None, 1),
        (f"docker run -p 8080:8080 lmcache/standalone {MP} --http-host 0.0.0.0", None, 1),
    ],
    "mp_open_by_default": [
        (f"pip install lmcache==0.5.5\n{MP}", None, 2),
        (MP, None, 1),
        (f"pip install lmcache==0.5.5\ndocker run -p 8080:8080 lmcache/standalone {MP}", None, 2),
    ],
    "mp_run_script": [(f"{MP} --run-script-api-enabled", None, 1)],
    "memory_exceeded": [
        (DOCKER.format("-m 64g -e LMCACHE_MAX_LOCAL_CPU_SIZE=20 -e PYTHONHASHSEED=0") + " -tp 4", None, 1),
        (f"export LMCACHE_MAX_LOCAL_CPU_SIZE=20 PYTHONHASHSEED=0\n{SERVE} -tp 4", Facts(memory_gib=64), 1),
        (f"{MP} &\n{SERVE_MP}", Facts(memory_gib=16), 1),
        (f"docker run -m 30g x sh -c '{MP} --port 1 & {MP} --port 2'", None, 1),
        (f"{MP} &\n{SERVE} --kv-offloading-size 9", Facts(memory_gib=24), 1),
        (f"docker run --memory=32g lmcache/standalone {MP.replace('20', '40')}", None, 1),
    ],
    "shm_too_small": [
        ("docker run vllm/vllm-openai m --kv-offloading-size 64", None, 1),
        ("docker run --shm-size 32g vllm/vllm-openai m --kv-offloading-size=64", None, 1),
        (f"docker run --shm-size 1g lmcache/standalone {MP} --shm-name kv", None, 1),
    ],
    "disk_no_volume": [
        (
            DOCKER.format(
                "-v /nvme:/kv -e LMCACHE_LOCAL_DISK=/cache -e LMCACHE_MAX_LOCAL_DISK_SIZE=9 -e PYTHONHASHSEED=0"
            ),
            None,
            1,
        )
    ],
    "l2_no_volume": [
        (f"docker run lmcache/standalone {MP} --l2-adapter '{BOUNDED}'", None, 1),
    ],
    "ignore_unread": [
        (f"# kvtiers: ignore[api_open]\n{SERVE}", None, 1),
        (f"# kvtiers: ignore[no_such_rule] because\n{SERVE}", None, 1),
        (f"# kvtiers: ignore all of it\n{SERVE}", None, 1),
    ],
    "version_pair": [
        (f"pip install vllm==0.11.0 lmcache==0.3.8\n{SERVE}", None, 1),
        (f"pip install vllm==0.26.0 lmcache==0.5.2\n{SERVE}", None, 1),
        (f"pip install vllm==0.32.0 lmcache==0.5.6\n{SERVE}", None, 1),
    ],
    "version_pair_unseen": [
        (f"pip install vllm==0.26.0\n{SERVE}", None, 2),
        (f"pip install lmcache==0.5.6\n{SERVE}", None, 2),
        (SERVE, None, 1),
        ("pip install vllm==0.32.0 lmcache==0.5.6\n", None, 1),
    ],
    "api_open": [(SERVE + " --host 0.0.0.0", None, 1)],
    "secret": [
        (f"export HF_TOKEN=whatever\n{SERVE}", None, 1),
        (SERVE + " --api-key letmein", None, 1),
        (HASH + "remote_storage_plugins: [redis]\nextra_config: {redis_url: 'redis://u:pw@h:1'}\n", None, 3),
        (HASH + "extra_config:\n  aws_secret_access_key: abc\n", None, 2),
    ],
}


@pytest.mark.parametrize(
    ("rule", "text", "facts", "line"),
    [(rule, text, facts, line) for rule, cases in CASES.items() for text, facts, line in cases],
    ids=lambda value: value if isinstance(value, str) and value in CASES else "",
)
def test_each_rule_finds_its_fault_and_nothing_else(rule: str, text: str, facts: Facts | None, line: int) -> None:
    found = [finding for finding in lint([Source("paste", text)], facts) if finding.certain or finding.id == rule]
    assert [(finding.id, finding.line) for finding in found] == [(rule, line)]
    for language in LANGUAGES:
        assert found[0].what(language)
        assert found[0].why(language)
        assert found[0].fix(language)


def test_every_rule_has_a_case() -> None:
    assert set(CASES) == set(RULES)


@pytest.mark.parametrize("rule", RULES)
def test_an_entry_holds_all_there_is_to_say_of_a_rule(rule: str) -> None:
    assert set(RULES[rule]) == {"severity", "lesson", "what", "why", "fix"}
    assert RULES[rule]["severity"] in set(Severity)


def test_every_rule_names_a_page_of_the_course() -> None:
    lessons = {path.name for path in (Path(__file__).parents[3] / "lessons").iterdir() if path.is_dir()}
    assert {entry["lesson"] for entry in RULES.values()} <= lessons | {"version-pairs"}
