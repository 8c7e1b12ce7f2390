# /// script
# requires-python = ">=3.11"
# dependencies = [
#     "kvtiers",
#     "marimo==0.25.2",
#     "matplotlib",
# ]
# tool.course.pairs = [
#     ["cpu_gib", "disk_gib"], ["restart", "disk_gib"], ["in_process", "restart"],
#     ["in_process", "crash"], ["in_process", "stable_hash"], ["my_model", "my_tokens"],
#     ["my_prefixes", "my_tokens"],
# ]
#
# [tool.uv.sources]
# kvtiers = { path = "..", editable = true }
# ///

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="full")

with app.setup(hide_code=True):
    import marimo as mo

    from kvtiers import charts
    from kvtiers.ledger.costs import break_even_tokens_per_s
    from kvtiers.ledger.stack import Speeds, StackTier, Workload, replay
    from kvtiers.ledger.tiers import Tier, Traffic, judge
    from kvtiers.model import kv_spec
    from kvtiers.model.public import public_models
    from kvtiers.notebook import figures, speaker
    from kvtiers.units import KIB, format_bytes, format_count, format_seconds
    from kvtiers.words import text as words


@app.cell(hide_code=True)
def _():
    LANGUAGE = mo.cli_args().get("language", "en")  # the site's pages and downloads set theirs here
    say = speaker(LANGUAGE)
    return LANGUAGE, say


@app.cell(hide_code=True)
def _(say):
    say.md(
        """
        # Operate it

        A small simulator of a tier stack: 600 requests over documents of unequal popularity (Zipf) run through tiers that
        each evict the least recently used. Sizes of KV: 128 KiB per token.
        """,
        """
        # 維運

        一個小型的分層模擬器：對熱門程度不一的文件（Zipf 分布）送出 600 個請求，由上到下一層一層找；哪一層滿了，就逐出那一層最久沒用的。KV 大小以每個 token 128 KiB 計。
        """,
    )
    return


@app.cell
def _(say):
    documents = say.slider("Documents", "文件數", 10, 300, 10, value=100)
    prefix_tokens = say.slider("Prefix of each (tokens)", "每份文件的前綴（token）", 1000, 32000, 1000, value=8000)
    vram_gib = say.slider("KV pool in GPU memory (GiB)", "GPU 記憶體裡的 KV 池（GiB）", 0, 40, value=6)
    cpu_gib = say.slider("CPU RAM (GiB)", "CPU 記憶體（GiB）", 0, 128, 2, value=20)
    disk_gib = say.slider(
        "Local SSD (GiB; 0: no SSD tier)",
        "本機 SSD（GiB；0 是沒有 SSD 層）",
        0,
        200,
        5,
        value=60,
    )
    remote = mo.ui.switch(label=say("Remote tier (200 GiB)", "遠端層（200 GiB）"))
    in_process = mo.ui.switch(label=say("The legacy: LMCache inside vLLM", "舊做法：LMCache 放在 vLLM 裡面"))
    stable_hash = mo.ui.switch(
        value=True,
        label=say(
            "Legacy only: stable hash (sha256, PYTHONHASHSEED fixed)",
            "只影響舊做法：穩定的雜湊（sha256，固定 PYTHONHASHSEED）",
        ),
    )
    restart = mo.ui.switch(value=True, label=say("Restart everything halfway", "中途全部重新啟動"))
    crash = mo.ui.switch(
        label=say(
            "Legacy only: an abort crashes the engine (LMCache up to 0.4.6), every 150 requests",
            "只影響舊做法：中止請求使引擎當掉（LMCache 0.4.6 以前），每 150 個請求一次",
        )
    )
    seed = say.slider("Seed of the request stream", "請求序列的亂數種子", 0, 20, value=0)
    _sizes = [documents, prefix_tokens, vram_gib, cpu_gib, disk_gib, remote]
    mo.vstack([*_sizes, restart, in_process, stable_hash, crash, seed])
    return cpu_gib, crash, disk_gib, documents, in_process, prefix_tokens, remote, restart, seed, stable_hash, vram_gib


@app.cell
def _(cpu_gib, crash, disk_gib, documents, in_process, prefix_tokens, remote, restart, seed, stable_hash, vram_gib):
    # LMCache's server finds its directory again and needs no seed; local_disk inside vLLM keeps its index in memory.
    stack = [
        StackTier(Tier.VRAM, vram_gib.value),
        StackTier(Tier.CPU, cpu_gib.value),
        StackTier(Tier.SSD, disk_gib.value, survives_restart=not in_process.value),
        StackTier(Tier.REMOTE, 200 if remote.value else 0, survives_restart=not in_process.value or stable_hash.value),
    ]
    workload = Workload(600, documents.value, prefix_tokens.value, seed.value)
    speeds = Speeds(kv_bytes_per_token=128 * KIB, prefill_tokens_per_s=4000)
    crashes = range(150, 600, 150) if crash.value and in_process.value else ()
    restarts = sorted({*([300] if restart.value else []), *crashes})
    with_stack = replay(workload, stack, speeds, restarts)
    pool_only = replay(workload, stack[:1], speeds, restarts)
    return pool_only, restarts, with_stack


@app.cell
def _(pool_only, say, with_stack):
    answered_by = {
        Tier.VRAM: say("GPU memory", "GPU 記憶體"),
        Tier.CPU: say("CPU RAM", "CPU 記憶體"),
        Tier.SSD: say("local SSD", "本機 SSD"),
        Tier.REMOTE: say("remote", "遠端"),
        Tier.NONE: say("recomputed", "重算"),
    }
    charts.stacked_bars(
        {
            say("this stack", "目前的分層"): [with_stack.share(tier) for tier in answered_by],
            say("GPU pool only", "只有 GPU 的 KV 池"): [pool_only.share(tier) for tier in answered_by],
        },
        list(answered_by.values()),
        charts.Axis(say("share of requests", "占請求的比例"), lambda share: f"{share:.0%}"),
        say(
            f"Tiers answer {with_stack.hit_rate:.0%} of the requests; the GPU pool alone {pool_only.hit_rate:.0%}.",
            f"各層回應了 {with_stack.hit_rate:.0%} 的請求；只有 GPU 的 KV 池時為 {pool_only.hit_rate:.0%}。",
        ),
        says=[say(f"{run.hit_rate:.0%} hit", f"命中 {run.hit_rate:.0%}") for run in (with_stack, pool_only)],
    )
    return (answered_by,)


@app.cell
def _(pool_only, say, with_stack):
    recomputed, requests = with_stack.answered_by.count(Tier.NONE), len(with_stack.answered_by)
    _rate, _saved = f"{pool_only.hit_rate:.0%}", format_seconds(pool_only.saved_s)
    figures(
        (
            f"{with_stack.hit_rate:.0%}",
            say("Hit rate", "命中率"),
            say(f"GPU pool only: {_rate}", f"只有 GPU 的 KV 池：{_rate}"),
        ),
        (
            format_seconds(with_stack.saved_s),
            say("TTFT saved in all", "一共省下的 TTFT"),
            say(f"GPU pool only: {_saved}", f"只有 GPU 的 KV 池：{_saved}"),
        ),
        (
            str(recomputed),
            say("Prefixes recomputed", "重算的前綴"),
            say(f"of {requests} requests", f"共 {requests} 個請求"),
        ),
    )
    return


@app.cell
def _(pool_only, restarts, say, with_stack):
    _restarts = ", ".join(map(str, restarts)) or say("none", "無")
    charts.lines(
        range(50, 601, 50),
        {
            say("this stack", "目前的分層"): with_stack.hit_rate_over_time(50),
            say("GPU pool only", "只有 GPU 的 KV 池"): pool_only.hit_rate_over_time(50),
        },
        charts.Axis(say("request", "請求"), format_count),
        charts.Axis(say("hit rate over 50 requests", "每 50 個請求的命中率"), lambda share: f"{share:.0%}"),
        say(
            f"Hit rate over time for this stack and for the GPU pool alone; restarts at {_restarts}.",
            f"目前的分層與只有 GPU 的 KV 池的命中率變化；重新啟動於第 {_restarts} 個請求。",
        ),
        marks={say("engine restarts", "引擎重新啟動"): restarts} if restarts else None,
    )
    return


@app.cell(hide_code=True)
def _(say):
    say.md(
        """
        Try: restart halfway with LMCache's server, then with LMCache inside vLLM, and look at the first 50 requests after
        it. Set the disk to 0. Add the remote tier, and unpin the hash.
        """,
        """
        試試看：先用 LMCache 的伺服器中途重新啟動，再換成放在 vLLM 裡面的 LMCache，觀察之後的 50 個請求。把硬碟調成 0。再加上遠端層，然後取消穩定的雜湊。
        """,
    )
    return


@app.cell(hide_code=True)
def _(say):
    say.md(
        """
        ## Playground: your own case

        The whole course in four figures: bytes per token, what must be kept, the nearest tier that holds it, and the
        prefill rate from which loading no longer pays.
        """,
        """
        ## 實驗場：換成你的情況

        整門課濃縮成四個數字：每個 token 多大、一共要保留多少、放得下的最近一層，以及 prefill 快到多少時，載回就不划算。
        """,
    )
    return


@app.cell
def _(say):
    my_model = say.dropdown("Model", "模型", list(public_models()), value="Qwen3-8B")
    my_kv_type = say.dropdown("KV type", "KV 型別", ["bf16", "fp8"])
    my_prefixes = say.slider("Distinct prefixes that come back", "會再回來的不同前綴", 1, 500, value=20)
    my_tokens = say.slider(
        "Length of each (tokens)", "每份的長度（token）", steps=[1024 << power for power in range(8)], value=32768
    )
    my_vram_gib = say.slider("Free VRAM (GiB)", "可用 VRAM（GiB）", 0, 80, value=10)
    my_ram_gib = say.slider("CPU RAM to spare (GiB)", "可挪用的 CPU 記憶體（GiB）", 0, 512, value=64)
    my_gb_per_s = say.slider("The drive, measured (GB/s)", "硬碟，實測（GB/s）", 0.5, 14, 0.5, value=6)
    mo.vstack([my_model, my_kv_type, my_prefixes, my_tokens, my_vram_gib, my_ram_gib, my_gb_per_s])
    return my_gb_per_s, my_kv_type, my_model, my_prefixes, my_ram_gib, my_tokens, my_vram_gib


@app.cell
def _(LANGUAGE, answered_by, my_gb_per_s, my_kv_type, my_model, my_prefixes, my_ram_gib, my_tokens, my_vram_gib, say):
    my_spec = kv_spec(public_models()[my_model.value], my_kv_type.value)
    my_kv_bytes = my_spec.kept_bytes(my_tokens.value) / my_tokens.value
    my_verdict = judge(
        Traffic(my_tokens.value, my_prefixes.value, reused=True), my_kv_bytes, my_vram_gib.value, my_ram_gib.value
    )
    my_break_even = break_even_tokens_per_s(my_kv_bytes, my_gb_per_s.value)
    figures(
        (format_bytes(my_kv_bytes), say("KV per token", "每個 token 的 KV"), say("at this length", "以這個長度平均")),
        (format_bytes(my_verdict.needed_bytes), say("Must be kept", "要保留")),
        (answered_by[my_verdict.tier], say("Tier", "層"), words(f"plan.reason.{my_verdict.reason}", LANGUAGE, {})),
        (
            say(f"{format_count(my_break_even)} tokens/s", f"{format_count(my_break_even)} token/s"),
            say("Break-even with the drive", "用這顆硬碟的損益平衡點"),
            say("faster prefill than this beats it", "prefill 比這更快，就不必載回"),
        ),
    )
    return my_break_even, my_verdict


@app.cell(hide_code=True)
def _(say):
    say.from_clone("07_operate_it")
    return


if __name__ == "__main__":
    app.run()
