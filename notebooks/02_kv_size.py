# /// script
# requires-python = ">=3.11"
# dependencies = [
#     "kvtiers",
#     "marimo==0.25.2",
#     "matplotlib",
# ]
# tool.course.pairs = [["source", "public"], ["source", "kv_type"], ["layers", "kv_heads"]]
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
    from kvtiers.errors import KvtiersError
    from kvtiers.model import LayerKind, VllmOptions, kv_spec, parse_config, reserve
    from kvtiers.model.public import public_models
    from kvtiers.notebook import figures, refuse, speaker
    from kvtiers.units import GIB, format_bytes


@app.cell(hide_code=True)
def _():
    LANGUAGE = mo.cli_args().get("language", "en")  # the site's pages and downloads set theirs here
    say = speaker(LANGUAGE)
    return LANGUAGE, say


@app.cell(hide_code=True)
def _(say):
    say.md(
        """
        # How big KV is

        The model decides how many bytes each token keeps; the question never does.
        """,
        """
        # KV 有多大

        每個 token 要留下多少位元組，由模型決定，與問題無關。
        """,
    )
    return


@app.cell
def _(say):
    layers = say.slider("Layers", "層數", 1, 128, value=32)
    kv_heads = say.slider("KV heads", "KV 頭數", 1, 64, value=8)
    head_dim = mo.ui.dropdown([64, 80, 96, 128, 192, 256], value=128, label="head_dim")
    pasted = mo.ui.text_area(
        value='{"num_hidden_layers": 36, "num_attention_heads": 32,\n "num_key_value_heads": 8, "head_dim": 128,\n'
        ' "hidden_size": 2560}',
        label=say("Paste a config.json", "貼上 config.json"),
        rows=5,
        full_width=True,
    )
    dropped = mo.ui.file(
        filetypes=[".json"],
        kind="area",
        label=say("or drop the file here; a file wins over pasted text", "或把檔案拖到這裡；檔案優先於貼上的文字"),
    )
    public = say.dropdown("Model", "模型", list(public_models()), value="gpt-oss-120b")
    _sources = {say("Sliders", "滑桿"): "sliders", "config.json": "file", say("Public models", "公開模型"): "public"}
    source = say.dropdown("Where the model's shape comes from", "模型的形狀從哪裡來", _sources)
    kv_type = say.dropdown(
        "KV type",
        "KV 型別",
        ["fp32", "fp16", "bf16", "fp8", "int8_per_token_head", "int4_per_token_head", "q8_0", "q4_0"],
        value="fp16",
    )
    free_vram_gib = say.slider("Free VRAM (GiB)", "可用 VRAM（GiB）", 1, 80, value=10)
    cpu_ram_gib = say.slider("CPU RAM for KV (GiB)", "可給 KV 的 CPU 記憶體（GiB）", 1, 512, value=64)
    return cpu_ram_gib, dropped, free_vram_gib, head_dim, kv_heads, kv_type, layers, pasted, public, source


@app.cell
def _(cpu_ram_gib, dropped, free_vram_gib, head_dim, kv_heads, kv_type, layers, pasted, public, source):
    shape = {"sliders": [layers, kv_heads, head_dim], "file": [pasted, dropped], "public": [public]}
    mo.vstack([source, *shape[source.value], kv_type, free_vram_gib, cpu_ram_gib])
    return


@app.cell
def _(dropped, head_dim, kv_heads, kv_type, layers, pasted, public, source, say):
    try:
        if source.value == "file":
            config = parse_config(dropped.contents().decode(errors="replace") if dropped.value else pasted.value)
        elif source.value == "public":
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
        refuse(say, "This config.json can't be used. What is wrong:", "這份 config.json 無法使用，原因是：", error)
    return reserved, spec


@app.cell
def _(say, spec):
    loads = {
        say("2k tokens", "2k token"): (2048, 1),
        "8k": (8192, 1),
        "32k": (32768, 1),
        "10 x 8k": (8192, 10),
        "128k": (131072, 1),
        "1M": (1_000_000, 1),
    }
    load_bytes = {label: spec.kept_bytes(*load) for label, load in loads.items()}
    return (load_bytes,)


@app.cell
def _(cpu_ram_gib, free_vram_gib, load_bytes, say):
    smallest, *_, largest = map(format_bytes, load_bytes.values())
    vram_bytes, ram_bytes = free_vram_gib.value * GIB, cpu_ram_gib.value * GIB
    charts.log_bars(
        load_bytes,
        charts.Axis(say("KV cache (logarithmic)", "KV 快取（對數刻度）"), format_bytes, log=True, log_base=4),
        (GIB / 64, 4096 * GIB),
        say(
            f"KV size of six loads, from {smallest} for 2k tokens to {largest} for one million.",
            f"六種負載的 KV 大小，從 2k token 的 {smallest} 到一百萬 token 的 {largest}。",
        ),
        {
            say(f"free VRAM, {format_bytes(vram_bytes)}", f"可用 VRAM，{format_bytes(vram_bytes)}"): vram_bytes,
            say(f"CPU RAM, {format_bytes(ram_bytes)}", f"CPU 記憶體，{format_bytes(ram_bytes)}"): ram_bytes,
        },
        beyond=(
            say("fits free VRAM", "放得進 VRAM"),
            say("needs CPU RAM", "需要 CPU 記憶體"),
            say("needs SSD", "需要 SSD"),
        ),
    )
    return


@app.cell
def _(LANGUAGE, load_bytes, say, spec):
    growing = {layer.index for layer in spec.layers if layer.kind in (LayerKind.FULL, LayerKind.MLA)}
    layer_count = 1 + max(layer.index for layer in spec.layers)
    _figures = figures(
        (
            format_bytes(spec.bytes_per_token),
            say("KV per token", "每個 token 的 KV"),
            say(f"over {len(growing)} of {layer_count} layers", f"{layer_count} 層中的 {len(growing)} 層"),
        ),
        (format_bytes(load_bytes["128k"]), say("One request of 128k tokens", "一個 128k token 的請求")),
        (format_bytes(load_bytes["1M"]), say("1,000,000 tokens", "1,000,000 個 token")),
    )
    _assumed = say("What had to be assumed, or is left out:", "必須假設或沒有算進來的部分：")
    _warnings = [mo.plain_text(warning.text(LANGUAGE)) for warning in spec.warnings]
    _note = [mo.callout(mo.vstack([_assumed, *_warnings]), kind="warn")] if _warnings else []
    mo.vstack([_figures, *_note])
    return (layer_count,)


@app.cell(hide_code=True)
def _(say):
    say.md("One K and one V for each layer and KV head:", "每一層、每個 KV 頭各有一份 K 和一份 V：")
    return


@app.cell
def _():
    def bytes_per_token(layers, heads, dim, element):
        return 2 * layers * heads * dim * element

    mo.show_code()
    return (bytes_per_token,)


@app.cell(hide_code=True)
def _(say):
    say.md("## Which layer keeps what", "## 哪一層留下什麼")
    return


@app.cell
def _(layer_count, spec, say):
    kept_by = {
        LayerKind.FULL: say("every token", "每個 token"),
        LayerKind.SLIDING: say("sliding window", "滑動視窗"),
        LayerKind.CHUNKED: say("current chunk", "目前的區段"),
        LayerKind.MLA: say("one latent a token", "每個 token 一個潛在向量"),
        LayerKind.INDEXER: say("indexer keys", "索引器的鍵"),
        LayerKind.STATE: say("fixed state", "固定大小的狀態"),
        LayerKind.CROSS: say("encoder's tokens", "編碼器的 token"),
        LayerKind.SHARED: say("another layer's KV", "沿用別層的 KV"),
        LayerKind.NONE: say("nothing", "什麼都不留"),
    }
    by_kind = {
        kept_by[kind]: sorted({layer.index for layer in spec.layers if layer.kind is kind})
        for kind in LayerKind
        if any(layer.kind is kind for layer in spec.layers)
    }
    kinds = "; ".join(f"{kept} {len(marks)}" for kept, marks in by_kind.items())
    charts.layer_rows(
        by_kind,
        layer_count,
        charts.Axis(say("layer", "層")),
        say(f"Layers by what they keep: {kinds}.", f"各層依留下的東西分類：{kinds}。"),
    )
    return (by_kind,)


@app.cell(hide_code=True)
def _(say):
    say.md(
        """
        ## Kept and reserved

        What one request of this length must keep, and what vLLM 0.32.0 sets aside for it. LMCache's in-process connector
        turns vLLM's hybrid manager off: then windowed layers reserve every token.
        """,
        """
        ## 必須保留的與預留的

        這個長度的一個請求必須保留多少，vLLM 0.32.0 又替它預留多少。LMCache 的行程內連接器會關掉 vLLM 的混合管理器：這時滑動視窗層會替每個 token 都預留空間。
        """,
    )
    return


@app.cell
def _(say):
    context_tokens = say.slider(
        "Length of one request (tokens)",
        "一個請求的長度（token）",
        steps=[2048, 8192, 32768, 131072, 262144, 1_000_000],
        value=131072,
    )
    context_tokens
    return (context_tokens,)


@app.cell
def _(context_tokens, reserved, spec, say):
    kept_and_reserved = {
        say("must be kept", "必須保留"): spec.kept_bytes(context_tokens.value),
        say("reserved", "預留"): reserved.reserved_bytes(context_tokens.value),
    }
    try:
        without_manager = reserve(spec, VllmOptions(hybrid_manager=False))
        not_hybrid = say("reserved, hybrid manager off", "預留，關掉混合管理器")
        kept_and_reserved[not_hybrid] = without_manager.reserved_bytes(context_tokens.value)
        note = []
    except KvtiersError:
        needs_it = say(
            "vLLM 0.32.0 can't serve this model without its hybrid manager, so not behind that connector.",
            "vLLM 0.32.0 沒有混合管理器就無法執行這個模型，所以也接不上那個連接器。",
        )
        note = [mo.callout(needs_it, kind="warn")]
    size = charts.Axis(say("KV cache (logarithmic)", "KV 快取（對數刻度）"), format_bytes, log=True, log_base=4)
    in_words = "; ".join(f"{label}: {format_bytes(size_bytes)}" for label, size_bytes in kept_and_reserved.items())
    mo.vstack([charts.log_bars(kept_and_reserved, size, (GIB / 64, 4096 * GIB), in_words), *note])
    return (kept_and_reserved,)


@app.cell(hide_code=True)
def _(say):
    say.from_clone("02_kv_size")
    return


if __name__ == "__main__":
    app.run()
