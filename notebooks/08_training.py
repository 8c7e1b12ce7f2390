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
    from kvtiers.ledger.tiers import Tier
    from kvtiers.ledger.training import (
        PRECISION_BYTES,
        STATE_BYTES,
        Placement,
        Training,
        held,
        held_by_tier,
        optimizer_bytes_per_parameter,
        transfer_s_per_step,
    )
    from kvtiers.units import GIB, format_bytes, format_seconds


@app.cell(hide_code=True)
def _():
    t = {
        "intro": """
            # Training has the same idea

            Weights, gradients and optimizer states go into tiers too. It is "runs or does not run", not a speedup. Nothing on
            this page is measured in this project; activations are not counted.
        """,
        "parameters": "Parameters (billions)",
        "precision": "Precision",
        "optimizer": "Optimizer",
        "adam": "Adam",
        "adam8bit": "Adam, 8-bit states",
        "sgd": "SGD with momentum",
        "gpus": "GPUs (ZeRO stage 3 shares everything)",
        "lora": "LoRA: train 0.5% of the parameters",
        "place_optimizer": "Optimizer states and gradients live in",
        "place_weights": "Weights live in",
        "vram": "GPU memory",
        "cpu": "CPU RAM",
        "ssd": "NVMe",
        "cpu_gb_per_s": "CPU RAM bandwidth (GB/s)",
        "ssd_gb_per_s": "NVMe bandwidth (GB/s)",
        "weights": "weights",
        "gradients": "gradients",
        "states": "optimizer states",
        "size": "per GPU",
        "alt": "Kept per GPU: {vram} in GPU memory, {cpu} in CPU RAM, {ssd} on NVMe.",
        "total": "All parts, all GPUs",
        "per_parameter": "{bytes:g} bytes per trained parameter",
        "in_vram": "GPU memory, per GPU",
        "transfer": "Transfer per step",
        "transfer_detail": "CPU RAM {cpu}, NVMe {ssd}; prefetching hides what it can",
        "formula": "Mixed-precision Adam, in bytes per trained parameter: weights, gradients, and three fp32 values:",
        "order": """
            Order: GPU only, then CPU offload, then NVMe offload. Before any of them, try LoRA. Writing states to NVMe every step
            wears the drive.
        """,
        "run": "Run it from a clone: `uvx marimo edit --sandbox notebooks/en/08_training.py`",
    }
    return (t,)


@app.cell(hide_code=True)
def _(t):
    mo.md(t["intro"])
    return


@app.cell
def _(t):
    _places = {t[tier]: tier for tier in (Tier.VRAM, Tier.CPU, Tier.SSD)}
    parameters_b = mo.ui.slider(
        steps=[0.5, 1, 3, 7, 8, 13, 32, 70, 180], value=7, label=t["parameters"], show_value=True
    )
    precision = mo.ui.dropdown(list(PRECISION_BYTES), value="bf16", label=t["precision"])
    optimizer = mo.ui.dropdown({t[name]: name for name in STATE_BYTES}, value=t["adam"], label=t["optimizer"])
    gpus = mo.ui.slider(steps=[1, 2, 4, 8, 16, 32, 64], value=1, label=t["gpus"], show_value=True)
    lora = mo.ui.switch(label=t["lora"])
    optimizer_place = mo.ui.dropdown(_places, value=t["cpu"], label=t["place_optimizer"])
    weights_place = mo.ui.dropdown(_places, value=t["vram"], label=t["place_weights"])
    cpu_gb_per_s = mo.ui.slider(10, 200, 10, value=50, label=t["cpu_gb_per_s"], show_value=True)
    ssd_gb_per_s = mo.ui.slider(0.5, 14, 0.5, value=6, label=t["ssd_gb_per_s"], show_value=True)
    mo.vstack(
        [
            parameters_b,
            precision,
            optimizer,
            gpus,
            lora,
            optimizer_place,
            weights_place,
            cpu_gb_per_s,
            ssd_gb_per_s,
        ]
    )
    return (
        cpu_gb_per_s,
        gpus,
        lora,
        optimizer,
        optimizer_place,
        parameters_b,
        precision,
        ssd_gb_per_s,
        weights_place,
    )


@app.cell
def _(
    cpu_gb_per_s,
    gpus,
    lora,
    optimizer,
    optimizer_place,
    parameters_b,
    precision,
    ssd_gb_per_s,
    weights_place,
):
    training = Training(
        parameters_b.value * 1e9, precision.value, optimizer.value, gpus.value, 0.005 if lora.value else 1.0
    )
    placement = Placement(optimizer_place.value, weights_place.value)
    by_tier = held_by_tier(training, placement)
    transfer_s = transfer_s_per_step(training, placement, {Tier.CPU: cpu_gb_per_s.value, Tier.SSD: ssd_gb_per_s.value})
    return by_tier, training, transfer_s


@app.cell
def _(by_tier, t):
    mo.Html(
        charts.stacked_bars(
            {
                t[tier]: [part / GIB for part in (kept.weights_bytes, kept.gradients_bytes, kept.optimizer_bytes)]
                for tier, kept in by_tier.items()
            },
            (t["weights"], t["gradients"], t["states"]),
            charts.Axis(t["size"], lambda size_gib: f"{size_gib:.3g} GiB"),
            t["alt"].format(**{str(tier): format_bytes(kept.total_bytes) for tier, kept in by_tier.items()}),
        )
    )
    return


@app.cell
def _(by_tier, t, training, transfer_s):
    total_bytes = held(training).total_bytes * training.gpus
    per_parameter = 2 * PRECISION_BYTES[training.precision] + optimizer_bytes_per_parameter(
        training.precision, training.optimizer
    )
    mo.hstack(
        [
            mo.stat(format_bytes(total_bytes), t["total"], t["per_parameter"].format(bytes=per_parameter)),
            mo.stat(format_bytes(by_tier[Tier.VRAM].total_bytes), t["in_vram"]),
            mo.stat(
                format_seconds(sum(transfer_s.values())),
                t["transfer"],
                t["transfer_detail"].format(
                    cpu=format_seconds(transfer_s[Tier.CPU]), ssd=format_seconds(transfer_s[Tier.SSD])
                ),
            ),
        ],
        justify="start",
        wrap=True,
    )
    return per_parameter, total_bytes


@app.cell(hide_code=True)
def _(t):
    mo.md(t["formula"])
    return


@app.cell
def _():
    def adam_bytes(weights=2, gradients=2):
        fp32_copy = momentum = variance = 4
        states = fp32_copy + momentum + variance
        return weights + gradients + states

    mo.show_code(adam_bytes())
    return (adam_bytes,)


@app.cell(hide_code=True)
def _(t):
    mo.md(t["order"])
    return


@app.cell(hide_code=True)
def _(t):
    mo.md(t["run"])
    return


if __name__ == "__main__":
    app.run()
