"""States of a notebook, as an address asks for them: which are saved, and whether the live notebook shows the same."""

import gzip
import json
import random
from contextlib import suppress
from typing import Any
from urllib.parse import urljoin

from playwright.sync_api import Error

from tests.browser.conftest import Visit
from tests.browser.looks import DEEP, DEEP_TEXT, SAVED_TEXTS

SEED = 20261130
STATES = 3
SETTLED_MS = 30_000
# How the charts and texts of the live notebook differ from the saved ones: in what is drawn and written, to the
# character, or in where text stands by more than FreeType's builds differ in how high a letter is.
NEAR = 0.5
DIFFERENCES = f"""() => {{
  const squeeze = (text) => text.replace(/\\s+/g, "");
  const drawn = (e) => {{
    const isText = e.localName === "text";
    const style = e.style.cssText.split("; ").map((each) => each.replace(";", "")).sort();
    const exact = [e.localName, e.getAttribute("d"), e.getAttribute("transform"), ...style];
    const at = isText ? [e.getAttribute("x"), e.getAttribute("y")] : [];
    return {{ what: [...exact, isText ? e.textContent.trim() : ""].join(" "), at }};
  }};
  const charts = (root) => {{ {DEEP}
    const found = all.filter((e) => e.matches("svg[role=img]"));
    return found.flatMap((e) => [{{ what: e.ariaLabel, at: [] }}, ...[...e.querySelectorAll("*")].map(drawn)]);
  }};
  const notebook = document.getElementById("live").contentDocument.body;
  const [saved, live] = [charts(document.getElementById("saved")), charts(notebook)];
  const isNear = (one, other) => one.every((value, at) => Math.abs(value - other[at]) <= {NEAR});
  const isSame = (one, other) => one.what === other?.what && isNear(one.at, other.at);
  const differ = saved.flatMap((part, place) => isSame(part, live[place]) ? [] : [JSON.stringify([part, live[place]])]);
  const said = squeeze(({DEEP_TEXT})(notebook));
  const unsaid = ({SAVED_TEXTS})().filter((text) => !said.includes(squeeze(text)));
  const counted = saved.length === live.length ? [] : [`${{saved.length}} parts saved, ${{live.length}} live`];
  return [...counted, ...differ, ...unsaid];
}}"""
GO = "search => { history.pushState(null, '', search); dispatchEvent(new PopStateEvent('popstate')); }"


def saved_states(visit: Visit, count: int = STATES) -> list[dict[str, str]]:
    """Some of the states that are saved of the lesson on the page, one of them of a pair where there is one."""
    packed = visit.page.request.get(urljoin(visit.page.url, "moves.bin")).body()
    moves: dict[str, Any] = json.loads(gzip.decompress(packed))
    shown = visit.page.locator("#saved [data-control]").evaluate_all("e => e.map(({ dataset }) => dataset.control)")
    chance = random.Random(SEED + len(visit.page.url))
    movable = {name: control for name, control in moves["controls"].items() if control["values"] and name in shown}
    pairs = moves["pairs"]
    states = []
    for name in chance.sample(sorted(movable), min(count - bool(pairs), len(movable))):
        control = movable[name]
        states.append({name: chance.choice([value for value in control["values"] if value != control["default"]])})
    if pairs:
        first, ones, second, others = chance.choice(pairs)
        states.append({first: chance.choice(ones), second: chance.choice(others)})
    return states


def assert_live_shows(visit: Visit, state: dict[str, str]) -> None:
    """The live notebook comes to show what is saved for this state, text and charts, to the character."""
    visit.page.evaluate(GO, f"?{'&'.join(f'{name}={value}' for name, value in state.items())}")
    assert visit.page.locator("#saved .beyond").count() == 0, state
    with suppress(Error):
        visit.page.wait_for_function(f"() => !({DIFFERENCES})().length", timeout=SETTLED_MS)
    differences = visit.page.evaluate(DIFFERENCES)
    assert not differences, f"{state}, seed {SEED}: {differences}"
