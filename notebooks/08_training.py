# /// script
# requires-python = ">=3.11"
# dependencies = [
#     "kvtiers",
#     "marimo==0.25.2",
#     "matplotlib",
# ]
# tool.course.pairs = [["parameters_b", "gpus"], ["parameters_b", "optimizer"], ["optimizer_place", "weights_place"]]
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
    from kvtiers.ledger import training as ledger
    from kvtiers.ledger.tiers import Tier
    from kvtiers.notebook import figures, speaker
    from kvtiers.units import GIB, format_bytes, format_seconds


@app.cell(hide_code=True)
def _():
    LANGUAGE = mo.cli_args().get("language", "en")  # the site's pages and downloads set theirs here
    say = speaker(LANGUAGE)
    return LANGUAGE, say


@app.cell(hide_code=True)
def _(say):
    say.md(
        """
        # Training has the same idea

        Weights, gradients and optimizer states go into tiers too. It is "runs or does not run", not a speedup. Nothing on
        this page is measured in this project; activations are not counted.
        """,
        """
        # 同一招，用在訓練

        權重、梯度與最佳化器狀態也可以分層存放。差別在於「跑得動或跑不動」，不是加速。本頁沒有任何數字是本專案實測的；活化值沒有計入。
        """,
    )
    return


@app.cell
def _(say):
    _optimizers = {
        "Adam": "adam",
        say("Adam, 8-bit states", "Adam，8 位元狀態"): "adam8bit",
        say("SGD with momentum", "帶動量的 SGD"): "sgd",
    }
    parameters_b = say.slider(
        "Parameters (billions)", "參數量（十億）", steps=[0.5, 1, 3, 7, 8, 13, 32, 70, 180], value=7
    )
    precision = say.dropdown("Precision", "精度", list(ledger.PRECISION_BYTES), value="bf16")
    optimizer = say.dropdown("Optimizer", "最佳化器", _optimizers)
    _counts = [1, 2, 4, 8, 16, 32, 64]
    gpus = say.slider(
        "GPUs (ZeRO stage 3 shares everything)", "GPU 數（ZeRO stage 3 均分一切）", steps=_counts, value=1
    )
    vram_gib = say.slider("GPU memory, each (GiB)", "每張 GPU 的記憶體（GiB）", 8, 192, 8, value=24)
    ram_gib = say.slider("CPU RAM for each GPU (GiB)", "每張 GPU 分到的 CPU 記憶體（GiB）", 16, 1024, 16, value=128)
    lora = mo.ui.switch(label=say("LoRA: train 0.5% of the parameters", "LoRA：只訓練 0.5% 的參數"))
    mo.vstack([parameters_b, precision, optimizer, gpus, vram_gib, ram_gib, lora])
    return gpus, lora, optimizer, parameters_b, precision, ram_gib, vram_gib


@app.cell
def _(say):
    tier_names = {Tier.VRAM: say("GPU memory", "GPU 記憶體"), Tier.CPU: say("CPU RAM", "CPU 記憶體"), Tier.SSD: "NVMe"}
    _places = {name: tier for tier, name in tier_names.items()}
    optimizer_place = say.dropdown(
        "Optimizer states and gradients live in", "最佳化器狀態與梯度放在", _places, value=tier_names[Tier.CPU]
    )
    weights_place = say.dropdown("Weights live in", "權重放在", _places)
    cpu_gb_per_s = say.slider("CPU RAM bandwidth (GB/s)", "CPU 記憶體頻寬（GB/s）", 10, 200, 10, value=50)
    ssd_gb_per_s = say.slider("NVMe bandwidth (GB/s)", "NVMe 頻寬（GB/s）", 0.5, 14, 0.5, value=6)
    mo.vstack([optimizer_place, weights_place, cpu_gb_per_s, ssd_gb_per_s])
    return cpu_gb_per_s, optimizer_place, ssd_gb_per_s, tier_names, weights_place


@app.cell
def _(gpus, lora, optimizer, parameters_b, precision):
    _trained = 0.005 if lora.value else 1.0
    training = ledger.Training(parameters_b.value * 1e9, precision.value, optimizer.value, gpus.value, _trained)
    return (training,)


@app.cell
def _(cpu_gb_per_s, optimizer_place, ram_gib, ssd_gb_per_s, training, vram_gib, weights_place):
    placement = ledger.Placement(optimizer_place.value, weights_place.value)
    by_tier = ledger.held_by_tier(training, placement)
    transfer_s = ledger.transfer_s_per_step(
        training, placement, {Tier.CPU: cpu_gb_per_s.value, Tier.SSD: ssd_gb_per_s.value}
    )
    room_bytes = {Tier.VRAM: vram_gib.value * GIB, Tier.CPU: ram_gib.value * GIB}
    overfull = ledger.overfull(training, placement, room_bytes)
    first = ledger.first_that_fits(training, room_bytes)
    return by_tier, first, overfull, room_bytes, transfer_s


@app.cell
def _(by_tier, overfull, room_bytes, say, tier_names):
    fits, too_large = say(": fits", "：放得下"), say(": too large", "：放不下")
    _says = [
        f"{format_bytes(kept.total_bytes)} / {format_bytes(room_bytes[tier])}{too_large if tier in overfull else fits}"
        if tier in room_bytes
        else format_bytes(kept.total_bytes)
        for tier, kept in by_tier.items()
    ]
    _in_words = " · ".join(f"{tier_names[tier]} {said}" for tier, said in zip(by_tier, _says, strict=True))
    charts.stacked_bars(
        {
            tier_names[tier]: (kept.weights_bytes, kept.gradients_bytes, kept.optimizer_bytes)
            for tier, kept in by_tier.items()
        },
        (say("weights", "權重"), say("gradients", "梯度"), say("optimizer states", "最佳化器狀態")),
        charts.Axis(say("per GPU", "每張 GPU"), format_bytes, step_base=1024),
        say(f"Kept per GPU: {_in_words}.", f"每張 GPU 要保留：{_in_words}。"),
        says=_says,
    )
    return


@app.cell
def _(first, overfull, say, tier_names):
    _where = say(
        "nothing fits: shard over more GPUs, or train less of it (LoRA)",
        "哪裡都放不下：分散到更多 GPU，或少訓練一些（LoRA）",
    )
    if first:
        _states, _weights = tier_names[first.optimizer], tier_names[first.weights]
        _where = say(
            f"weights in {_weights}, optimizer states and gradients in {_states}",
            f"權重放 {_weights}，最佳化器狀態與梯度放 {_states}",
        )
    _yours = say("Your placement fits.", "你的擺法放得下。")
    if overfull:
        _full = say(", ", "、").join(tier_names[tier] for tier in overfull)
        _yours = say(f"Your placement does not fit: {_full} is too small.", f"你的擺法放不下：{_full} 太小。")
    _text = say.md(
        f"**{_yours}** The nearest that does: {_where}. Activations come on top.",
        f"**{_yours}** 最近的可行擺法：{_where}。活化值另計。",
    )
    mo.callout(_text, kind="warn" if overfull else "success")
    return


@app.cell
def _(by_tier, say, training, transfer_s):
    total_bytes = ledger.held(training).total_bytes * training.gpus
    per_parameter = 2 * ledger.PRECISION_BYTES[training.precision] + ledger.optimizer_bytes_per_parameter(
        training.precision, training.optimizer
    )
    _cpu, _ssd = format_seconds(transfer_s[Tier.CPU]), format_seconds(transfer_s[Tier.SSD])
    figures(
        (
            format_bytes(total_bytes),
            say("All parts, all GPUs", "所有部分、所有 GPU"),
            say(f"{per_parameter:g} bytes per trained parameter", f"每個受訓參數 {per_parameter:g} 位元組"),
        ),
        (format_bytes(by_tier[Tier.VRAM].total_bytes), say("GPU memory, per GPU", "GPU 記憶體，每張 GPU")),
        (
            format_seconds(sum(transfer_s.values())),
            say("Transfer per step", "每一步的傳輸"),
            say(
                f"CPU RAM {_cpu}, NVMe {_ssd}; prefetching hides what it can",
                f"CPU 記憶體 {_cpu}，NVMe {_ssd}；能藏多少由預取決定",
            ),
        ),
    )
    return per_parameter, total_bytes


@app.cell(hide_code=True)
def _(say):
    say.md(
        "Mixed-precision Adam, in bytes per trained parameter: weights, gradients, and three fp32 values:",
        "混合精度 Adam，每個受訓參數的位元組數：權重、梯度，以及三個 fp32 值：",
    )
    return


@app.cell
def _():
    def adam_bytes(weights=2, gradients=2):
        fp32_copy = momentum = variance = 4
        states = fp32_copy + momentum + variance
        return weights + gradients + states

    mo.show_code(adam_bytes(), position="above")
    return (adam_bytes,)


@app.cell(hide_code=True)
def _(say):
    say.md(
        """
        Order: GPU only, then CPU offload, then NVMe offload. Before any of them, try LoRA. Writing states to NVMe every step
        wears the drive.
        """,
        """
        順序：先只用 GPU，再卸載到 CPU，最後才卸載到 NVMe。在這之前，先試 LoRA。每一步都把狀態寫進 NVMe，會消耗硬碟的耐寫度。
        """,
    )
    return


@app.cell(hide_code=True)
def _(say):
    say.from_clone("08_training")
    return


if __name__ == "__main__":
    app.run()
