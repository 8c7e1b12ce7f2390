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
    from kvtiers.model import ELEMENT_BYTES, KvSpec, kv_spec, parse_config
    from kvtiers.units import GIB, format_bytes


@app.cell(hide_code=True)
def _():
    t = {
        "intro": """
            # KV 有多大

            每個 token 要留下多少位元組，由模型決定，與問題無關。
        """,
        "source": "模型的形狀從哪裡來（以開啟的分頁為準）",
        "by_hand": "滑桿",
        "by_file": "config.json",
        "layers": "層數",
        "kv_heads": "KV 頭數",
        "head_dim": "head_dim",
        "paste": "貼上 config.json",
        "drop": "或把檔案拖到這裡；檔案優先於貼上的文字",
        "kv_type": "KV 型別",
        "free_vram": "可用 VRAM（GiB）",
        "cpu_ram": "可給 KV 的 CPU RAM（GiB）",
        "bad_config": "這份 config.json 無法使用，原因是：",
        "per_token": "每個 token 的 KV",
        "shape": "2 x {layers} 層 x {kv_heads} 個 KV 頭 x {head_dim} x {element:g} B",
        "at_128k": "一個 128k token 的請求",
        "at_1m": "1,000,000 個 token",
        "formula": "每一層、每個 KV 頭各有一份 K 和一份 V：",
        "loads": ("2k token", "8k", "32k", "10 x 8k", "128k", "1M"),
        "vram_line": "可用 VRAM，{size}",
        "ram_line": "CPU RAM，{size}",
        "size": "KV 快取（對數刻度）",
        "alt": "六種負載的 KV 大小，從 2k token 的 {smallest} 到一百萬 token 的 {largest}。",
        "run": "從 clone 下來的專案執行：`uvx marimo edit --sandbox notebooks/zh-TW/02_kv_size.py`",
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
    source = mo.ui.tabs(
        {t["by_hand"]: mo.vstack([layers, kv_heads, head_dim]), t["by_file"]: mo.vstack([pasted, dropped])}
    )
    kv_type = mo.ui.dropdown(list(ELEMENT_BYTES), value="fp16", label=t["kv_type"])
    free_vram_gib = mo.ui.slider(1, 80, value=10, label=t["free_vram"], show_value=True)
    cpu_ram_gib = mo.ui.slider(1, 512, value=64, label=t["cpu_ram"], show_value=True)
    mo.vstack([mo.md(t["source"]), source, kv_type, free_vram_gib, cpu_ram_gib])
    return cpu_ram_gib, dropped, free_vram_gib, head_dim, kv_heads, kv_type, layers, pasted, source


@app.cell
def _(dropped, head_dim, kv_heads, kv_type, layers, pasted, source, t):
    try:
        if source.value == t["by_hand"]:
            spec = KvSpec(layers.value, kv_heads.value, head_dim.value, kv_type.value)
        else:
            config_text = dropped.contents().decode(errors="replace") if dropped.value else pasted.value
            spec = kv_spec(parse_config(config_text), kv_type.value)
    except KvtiersError as error:
        mo.stop(True, mo.callout(mo.vstack([t["bad_config"], mo.plain_text(str(error))]), kind="danger"))
    return (spec,)


@app.cell
def _(cpu_ram_gib, free_vram_gib, kv_bytes, t):
    load_tokens = (2048, 8192, 32768, 10 * 8192, 131072, 1_000_000)
    load_bytes = {label: tokens * kv_bytes for label, tokens in zip(t["loads"], load_tokens, strict=True)}
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
def _(bytes_per_token, spec, t):
    element_bytes = ELEMENT_BYTES[spec.kv_dtype]
    kv_bytes = bytes_per_token(spec.layers, spec.kv_heads, spec.head_dim, element_bytes)
    shape = t["shape"].format(layers=spec.layers, kv_heads=spec.kv_heads, head_dim=spec.head_dim, element=element_bytes)
    mo.hstack(
        [
            mo.stat(format_bytes(kv_bytes), t["per_token"], shape),
            mo.stat(format_bytes(131072 * kv_bytes), t["at_128k"]),
            mo.stat(format_bytes(1e6 * kv_bytes), t["at_1m"]),
        ],
        justify="start",
        wrap=True,
    )
    return (kv_bytes,)


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
    mo.md(t["run"])
    return


if __name__ == "__main__":
    app.run()
