"""What a page shows, and what can be wrong with it: text, places, widths, words, contrast."""

import json
import re
from typing import Literal

from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Frame, Page

Scheme = Literal["light", "dark"]
SCHEMES: tuple[Scheme, Scheme] = ("light", "dark")
STILL = 0.001  # of the screen, times how far it moves: nobody sees it
SERIOUS = ("serious", "critical")
RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
ENGLISH = re.compile(r"[A-Za-z][a-z']+(?: [A-Za-z][a-z']*){2,}")
MARKED = re.compile(r"「[^」]*」|“[^”]*”|\"[^\"]*\"|'[^']*'|python -m [\w -]+|vllm serve \S+")
QUOTED = (
    "No module named",
    "Prefetch request completed",
    "Retrieved … tokens in",
    "Stored … out of total",
    "Local disk cache",
)
"""Lines of the engines' logs, which are English in every language."""

# Every element, shadow trees included, and functions that the checks below share.
DEEP = """
  const all = [];
  const walk = (tree) => {
    for (const e of tree.querySelectorAll("*")) {
      all.push(e);
      if (e.shadowRoot) walk(e.shadowRoot);
    }
  };
  walk(root);
  const above = (e) => e.parentElement ?? e.getRootNode().host;
  const box = (e) => e.getBoundingClientRect();
"""
TOO_WIDE = f"""root => {{ {DEEP}
  const scrolls = (e) => /auto|scroll|hidden/.test(getComputedStyle(e).overflowX) && box(e).right <= innerWidth + 1;
  const held = (e) => {{ for (let p = above(e); p; p = above(p)) if (scrolls(p)) return true; }};
  const name = (e) => `${{e.tagName}}.${{e.className.baseVal ?? e.className}} ${{e.textContent.trim().slice(0, 40)}}`;
  const isOff = (e) => !e.closest("svg *") && box(e).width && box(e).right > innerWidth + 1;
  return all.filter((e) => isOff(e) && !held(e)).map(name);
}}"""
TOO_NARROW = f"""root => {{ {DEEP}
  const found = [];
  for (const e of all) for (const text of e.childNodes) {{
    if (text.nodeType !== 3 || text.data.trim().length < 9 || e.closest("svg, style, script, pre")) continue;
    const range = document.createRange();
    range.selectNodeContents(text);
    const lines = new Set([...range.getClientRects()].map(({{ top }}) => Math.round(top))).size;
    if (lines > 3 && text.data.trim().length / lines < 5) found.push(text.data.trim().slice(0, 40));
  }}
  return found;
}}"""
PLACES = f"""root => {{ {DEEP}
  const kinds = "h1, h2, svg[role=img], .mo-label, .control, .admonition, .callout";
  const top = window.frameElement ? box(window.frameElement).top : 0;
  return all.filter((e) => e.matches(kinds) && box(e).height).map((e) => Math.round(box(e).top + top));
}}"""
SAID = f"""root => {{ {DEEP}
  const code = "code, pre, textarea, select, style, script, .cm-editor";
  const texts = all.filter((e) => !e.closest(code)).flatMap((e) => [...e.childNodes]).filter((n) => n.nodeType === 3);
  const spoken = ["aria-label", "title", "placeholder", "alt"];
  const names = all.flatMap((e) => spoken.map((name) => e.getAttribute(name) ?? ""));
  const shown = texts.filter((text) => text.parentElement?.checkVisibility() ?? true).map((text) => text.data);
  return [...shown, ...names];
}}"""
COLOURS_STAND = """() => Promise.all(
  document.getAnimations().filter((each) => each instanceof CSSTransition).map((each) => each.finished))"""
# Of each switch whether it is on, and its colour; of each link to a lesson whether it is underlined.
SWITCHES = f"""root => {{ {DEEP}
  return all.filter((e) => e.matches("[role=switch]")).map((e) => [e.ariaChecked, getComputedStyle(e).backgroundColor]);
}}"""
LINKS = f"""root => {{ {DEEP}
  return all.filter((e) => e.matches("a[target=_top]")).map((e) => getComputedStyle(e).textDecorationLine);
}}"""
COLOURS = """() => [document.body, document.querySelector("svg[role=img] text") ?? document.querySelector("h1")].map(
  (e, at) => getComputedStyle(e)[at ? "color" : "backgroundColor"])"""
# All text of the notebook, shadow roots included.
DEEP_TEXT = """body => {
  const walk = node => node.nodeType === 3 ? node.data
    : ["STYLE", "SCRIPT"].includes(node.tagName) ? ""
    : [node.shadowRoot, ...node.childNodes].filter(Boolean).map(walk).join(" ");
  return walk(body);
}"""
SAVED_TEXTS = """() => [...document.querySelectorAll(
  "#saved svg text, #saved .stat span, #saved .paragraph, #saved td")].map(e => e.textContent)"""
# Goes into a page before anything else: what its policy refuses, and how far things in it move.
RECORD = """
  window.refused = [];
  addEventListener("securitypolicyviolation", e => refused.push(`${e.effectiveDirective} ${e.blockedURI} ${e.sample}`));
  window.shift = 0;
  new PerformanceObserver(list => { for (const entry of list.getEntries()) window.shift += entry.value; })
    .observe({ type: "layout-shift", buffered: true });
"""
PROBE = "script-src eval "
"""A library in marimo's frontend asks once whether eval is allowed, and does without it."""
IDLE = "() => new Promise(done => requestIdleCallback(() => requestAnimationFrame(done)))"


def english(texts: list[str]) -> list[str]:
    """The texts that hold three English words in a row, outside of quotation marks."""
    return [text for text in texts if ENGLISH.search(MARKED.sub("", text)) and not any(line in text for line in QUOTED)]


def issues(page: Page | Frame) -> list[str]:
    """What axe-core calls a serious or critical issue, contrast AA included."""
    found = Axe().run(page, options=RULES).response["violations"]
    return [
        json.dumps([issue["id"], [node["target"] for node in issue["nodes"][:3]], issue["nodes"][0]["failureSummary"]])
        for issue in found
        if issue["impact"] in SERIOUS
    ]


def refused(page: Page) -> list[str]:
    """What the policy of a page that was opened with RECORD has refused so far."""
    entries = [entry for frame in page.frames for entry in frame.evaluate("() => window.refused ?? []")]
    return [entry for entry in entries if entry != PROBE]


def squeeze(text: str) -> str:
    """The text without its spaces: the saved and the live view have them in other places."""
    return re.sub(r"\s+", "", text)
