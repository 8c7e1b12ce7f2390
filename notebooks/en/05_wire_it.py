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
    from kvtiers.doctor import Source, lint
    from kvtiers.doctor.sources import Given, read_sources
    from kvtiers.doctor.texts import text as doctor_text
    from kvtiers.errors import KvtiersError
    from kvtiers.wiring import (
        Plan,
        Wiring,
        exports,
        lmcache_environment,
        lmcache_yaml,
        settings,
        shared_environment,
        vllm_command,
    )


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
        "ssd_demo": "Local SSD only, to see it work",
        "directory": "CPU RAM and a directory that survives restarts",
        "redis": "CPU RAM and Redis or Valkey",
        "model": "Model",
        "cpu_gib": "CPU RAM for KV (GiB per worker)",
        "disk_gib": "Disk limit (GiB per worker)",
        "disk_path": "Directory on the drive",
        "redis_url": "Address of Redis",
        "chunk": "Chunk (tokens)",
        "no_limit": """
            **No limit, no disk tier.** With `max_local_disk_size` at its default of 0, LMCache never creates the disk tier and
            says nothing: stores are still logged, and the next lookup hits 0.
        """,
        "bad_setting": "These settings can't work:",
        "command": "**1. Start vLLM with the connector, and with the settings of step 2 in place**",
        "environment": "**2. The settings, as environment variables**",
        "yaml": "or the same as `lmcache.yaml` (variables win where both are set), named by `LMCACHE_CONFIG_FILE`:",
        "smallest": "**Smallest prefix that can hit:** {tokens} tokens, one full chunk; at most {tail} tokens of each prefix are recomputed.",
        "notes": "**3. Prove it**",
        "note_ssd": "The start-up log must say `Local disk cache path:`. Without this line there is no disk tier.",
        "note_hit": "Ask the same long prompt again after others have pushed it out: the log must say `LMCache hit tokens` above 0.",
        "note_restart_lost": "After a restart nothing is found again, even though the files are still there: warm up on purpose.",
        "note_restart_kept": "After a restart the KV is found again: same model, same layout, same hash.",
        "note_restart_empty": "A restart empties CPU RAM: warm up on purpose.",
        "language": "en",
        "check": """
            ## Paste your own settings

            A vLLM command, a script, a compose file, a `.env` or an `lmcache.yaml`. Nothing you paste leaves this page.
        """,
        "pasted": "Settings to check",
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
    wiring = mo.ui.dropdown(
        {t[wiring]: wiring for wiring in Wiring if wiring in t}, value=t[Wiring.CPU_SSD], label=t["wiring"]
    )
    model = mo.ui.text("Qwen/Qwen3-8B", label=t["model"])
    chunk_tokens = mo.ui.dropdown([64, 128, 256, 512], value=256, label=t["chunk"])
    cpu_gib = mo.ui.slider(1, 256, value=20, label=t["cpu_gib"], show_value=True)
    disk_gib = mo.ui.slider(0, 2000, 10, value=100, label=t["disk_gib"], show_value=True)
    disk_path = mo.ui.text("/mnt/nvme/lmcache", label=t["disk_path"])
    redis_url = mo.ui.text("redis://localhost:6379", label=t["redis_url"])
    return chunk_tokens, cpu_gib, disk_gib, disk_path, model, redis_url, wiring


@app.cell
def _(chunk_tokens, cpu_gib, disk_gib, disk_path, model, redis_url, wiring):
    of_this_wiring = {
        Wiring.CPU: [cpu_gib],
        Wiring.CPU_SSD: [cpu_gib, disk_path, disk_gib],
        Wiring.SSD_DEMO: [disk_path, disk_gib],
        Wiring.DIRECTORY: [cpu_gib, disk_path],
        Wiring.REDIS: [cpu_gib, redis_url],
    }
    mo.vstack([wiring, model, chunk_tokens, *of_this_wiring[wiring.value]])
    return


@app.cell
def _(chunk_tokens, cpu_gib, disk_gib, disk_path, model, redis_url, t, wiring):
    has_disk_tier = wiring.value in (Wiring.CPU_SSD, Wiring.SSD_DEMO)
    mo.stop(has_disk_tier and disk_gib.value == 0, mo.callout(mo.md(t["no_limit"]), kind="danger"))
    plan = Plan(
        wiring.value,
        model.value,
        cpu_gib=cpu_gib.value,
        disk_gib=disk_gib.value,
        disk_path=disk_path.value,
        redis_url=redis_url.value,
        chunk_tokens=chunk_tokens.value,
    )
    try:
        values = settings(plan)
    except KvtiersError as error:
        mo.stop(True, mo.callout(mo.vstack([t["bad_setting"], mo.plain_text(str(error))]), kind="danger"))
    return has_disk_tier, plan, values


@app.cell
def _(plan, t, values):
    def fenced(language, text):
        return mo.md(f"```{language}\n{text}\n```")

    mo.vstack(
        [
            mo.md(t["command"]),
            fenced("bash", vllm_command(plan)),
            mo.md(t["environment"]),
            fenced("bash", exports(shared_environment() | lmcache_environment(values))),
            mo.md(t["yaml"]),
            fenced("yaml", lmcache_yaml(values)),
            mo.md(t["smallest"].format(tokens=plan.chunk_tokens, tail=plan.chunk_tokens - 1)),
        ]
    )
    return


@app.cell
def _(has_disk_tier, plan, t):
    after_restart = {
        Wiring.CPU: "note_restart_empty",
        Wiring.DIRECTORY: "note_restart_kept",
        Wiring.REDIS: "note_restart_kept",
    }
    notes = [
        *([t["note_ssd"]] if has_disk_tier else []),
        t["note_hit"],
        t[after_restart.get(plan.wiring, "note_restart_lost")],
    ]
    mo.md(t["notes"] + "\n\n" + "".join(f"- {note}\n" for note in notes))
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
        text = [Source("paste", pasted.value)]
        mo.stop(read_sources(text) == Given(), mo.callout(t["nothing_to_check"], kind="danger"))
        findings = lint(text)
    except KvtiersError as error:
        mo.stop(True, mo.callout(mo.vstack([t["settings_unread"], mo.plain_text(str(error))]), kind="danger"))

    def card(finding):
        kind = {"error": "danger", "warning": "warn", "note": "info"}[finding.severity]
        return mo.callout(mo.Html(escape(show(finding, t["language"])).replace("\n", "<br>")), kind=kind)

    clean = mo.callout(doctor_text("lint.clean", t["language"], {}), kind="success")
    mo.vstack([*map(card, findings)] or [clean])
    return (findings,)


@app.cell(hide_code=True)
def _(t):
    mo.md(t["run"])
    return


if __name__ == "__main__":
    app.run()
