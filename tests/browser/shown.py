"""What a page shows, as text."""

import re

# All text of the notebook, shadow roots included.
DEEP_TEXT = """body => {
  const walk = node => node.nodeType === 3 ? node.data
    : ["STYLE", "SCRIPT"].includes(node.tagName) ? ""
    : [node.shadowRoot, ...node.childNodes].filter(Boolean).map(walk).join(" ");
  return walk(body);
}"""
SAVED_TEXTS = """() => [...document.querySelectorAll(
  "#saved svg text, #saved .stat span, #saved .paragraph, #saved td")].map(e => e.textContent)"""


def squeeze(text: str) -> str:
    return re.sub(r"\s+", "", text)
