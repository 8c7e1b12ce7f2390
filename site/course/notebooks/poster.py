"""The saved view of a notebook: its outputs at the defaults, as plain HTML that shows before Python runs.

Charts and text stay as they are; marimo's controls become locked native ones of the same look and value.
"""

import contextlib
import html
import importlib.util
import io
import json
import re
import traceback
from collections.abc import Sequence
from concurrent.futures import Executor
from html.parser import HTMLParser
from pathlib import Path

from rich.progress import Progress

from course.errors import CourseError
from course.notebooks.export import Notebook
from course.steps import step

VOID = frozenset({"br", "hr", "img", "input", "link", "meta", "source", "wbr"})


def save_views(notebooks: Sequence[Notebook], workers: Executor, progress: Progress) -> dict[tuple[str, str], str]:
    """The saved view of every notebook, by language and name."""
    with step(progress, "saved views", len(notebooks)) as bar:
        views = [workers.submit(save_view, notebook.path) for notebook in notebooks]
        for view in views:
            view.add_done_callback(lambda _: bar.advance())
        # Not as_completed: it waits for ever for what another thread cancels.
        return {
            (notebook.language, notebook.name): view.result() for notebook, view in zip(notebooks, views, strict=True)
        }


def save_view(notebook: Path) -> str:
    """Run `notebook` with its defaults and return its outputs as HTML. For a process of `marimo_workers`.

    Raises:
        CourseError: the notebook does not run.
    """
    import marimo as mo  # noqa: PLC0415  only the processes that run notebooks need it

    spec = importlib.util.spec_from_file_location("notebook", notebook)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            spec.loader.exec_module(module)
            outputs, _ = module.app.run()
            return lock_controls([mo.as_html(output).text for output in outputs if output is not None])
    except (Exception, SystemExit) as error:
        raise CourseError(f"{notebook} does not run:\n{traceback.format_exc()[-2000:]}") from error


def lock_controls(outputs: list[str]) -> str:
    """marimo's output HTML, one string per cell, as plain HTML."""
    cells = []
    for output in outputs:
        parser = _Locker()
        parser.feed(output)
        parser.close()
        cells.append(f'<div class="cell">{"".join(parser.out)}</div>\n')
    return "".join(cells)


class _Locker(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.out: list[str] = []
        self._closing: list[str] = []
        self._tabs: list[int] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if not tag.startswith("marimo-"):
            if ("data-kind", "tab") in attrs and self._tabs:
                self._tabs[-1] += 1
                attrs = [*attrs, *([("hidden", None)] if self._tabs[-1] > 1 else [])]
            self.out.append(f"<{tag}{_attributes(attrs)}>")
            return
        data = {name.removeprefix("data-"): _value(value) for name, value in attrs if name.startswith("data-")}
        opening, closing = _replacement(tag.removeprefix("marimo-"), data)
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


def _replacement(kind: str, data: dict[str, object]) -> tuple[str, str]:
    """What to write for marimo's element `kind`: before its content, and after it."""
    control = _control(kind, data)
    if control:
        label = f"<span>{_plain(data.get('label'))}</span>"
        return f'<label class="control">{label}<span class="field">{control}</span></label>', ""
    opening, closing = "", ""
    match kind:
        case "button":
            opening = f"<button disabled>{_plain(data.get('label'))}</button>"
        case "file":
            opening = f'<button class="upload" disabled>{_plain(data.get("label"))}</button>'
        case "code-editor":
            opening = f'<pre class="editor"><code>{_plain(data.get("initial-value"))}</code></pre>'
        case "stat":
            parts = "".join(f"<span>{_plain(data.get(part))}</span>" for part in ("label", "value", "caption"))
            opening = f'<div class="stat">{parts}</div>'
        case "callout-output":
            opening = f'<div class="callout {_plain(data.get("kind"))}">{data.get("html") or ""}</div>'
        case "tabs":
            opening = f'<div class="tab-names">{"".join(f"<span>{name}</span>" for name in _items(data, "tabs"))}</div>'
        case "accordion":
            folded = (f"<details><summary>{name}</summary></details>" for name in _items(data, "labels"))
            opening, closing = f"{''.join(folded)}<div hidden>", "</div>"
    return opening, closing


def _control(kind: str, data: dict[str, object]) -> str:
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
            chosen = value[0] if isinstance(value, list) and value else value
            control = f"<select disabled><option>{_plain(chosen)}</option></select>"
        case "number" | "text":
            control = f'<input value="{_plain(value)}" disabled>'
        case "text-area":
            control = f"<textarea disabled rows={data.get('rows')}>{_plain(value)}</textarea>"
        case "switch" | "checkbox":
            control = f'<input type="checkbox" disabled{" checked" if value else ""}>'
        case "radio":
            for option in _items(data, "options"):
                chosen = " checked" if option == _plain(value) else ""
                control += f'<span class="option"><input type="radio" disabled{chosen}>{option}</span>'
    return control
