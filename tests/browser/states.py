"""States of a notebook, as an address asks for them: which are saved, and whether the live notebook shows the same."""

import random
from typing import Any

from playwright.sync_api import Error

from tests.browser.conftest import Visit
from tests.browser.looks import DEEP, DEEP_TEXT, SAVED_TEXTS, squeeze

SEED = 20261130
STATES = 3
SETTLED_MS = 30_000
# Every stroke and letter of every chart, as the browser itself writes them.
CHARTS = f"""root => {{ {DEEP}
  const places = (e) => ["d", "x", "y", "transform"].map((name) => e.getAttribute(name));
  const text = (e) => e.children.length ? "" : e.textContent.trim();
  const drawn = (e) => [e.localName, ...places(e), e.style.cssText, text(e)].join(" ");
  const chart = (e) => [e.ariaLabel, ...[...e.querySelectorAll("*")].map(drawn)].join("\\n");
  return all.filter((e) => e.matches("svg[role=img]")).map(chart);
}}"""
BOTH = f"""() => {{
  const charts = {CHARTS};
  const live = document.getElementById("live").contentDocument.body;
  return [charts(document.getElementById("saved")), charts(live), ({SAVED_TEXTS})(), ({DEEP_TEXT})(live)];
}}"""
SAME = f"""() => {{
  const [saved, live, texts, said] = ({BOTH})();
  const squeezed = said.replace(/\\s+/g, "");
  return saved.join() === live.join() && texts.every((text) => squeezed.includes(text.replace(/\\s+/g, "")));
}}"""
GO = "search => { history.pushState(null, '', search); dispatchEvent(new PopStateEvent('popstate')); }"


def saved_states(visit: Visit, count: int = STATES) -> list[dict[str, str]]:
    """Some of the states that are saved of the lesson on the page, one of them of a pair where there is one."""
    moves: dict[str, Any] = visit.page.evaluate("() => fetch('moves.json').then((answer) => answer.json())")
    shown = visit.page.locator("#saved [data-control]").evaluate_all("e => e.map(({ dataset }) => dataset.control)")
    chance = random.Random(SEED + len(visit.page.url))
    movable = {name: control for name, control in moves["controls"].items() if control["values"] and name in shown}
    pairs = sorted({tuple(pair[:4:2]) for cell in moves["cells"].values() for pair in cell["pairs"]})
    states = []
    for name in chance.sample(sorted(movable), min(count - bool(pairs), len(movable))):
        control = movable[name]
        states.append({name: chance.choice([value for value in control["values"] if value != control["default"]])})
    if pairs:
        pair = chance.choice(pairs)
        (grid,) = [entry for cell in moves["cells"].values() for entry in cell["pairs"] if tuple(entry[:4:2]) == pair][
            :1
        ]
        states.append({pair[0]: chance.choice(grid[1]), pair[1]: chance.choice(grid[3])})
    return states


def assert_live_shows(visit: Visit, state: dict[str, str]) -> None:
    """The live notebook comes to show what is saved for this state, text and charts, to the character."""
    visit.page.evaluate(GO, f"?{'&'.join(f'{name}={value}' for name, value in state.items())}")
    assert visit.page.locator("#saved .beyond").count() == 0, state
    try:
        visit.page.wait_for_function(SAME, timeout=SETTLED_MS)
    except Error:
        saved, live, texts, said = visit.page.evaluate(BOTH)
        assert live == saved, f"{state}, seed {SEED}"
        assert [text for text in texts if squeeze(text) not in squeeze(said)] == [], f"{state}, seed {SEED}"
        raise
