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
            # 維運

            一個小型的分層模擬器：600 個請求，對象是熱門程度不一的文件（Zipf 分布），依序穿過各自逐出最久未用項目的各層。KV 大小以每個 token 128 KiB 計。
        """,
        "documents": "文件數",
        "prefix": "每份文件的前綴（token）",
        "vram": "GPU 記憶體裡的 KV 池（GiB）",
        "cpu": "CPU RAM（GiB）",
        "ssd": "本機磁碟上限（GiB；0 是 LMCache 的預設值：沒有磁碟層）",
        "remote": "遠端層（200 GiB）",
        "hash": "穩定的雜湊（sha256，固定 PYTHONHASHSEED）",
        "restart": "中途重新啟動",
        "crash": "中止請求使引擎當掉（LMCache 0.4.6 以前），每 150 個請求一次",
        "seed": "請求序列的亂數種子",
        "answered_vram": "GPU 記憶體",
        "answered_cpu": "CPU RAM",
        "answered_ssd": "本機磁碟",
        "answered_remote": "遠端",
        "answered_none": "重算",
        "this_stack": "目前的分層",
        "pool_only": "只有 GPU 的 KV 池",
        "share": "占請求的比例",
        "share_alt": "各層回應了 {hits:.0%} 的請求；只有 GPU 的 KV 池時為 {pool:.0%}。",
        "hit_rate": "命中率",
        "hit_rate_pool": "只有 GPU 的 KV 池：{pool:.0%}",
        "saved": "一共省下的 TTFT",
        "saved_pool": "只有 GPU 的 KV 池：{saved}",
        "recomputed": "重算的前綴",
        "recomputed_of": "共 {requests} 個請求",
        "time_x": "請求",
        "time_y": "每 50 個請求的命中率",
        "restarts": "引擎重新啟動",
        "time_alt": "目前的分層與只有 GPU 的 KV 池的命中率變化；重新啟動於第 {restarts} 個請求。",
        "nowhere": "無",
        "try": """
            試試看：把上限調成 0。接著在有 CPU RAM 與磁碟的情況下中途重新啟動，觀察之後的 50 個請求。再加上遠端層、重新啟動一次，然後取消穩定的雜湊。
        """,
        "run": "從 clone 下來的專案執行：`uvx marimo edit --sandbox notebooks/zh-TW/07_operate_it.py`",
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
