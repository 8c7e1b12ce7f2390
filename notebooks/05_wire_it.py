# /// script
# requires-python = ">=3.11"
# dependencies = [
#     "kvtiers",
#     "marimo==0.25.2",
#     "matplotlib",
# ]
#
# [tool.uv.sources]
# kvtiers = { path = "../..", editable = true }
# ///

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="full")

with app.setup:
    from html import escape

    import marimo as mo

    from kvtiers.commands.lint import show
    from kvtiers.errors import KvtiersError
    from kvtiers.lint import Source, lint
    from kvtiers.lint.sources import Given, read_sources
    from kvtiers.settings.advise import files, proof
    from kvtiers.settings.wiring import Plan, Wiring, settings
    from kvtiers.words import text as doctor_text


@app.cell(hide_code=True)
def _():
    t = {
        "intro": """
            # Wire it

            Choose what to wire; copy the settings. For vLLM 0.32.0 and LMCache 0.5.6.
        """,
        "wiring": "What to wire",
        "cpu": "CPU RAM",
        "cpu_ssd": "CPU RAM and local SSD",
        "ssd_demo": "Local SSD only (a demo)",
        "directory": "CPU RAM and a directory",
        "redis": "CPU RAM and Redis or Valkey",
        "s3": "CPU RAM and S3",
        "mp_server": "LMCache server (MP mode)",
        "vllm_tiering": "vLLM's own tiering",
        "model": "Model",
        "cpu_gib": "CPU RAM for KV (GiB per worker)",
        "disk_gib": "Disk limit (GiB per worker)",
        "disk_path": "Directory on the drive",
        "redis_url": "Address of Redis",
        "s3_url": "Address of the S3 bucket",
        "s3_region": "Its region",
        "chunk": "Chunk (tokens)",
        "no_limit": """
            **No limit, no disk tier.** With `max_local_disk_size` at its default of 0, LMCache never creates the disk tier and
            says nothing: stores are still logged, and the next lookup hits 0.
        """,
        "bad_setting": "These settings can't work:",
        "server_step": "**Start the LMCache server first.** It holds the tiers; every vLLM on the machine uses it.",
        "environment_step": "**Set the environment**",
        "yaml_step": "or the same as `lmcache.yaml` (variables win where both are set), named by `LMCACHE_CONFIG_FILE`:",
        "command_step": "**Start vLLM with the connector**",
        "smallest": "**Smallest prefix that can hit:** {tokens} tokens, one full chunk; at most {tail} tokens of each prefix are recomputed.",
        "tiering": "LMCache takes no part in this one. It needs a GPU: CUDA, ROCm or XPU.",
        "s3_keys": "Keys come from the usual AWS places (variables, profile, role): none belongs into these settings.",
        "notes": "**Prove it**",
        "language": "en",
        "check": """
            ## Paste your own settings

            A vLLM command, a script, a compose file, a `.env` or an `lmcache.yaml`. Nothing you paste leaves this page.
        """,
        "pasted": "Settings to check",
        "paste": "paste",
        "settings_unread": "These settings can't be read. What is wrong:",
        "nothing_to_check": "No vLLM command, no variable and no LMCache setting in this text.",
        "run": "Run it from a clone: `uvx marimo edit --sandbox notebooks/en/05_wire_it.py`",
    }
    return (t,)


@app.cell(hide_code=True)
def _(t):
    mo.md(t["intro"])
    return


@app.cell
def _(t):
    wiring = mo.ui.dropdown({t[wiring]: wiring for wiring in Wiring}, value=t[Wiring.CPU_SSD], label=t["wiring"])
    model = mo.ui.text("Qwen/Qwen3-8B", label=t["model"])
    chunk_tokens = mo.ui.dropdown([64, 128, 256, 512], value=256, label=t["chunk"])
    cpu_gib = mo.ui.slider(1, 256, value=20, label=t["cpu_gib"], show_value=True)
    disk_gib = mo.ui.slider(0, 2000, 10, value=100, label=t["disk_gib"], show_value=True)
    disk_path = mo.ui.text("/mnt/nvme/lmcache", label=t["disk_path"])
    redis_url = mo.ui.text(Plan.redis_url, label=t["redis_url"])
    s3_url = mo.ui.text(Plan.s3_url, label=t["s3_url"], full_width=True)
    s3_region = mo.ui.text(Plan.s3_region, label=t["s3_region"])
    return chunk_tokens, cpu_gib, disk_gib, disk_path, model, redis_url, s3_region, s3_url, wiring


@app.cell
def _(chunk_tokens, cpu_gib, disk_gib, disk_path, model, redis_url, s3_region, s3_url, wiring):
    of_this_wiring = {
        Wiring.CPU: [chunk_tokens, cpu_gib],
        Wiring.CPU_SSD: [chunk_tokens, cpu_gib, disk_path, disk_gib],
        Wiring.SSD_DEMO: [chunk_tokens, disk_path, disk_gib],
        Wiring.DIRECTORY: [chunk_tokens, cpu_gib, disk_path],
        Wiring.REDIS: [chunk_tokens, cpu_gib, redis_url],
        Wiring.S3: [chunk_tokens, cpu_gib, s3_url, s3_region],
        Wiring.MP_SERVER: [chunk_tokens, cpu_gib, disk_path],
        Wiring.VLLM_TIERING: [cpu_gib, disk_path],
    }
    mo.vstack([wiring, model, *of_this_wiring[wiring.value]])
    return


@app.cell
def _(chunk_tokens, cpu_gib, disk_gib, disk_path, model, redis_url, s3_region, s3_url, t, wiring):
    needs_limit = wiring.value in (Wiring.CPU_SSD, Wiring.SSD_DEMO)
    mo.stop(needs_limit and disk_gib.value == 0, mo.callout(mo.md(t["no_limit"]), kind="danger"))
    plan = Plan(
        wiring.value,
        model.value,
        cpu_gib=cpu_gib.value,
        disk_gib=disk_gib.value,
        disk_path=disk_path.value,
        redis_url=redis_url.value,
        s3_url=s3_url.value,
        s3_region=s3_region.value,
        chunk_tokens=chunk_tokens.value,
    )
    try:
        values = settings(plan)
        to_paste = files(plan)
    except KvtiersError as error:
        mo.stop(True, mo.callout(mo.vstack([t["bad_setting"], mo.plain_text(str(error))]), kind="danger"))
    return plan, to_paste, values


@app.cell
def _(plan, t, to_paste):
    def fenced(kind, text):
        return mo.md(f"```{'yaml' if kind == 'yaml' else 'bash'}\n{text.rstrip()}\n```")

    _steps = [part for kind, text in to_paste.items() for part in (mo.md(t[f"{kind}_step"]), fenced(kind, text))]
    _notes = {
        Wiring.VLLM_TIERING: t["tiering"],
        Wiring.S3: t["smallest"] + "\n\n" + t["s3_keys"],
    }
    _note = _notes.get(plan.wiring, t["smallest"]).format(tokens=plan.chunk_tokens, tail=plan.chunk_tokens - 1)
    mo.vstack([*_steps, mo.md(_note)])
    return


@app.cell
def _(plan, t):
    _proof = [doctor_text(f"plan.proof.{name}", t["language"], {}) for name in proof(plan.wiring)]
    _restart = "survives" if plan.wiring.survives_restart else "lost_at_restart"
    _said = [*_proof, doctor_text(f"plan.note.{_restart}", t["language"], {})]
    mo.md(t["notes"] + "\n\n" + "".join(f"- {line}\n" for line in _said))
    return


@app.cell(hide_code=True)
def _(t):
    mo.md(t["check"])
    return


@app.cell
def _(t):
    pasted = mo.ui.text_area(
        "export LMCACHE_LOCAL_DISK=file:/mnt/nvme/lmcache\n"
        "export LMCACHE_LOCAL_CPU=no\n"
        "vllm serve Qwen/Qwen3-8B \\\n"
        '  --kv-transfer-config \'{"kv_connector": "LMCacheConnector", "kv_role": "kv_both"}\'\n',
        label=t["pasted"],
        rows=6,
        full_width=True,
    )
    pasted
    return (pasted,)


@app.cell
def _(pasted, t):
    try:
        text = [Source(t["paste"], pasted.value)]
        mo.stop(read_sources(text) == Given(), mo.callout(t["nothing_to_check"], kind="danger"))
        findings = lint(text)
    except KvtiersError as error:
        mo.stop(True, mo.callout(mo.vstack([t["settings_unread"], mo.plain_text(str(error))]), kind="danger"))

    def card(finding):
        kind = {"error": "danger", "warning": "warn", "note": "info"}[finding.severity]
        head, *rest = escape(show(finding, t["language"])).split("\n")
        return mo.callout(mo.Html("<br>".join([f"<strong>{head}</strong>", *rest])), kind=kind)

    clean = mo.callout(doctor_text("lint.clean", t["language"], {}), kind="success")
    mo.vstack([*map(card, findings)] or [clean])
    return (findings,)


@app.cell(hide_code=True)
def _(t):
    mo.md(t["run"])
    return


if __name__ == "__main__":
    app.run()
