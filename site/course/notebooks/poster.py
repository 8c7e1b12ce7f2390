"""The saved view of a notebook: its outputs at the defaults, as plain HTML that shows before Python runs.

Charts and text stay as they are; marimo's controls become native ones of the same look and value, locked until a script
unlocks them.
"""

import html
import json
import re
from collections.abc import Mapping
from html.parser import HTMLParser

VOID = frozenset({"br", "hr", "img", "input", "link", "meta", "source", "wbr"})


def lock_cells(shown: Mapping[str, str], names: Mapping[str, str]) -> str:
    """A whole saved view: what the cells show, by their ids, as plain HTML; ``names`` as in `lock_controls`."""
    return "".join(
        f'<div class="cell" data-cell="{cell}">{lock_controls(output, names)}</div>\n' for cell, output in shown.items()
    )


def lock_controls(output: str, names: Mapping[str, str]) -> str:
    """marimo's HTML as plain HTML; ``names`` are those of the controls that a script may unlock, by marimo's ids."""
    parser = _Locker(names)
    parser.feed(output)
    parser.close()
    return "".join(parser.out)


class _Locker(HTMLParser):
    def __init__(self, names: Mapping[str, str]) -> None:
        super().__init__(convert_charrefs=True)
        self.out: list[str] = []
        self._names = names
        self._name = ""
        self._closing: list[str] = []
        self._tabs: list[int] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if not tag.startswith("marimo-"):
            if ("data-kind", "tab") in attrs and self._tabs:
                self._tabs[-1] += 1
                attrs = [*attrs, *([("hidden", None)] if self._tabs[-1] > 1 else [])]
            if tag == "table":
                attrs = [*attrs, ("tabindex", "0")]  # a wide one scrolls, by keyboard too
            self.out.append(f"<{tag}{_attributes(attrs)}>")
            return
        if tag == "marimo-ui-element":
            self._name = self._names.get(dict(attrs)["object-id"] or "", "")
        data = {name.removeprefix("data-"): _value(value) for name, value in attrs if name.startswith("data-")}
        opening, closing = _replacement(tag.removeprefix("marimo-"), data, self._name)
        self.out.append(opening)
        self._closing.append(closing)
        if tag == "marimo-tabs":
            self._tabs.append(0)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """An element without content, as SVG has them."""
        self.out.append(f"<{tag}{_attributes(attrs)}/>")

    def handle_endtag(self, tag: str) -> None:
        if tag.startswith("marimo-"):
            self.out.append(self._closing.pop())
            if tag == "marimo-tabs":
                self._tabs.pop()
        elif tag not in VOID:
            self.out.append(f"</{tag}>")

    def handle_data(self, data: str) -> None:
        self.out.append(html.escape(data, quote=False))


def _attributes(attrs: list[tuple[str, str | None]]) -> str:
    return "".join(f" {name}" if value is None else f' {name}="{html.escape(value)}"' for name, value in attrs)


def _value(text: str | None) -> object:
    try:
        return json.loads(text or "null")
    except json.JSONDecodeError:
        return text


def _plain(markup: object) -> str:
    """The text of a label, escaped again, its lines kept apart."""
    return html.escape(html.unescape(re.sub(r"<[^>]+>", "", str(markup or "").replace("<br>", "\n")))).strip()


def _items(data: dict[str, object], name: str) -> list[str]:
    """A list attribute, each item as plain text."""
    items = data.get(name)
    return [_plain(item) for item in items] if isinstance(items, list) else []


def _replacement(kind: str, data: dict[str, object], name: str) -> tuple[str, str]:
    """What to write for marimo's element `kind`: before its content, and after it."""
    control = _control(kind, data, name)
    if control:
        label = f"<span>{_plain(data.get('label'))}</span>"
        named = f' data-control="{name}"' if name else ""
        if kind == "radio":
            group = f'role="radiogroup" aria-label="{_plain(data.get("label"))}"'
            return f'<div class="control"{named} {group}>{label}<span class="field">{control}</span></div>', ""
        return f'<label class="control"{named}>{label}<span class="field">{control}</span></label>', ""
    opening, closing = "", ""
    match kind:
        case "button":
            opening = f"<button disabled>{_plain(data.get('label'))}</button>"
        case "file":
            named = f' data-control="{name}"' if name else ""
            opening = f'<label class="upload"{named}>{_plain(data.get("label"))}<input type="file" disabled></label>'
        case "code-editor":
            opening = f'<pre class="editor" tabindex="0"><code>{_plain(data.get("initial-value"))}</code></pre>'
        case "stat":
            parts = "".join(f"<span>{_plain(data.get(part))}</span>" for part in ("label", "value", "caption"))
            opening = f'<div class="stat">{parts}</div>'
        case "callout-output":
            opening = f'<div class="callout {_plain(data.get("kind"))}">{data.get("html") or ""}</div>'
        case "tabs":
            tabs = (f'<button type="button" disabled>{name}</button>' for name in _items(data, "tabs"))
            opening = f'<div class="tab-names">{"".join(tabs)}</div>'
        case "accordion":
            opening, closing = f"<details><summary>{' · '.join(_items(data, 'labels'))}</summary>", "</details>"
    return opening, closing


def _control(kind: str, data: dict[str, object], name: str) -> str:
    """The locked native control for marimo's `kind`; empty when it is no control."""
    value = data.get("initial-value")
    control = ""
    match kind:
        case "slider":
            steps = _items(data, "steps")
            shown = f"{float(steps[int(str(value))] if steps else str(value)):,.10g}"
            limits = f'min="{data.get("start")}" max="{data.get("stop")}" step="any" value="{value}"'
            control = f'<input type="range" {limits} disabled><output>{shown}</output>'
        case "dropdown":
            chosen = _plain(value[0] if isinstance(value, list) and value else value)
            options = (
                f"<option{' selected' if option == chosen else ''}>{option}</option>"
                for option in _items(data, "options")
            )
            control = f"<select disabled>{''.join(options)}</select>"
        case "number":
            control = f'<input inputmode="decimal" value="{value}" disabled>'
        case "text":
            control = f'<input value="{_plain(value)}" disabled>'
        case "text-area":
            control = f"<textarea disabled rows={data.get('rows')}>{_plain(value)}</textarea>"
        case "switch" | "checkbox":
            control = f'<input type="checkbox" disabled{" checked" if value else ""}>'
        case "radio":
            for option in _items(data, "options"):
                chosen = " checked" if option == _plain(value) else ""
                control += f'<label class="option"><input type="radio" name="{name}" disabled{chosen}>{option}</label>'
    return control
