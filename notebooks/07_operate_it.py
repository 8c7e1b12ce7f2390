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
    import marimo as mo

    from kvtiers import charts
    from kvtiers.ledger.stack import Speeds, StackTier, Workload, replay
    from kvtiers.ledger.tiers import Tier
    from kvtiers.units import KIB, format_count, format_seconds


@app.cell(hide_code=True)
def _():
    t = {
        "intro": """
            # Operate it

            A small simulator of a tier stack: 600 requests over documents of unequal popularity (Zipf) run through tiers that
            each evict the least recently used. Sizes of KV: 128 KiB per token.
        """,
        "documents": "Documents",
        "prefix": "Prefix of each (tokens)",
        "vram": "KV pool in GPU memory (GiB)",
        "cpu": "CPU RAM (GiB)",
        "ssd": "Local disk limit (GiB; 0 is LMCache's default: no disk tier)",
        "remote": "Remote tier (200 GiB)",
        "hash": "Stable hash (sha256, PYTHONHASHSEED fixed)",
        "restart": "Restart halfway",
        "crash": "An abort crashes the engine (LMCache up to 0.4.6), every 150 requests",
        "seed": "Seed of the request stream",
        "answered_vram": "GPU memory",
        "answered_cpu": "CPU RAM",
        "answered_ssd": "local disk",
        "answered_remote": "remote",
        "answered_none": "recomputed",
        "this_stack": "this stack",
        "pool_only": "GPU pool only",
        "share": "share of requests",
        "share_alt": "Tiers answer {hits:.0%} of the requests; the GPU pool alone {pool:.0%}.",
        "hit_rate": "Hit rate",
        "hit_rate_pool": "GPU pool only: {pool:.0%}",
        "saved": "TTFT saved in all",
        "saved_pool": "GPU pool only: {saved}",
        "recomputed": "Prefixes recomputed",
        "recomputed_of": "of {requests} requests",
        "time_x": "request",
        "time_y": "hit rate over 50 requests",
        "restarts": "engine restarts",
        "time_alt": "Hit rate over time for this stack and for the GPU pool alone; restarts at {restarts}.",
        "nowhere": "none",
        "try": """
            Try: set the limit to 0. Then restart halfway with CPU RAM and disk, and look at the first 50 requests after it.
            Add the remote tier, restart again, and unpin the hash.
        """,
        "run": "Run it from a clone: `uvx marimo edit --sandbox notebooks/en/07_operate_it.py`",
    }
    return (t,)


@app.cell(hide_code=True)
def _(t):
    mo.md(t["intro"])
    return


@app.cell
def _(t):
    documents = mo.ui.slider(10, 300, 10, value=100, label=t["documents"], show_value=True)
    prefix_tokens = mo.ui.slider(1000, 32000, 1000, value=8000, label=t["prefix"], show_value=True)
    vram_gib = mo.ui.slider(0, 40, value=6, label=t["vram"], show_value=True)
    cpu_gib = mo.ui.slider(0, 128, 2, value=20, label=t["cpu"], show_value=True)
    disk_gib = mo.ui.slider(0, 200, 5, value=60, label=t["ssd"], show_value=True)
    remote = mo.ui.switch(label=t["remote"])
    stable_hash = mo.ui.switch(value=True, label=t["hash"])
    restart = mo.ui.switch(value=True, label=t["restart"])
    crash = mo.ui.switch(label=t["crash"])
    seed = mo.ui.slider(0, 20, value=0, label=t["seed"], show_value=True)
    mo.vstack([documents, prefix_tokens, vram_gib, cpu_gib, disk_gib, remote, stable_hash, restart, crash, seed])
    return cpu_gib, crash, disk_gib, documents, prefix_tokens, remote, restart, seed, stable_hash, vram_gib


@app.cell
def _(cpu_gib, crash, disk_gib, documents, prefix_tokens, remote, restart, seed, stable_hash, vram_gib):
    stack = [
        StackTier(Tier.VRAM, vram_gib.value),
        StackTier(Tier.CPU, cpu_gib.value),
        StackTier(Tier.SSD, disk_gib.value),
        StackTier(Tier.REMOTE, 200 if remote.value else 0, survives_restart=stable_hash.value),
    ]
    workload = Workload(600, documents.value, prefix_tokens.value, seed.value)
    speeds = Speeds(kv_bytes_per_token=128 * KIB, prefill_tokens_per_s=4000)
    restarts = sorted({*([300] if restart.value else []), *(range(150, 600, 150) if crash.value else [])})
    with_stack = replay(workload, stack, speeds, restarts)
    pool_only = replay(workload, stack[:1], speeds, restarts)
    return pool_only, restarts, with_stack


@app.cell
def _(pool_only, t, with_stack):
    tiers = (Tier.VRAM, Tier.CPU, Tier.SSD, Tier.REMOTE, Tier.NONE)
    mo.Html(
        charts.stacked_bars(
            {
                t["this_stack"]: [with_stack.share(tier) for tier in tiers],
                t["pool_only"]: [pool_only.share(tier) for tier in tiers],
            },
            [t[f"answered_{tier}"] for tier in tiers],
            charts.Axis(t["share"], lambda share: f"{share:.0%}"),
            t["share_alt"].format(hits=with_stack.hit_rate, pool=pool_only.hit_rate),
        )
    )
    return


@app.cell
def _(pool_only, t, with_stack):
    recomputed = with_stack.answered_by.count(Tier.NONE)
    mo.hstack(
        [
            mo.stat(f"{with_stack.hit_rate:.0%}", t["hit_rate"], t["hit_rate_pool"].format(pool=pool_only.hit_rate)),
            mo.stat(
                format_seconds(with_stack.saved_s),
                t["saved"],
                t["saved_pool"].format(saved=format_seconds(pool_only.saved_s)),
            ),
            mo.stat(str(recomputed), t["recomputed"], t["recomputed_of"].format(requests=len(with_stack.answered_by))),
        ],
        justify="start",
        wrap=True,
    )
    return


@app.cell
def _(pool_only, restarts, t, with_stack):
    mo.Html(
        charts.lines(
            range(50, 601, 50),
            {t["this_stack"]: with_stack.hit_rate_over_time(50), t["pool_only"]: pool_only.hit_rate_over_time(50)},
            charts.Axis(t["time_x"], format_count),
            charts.Axis(t["time_y"], lambda share: f"{share:.0%}"),
            t["time_alt"].format(restarts=", ".join(map(str, restarts)) or t["nowhere"]),
            marks={t["restarts"]: restarts} if restarts else None,
        )
    )
    return


@app.cell(hide_code=True)
def _(t):
    mo.md(t["try"])
    return


@app.cell(hide_code=True)
def _(t):
    mo.md(t["run"])
    return


if __name__ == "__main__":
    app.run()
