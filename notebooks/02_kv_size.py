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
    from kvtiers.errors import KvtiersError
    from kvtiers.model import LayerKind, VllmOptions, kv_spec, parse_config, reserve
    from kvtiers.model.public import public_models
    from kvtiers.units import GIB, format_bytes


@app.cell(hide_code=True)
def _():
    t = {
        "intro": """
            # How big KV is

            The model decides how many bytes each token keeps; the question never does.
        """,
        "source": "Where the model's shape comes from",
        "by_hand": "Sliders",
        "by_file": "config.json",
        "by_name": "Public models",
        "public": "Model",
        "layers": "Layers",
        "kv_heads": "KV heads",
        "head_dim": "head_dim",
        "paste": "Paste a config.json",
        "drop": "or drop the file here; a file wins over pasted text",
        "kv_type": "KV type",
        "free_vram": "Free VRAM (GiB)",
        "cpu_ram": "CPU RAM for KV (GiB)",
        "bad_config": "This config.json can't be used. What is wrong:",
        "per_token": "KV per token",
        "per_token_detail": "over {growing} of {layers} layers",
        "at_128k": "One request of 128k tokens",
        "at_1m": "1,000,000 tokens",
        "formula": "One K and one V for each layer and KV head:",
        "loads": ("2k tokens", "8k", "32k", "10 x 8k", "128k", "1M"),
        "vram_line": "free VRAM, {size}",
        "ram_line": "CPU RAM, {size}",
        "size": "KV cache (logarithmic)",
        "alt": "KV size of six loads, from {smallest} for 2k tokens to {largest} for one million.",
        "warnings": "What had to be assumed, or is left out:",
        "strip": """
            ## Which layer keeps what
        """,
        "full": "every token",
        "sliding": "sliding window",
        "chunked": "current chunk",
        "mla": "one latent a token",
        "indexer": "indexer keys",
        "state": "fixed state",
        "cross": "encoder's tokens",
        "shared": "another layer's KV",
        "none": "nothing",
        "layer": "layer",
        "strip_alt": "Layers by what they keep: {kinds}.",
        "kept_title": """
            ## Kept and reserved

            What one request of this length must keep, and what vLLM 0.32.0 sets aside for it. LMCache's in-process connector
            turns vLLM's hybrid manager off: then windowed layers reserve every token.
        """,
        "context": "Length of one request (tokens)",
        "kept": "must be kept",
        "reserved": "reserved",
        "reserved_lmcache": "reserved, hybrid manager off",
        "needs_manager": "vLLM 0.32.0 can't serve this model without its hybrid manager, so not behind that connector.",
        "run": "Run it from a clone: `uvx marimo edit --sandbox notebooks/en/02_kv_size.py`",
    }
    return (t,)


@app.cell(hide_code=True)
def _(t):
    mo.md(t["intro"])
    return


@app.cell
def _(t):
    layers = mo.ui.slider(1, 128, value=32, label=t["layers"], show_value=True)
    kv_heads = mo.ui.slider(1, 64, value=8, label=t["kv_heads"], show_value=True)
    head_dim = mo.ui.dropdown([64, 80, 96, 128, 192, 256], value=128, label=t["head_dim"])
    pasted = mo.ui.text_area(
        value='{"num_hidden_layers": 36, "num_attention_heads": 32,\n "num_key_value_heads": 8, "head_dim": 128,\n'
        ' "hidden_size": 2560}',
        label=t["paste"],
        rows=5,
        full_width=True,
    )
    dropped = mo.ui.file(filetypes=[".json"], kind="area", label=t["drop"])
    public = mo.ui.dropdown(list(public_models()), value="gpt-oss-120b", label=t["public"])
    source = mo.ui.dropdown([t["by_hand"], t["by_file"], t["by_name"]], value=t["by_hand"], label=t["source"])
    kv_type = mo.ui.dropdown(
        ["fp32", "fp16", "bf16", "fp8", "int8_per_token_head", "int4_per_token_head", "q8_0", "q4_0"],
        value="fp16",
        label=t["kv_type"],
    )
    free_vram_gib = mo.ui.slider(1, 80, value=10, label=t["free_vram"], show_value=True)
    cpu_ram_gib = mo.ui.slider(1, 512, value=64, label=t["cpu_ram"], show_value=True)
    return cpu_ram_gib, dropped, free_vram_gib, head_dim, kv_heads, kv_type, layers, pasted, public, source


@app.cell
def _(cpu_ram_gib, dropped, free_vram_gib, head_dim, kv_heads, kv_type, layers, pasted, public, source, t):
    shape = {t["by_hand"]: [layers, kv_heads, head_dim], t["by_file"]: [pasted, dropped], t["by_name"]: [public]}
    mo.vstack([source, *shape[source.value], kv_type, free_vram_gib, cpu_ram_gib])
    return


@app.cell
def _(dropped, head_dim, kv_heads, kv_type, layers, pasted, public, source, t):
    try:
        if source.value == t["by_file"]:
            config = parse_config(dropped.contents().decode(errors="replace") if dropped.value else pasted.value)
        elif source.value == t["by_name"]:
            config = public_models()[public.value]
        else:
            config = {
                "model_type": "llama",
                "num_hidden_layers": layers.value,
                "num_attention_heads": kv_heads.value,
                "num_key_value_heads": kv_heads.value,
                "head_dim": head_dim.value,
                "hidden_size": kv_heads.value * head_dim.value,
            }
        spec = kv_spec(config, kv_type.value)
        reserved = reserve(spec)
    except KvtiersError as error:
        mo.stop(True, mo.callout(mo.vstack([t["bad_config"], mo.plain_text(str(error))]), kind="danger"))
    return reserved, spec


@app.cell
def _(cpu_ram_gib, free_vram_gib, spec, t):
    loads = ((2048, 1), (8192, 1), (32768, 1), (8192, 10), (131072, 1), (1_000_000, 1))
    load_bytes = {label: spec.kept_bytes(*load) for label, load in zip(t["loads"], loads, strict=True)}
    vram_bytes, ram_bytes = free_vram_gib.value * GIB, cpu_ram_gib.value * GIB
    mo.Html(
        charts.log_bars(
            load_bytes,
            charts.Axis(t["size"], format_bytes, log=True, log_base=4),
            (GIB / 64, 4096 * GIB),
            t["alt"].format(
                smallest=format_bytes(load_bytes[t["loads"][0]]), largest=format_bytes(load_bytes[t["loads"][-1]])
            ),
            {
                t["vram_line"].format(size=format_bytes(vram_bytes)): vram_bytes,
                t["ram_line"].format(size=format_bytes(ram_bytes)): ram_bytes,
            },
        )
    )
    return (load_bytes,)


@app.cell
def _(load_bytes, spec, t):
    growing = {layer.index for layer in spec.layers if layer.kind in (LayerKind.FULL, LayerKind.MLA)}
    layer_count = 1 + max(layer.index for layer in spec.layers)
    mo.vstack(
        [
            mo.hstack(
                [
                    mo.stat(
                        format_bytes(spec.bytes_per_token),
                        t["per_token"],
                        t["per_token_detail"].format(growing=len(growing), layers=layer_count),
                    ),
                    mo.stat(format_bytes(load_bytes[t["loads"][4]]), t["at_128k"]),
                    mo.stat(format_bytes(load_bytes[t["loads"][5]]), t["at_1m"]),
                ],
                justify="start",
                wrap=True,
            ),
            *(
                [mo.callout(mo.vstack([t["warnings"], *map(mo.plain_text, spec.warnings)]), kind="warn")]
                if spec.warnings
                else []
            ),
        ]
    )
    return (layer_count,)


@app.cell(hide_code=True)
def _(t):
    mo.md(t["formula"])
    return


@app.cell
def _():
    def bytes_per_token(layers, heads, dim, element):
        return 2 * layers * heads * dim * element

    mo.show_code()
    return (bytes_per_token,)


@app.cell(hide_code=True)
def _(t):
    mo.md(t["strip"])
    return


@app.cell
def _(layer_count, spec, t):
    by_kind = {
        t[kind]: sorted({layer.index for layer in spec.layers if layer.kind is kind})
        for kind in LayerKind
        if any(layer.kind is kind for layer in spec.layers)
    }
    mo.Html(
        charts.layer_rows(
            by_kind,
            layer_count,
            charts.Axis(t["layer"]),
            t["strip_alt"].format(kinds="; ".join(f"{kind} {len(marks)}" for kind, marks in by_kind.items())),
        )
    )
    return (by_kind,)


@app.cell
def _(t):
    context_tokens = mo.ui.slider(
        steps=[2048, 8192, 32768, 131072, 262144, 1_000_000], value=131072, label=t["context"], show_value=True
    )
    mo.vstack([mo.md(t["kept_title"]), context_tokens])
    return (context_tokens,)


@app.cell
def _(context_tokens, reserved, spec, t):
    kept_and_reserved = {
        t["kept"]: spec.kept_bytes(context_tokens.value),
        t["reserved"]: reserved.reserved_bytes(context_tokens.value),
    }
    try:
        without_manager = reserve(spec, VllmOptions(hybrid_manager=False))
        kept_and_reserved[t["reserved_lmcache"]] = without_manager.reserved_bytes(context_tokens.value)
        note = []
    except KvtiersError:
        note = [mo.callout(t["needs_manager"], kind="warn")]
    mo.vstack(
        [
            mo.Html(
                charts.log_bars(
                    kept_and_reserved,
                    charts.Axis(t["size"], format_bytes, log=True, log_base=4),
                    (GIB / 64, 4096 * GIB),
                    "; ".join(f"{label}: {format_bytes(size)}" for label, size in kept_and_reserved.items()),
                )
            ),
            *note,
        ]
    )
    return (kept_and_reserved,)


@app.cell(hide_code=True)
def _(t):
    mo.md(t["run"])
    return


if __name__ == "__main__":
    app.run()
