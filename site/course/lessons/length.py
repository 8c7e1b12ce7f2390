"""How long a text takes to read."""

import re
from html import unescape

# The pace of reading aloud (IReST, Trauzettel-Klosinski and Dietz 2012, doi 10.1167/iovs.11-8284: 228 English words,
# 255 Chinese characters a minute), which suits a text one has to think about.
WORDS_PER_MIN = 228
HAN_PER_MIN = 255
FOLDED = re.compile(r"<details>.*?</details>", re.DOTALL)
HAN = re.compile(r"[\u3400-\u9fff]")
WORD = re.compile(r"[^\W_]+(?:['’.,_-][^\W_]+)*")


def reading_minutes(html: str) -> int:
    """Whole minutes to read `html` without what is folded, at least one; words count, and Chinese by its characters."""
    html = FOLDED.sub(" ", html)
    text = unescape(re.sub(r"<[^>]+>", " ", html))
    characters = len(HAN.findall(text))
    words = len(WORD.findall(HAN.sub(" ", text)))
    return max(1, round(words / WORDS_PER_MIN + characters / HAN_PER_MIN))
