"""Markdown to HTML for one language, with the course's own roles.

``{claim}`id` `` shows a claim's value, linked to its entry in the ledger; ``{term}`words <id>` `` links to the
glossary; a fence marked ``table`` holds the name of a table that kvtiers fills. Every page with text lies two folders
deep, so these links go one up.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from html import escape

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from markupsafe import Markup
from mdit_py_plugins.myst_role import myst_role_plugin

from course.errors import CourseError
from course.lessons.claims import Claim
from course.lessons.sources import linked

HEADING = re.compile(r"<h2>")
TERM = re.compile(r"(?P<words>[^<]+?) <(?P<id>[a-z0-9-]+)>")


class Text:
    """Renders the texts of one language.

    Args:
        claims: the ledger by id.
        terms: ids in the glossary.
        tables: functions that give a table's HTML, by name.
        standing: words for a claim's kind in this language, by kind.
        language: ``en`` or ``zh-TW``.
    """

    def __init__(
        self,
        claims: Mapping[str, Claim],
        terms: Sequence[str],
        tables: Mapping[str, Callable[[], str]],
        standing: Mapping[str, str],
        language: str,
    ) -> None:
        self._claims, self._terms, self._tables = claims, terms, tables
        self._standing, self._language = standing, language
        self._roles = {"claim": self._claim, "term": self._term}
        self._markdown = parser()
        # add_render_rule binds what it is given to markdown-it's own renderer
        self._markdown.add_render_rule("myst_role", lambda _, *place: self._role(*place))
        self._markdown.add_render_rule("fence", lambda _, *place: self._fence(*place))

    def html(self, markdown: str) -> str:
        """Paragraphs and blocks.

        Raises:
            CourseError: naming the role, claim, term or table that does not exist.
        """
        return scrolling(str(self._markdown.render(markdown)))

    def inline(self, markdown: str) -> str:
        """One line, without a paragraph around it."""
        return str(self._markdown.renderInline(markdown))

    def _role(self, tokens: Sequence[Token], place: int, options: OptionsDict, env: EnvType) -> str:
        name, content = tokens[place].meta["name"], tokens[place].content
        if name not in self._roles:
            raise CourseError(f"there is no role {{{name}}}; there are {', '.join(sorted(self._roles))}")
        return self._roles[name](content)

    def _claim(self, name: str) -> str:
        if name not in self._claims:
            raise CourseError(f"claim {name} is not in claims.yaml")
        claim = self._claims[name]
        note = escape(self.standing(claim))
        return f'<a class="claim {claim.kind}" href="../claims/#{name}" title="{note}">{escape(claim.value)}</a>'

    def standing(self, claim: Claim) -> str:
        """Why a claim is held true, in words: measured here, read in source X version Y, reported; with its date."""
        parts = (self._standing[claim.kind], claim.source[self._language], claim.date)
        return " · ".join(part for part in parts if part)

    def proof(self, claim: Claim) -> Markup:
        """The same, with links to where it can be read."""
        parts = (self._standing[claim.kind], linked(claim.source[self._language], claim.file), claim.date)
        return Markup(" · ").join(part for part in parts if part)

    def _term(self, content: str) -> str:
        match = TERM.fullmatch(content)
        if match is None or match["id"] not in self._terms:
            raise CourseError(f"{{term}}`{content}` must be words and <id> of an entry in the glossary")
        return f'<a class="term" href="../glossary/#{match["id"]}">{escape(match["words"])}</a>'

    def _fence(self, tokens: Sequence[Token], place: int, options: OptionsDict, env: EnvType) -> str:
        if tokens[place].info != "table":
            return RendererHTML().fence(tokens, place, options, env)
        name = tokens[place].content.strip()
        if name not in self._tables:
            raise CourseError(f"there is no table {name}; there are {', '.join(sorted(self._tables))}")
        return self._tables[name]()


def scrolling(html: str) -> str:
    """Tables in a box that scrolls sideways, by keyboard too, on a screen too narrow for them."""
    return html.replace("<table>", '<div class="wide" tabindex="0"><table>').replace("</table>", "</table></div>")


def parser() -> MarkdownIt:
    """CommonMark with tables and roles."""
    return MarkdownIt("commonmark").enable("table").use(myst_role_plugin)


def anchors_of(markdown: str) -> list[str]:
    """An id for each section of an English text: its heading, e.g. ``what-people-get-wrong``."""
    headings = re.findall(r"^## (.+)$", markdown, flags=re.MULTILINE)
    return [re.sub(r"[^a-z0-9]+", "-", heading.lower()).strip("-") for heading in headings]


def with_anchors(html: str, anchors: Sequence[str]) -> str:
    """Give each section's heading its id, the same in both languages, so that a link holds in either.

    Raises:
        CourseError: when there are more or fewer sections than ids.
    """
    if len(HEADING.findall(html)) != len(anchors):
        raise CourseError(f"has {len(HEADING.findall(html))} sections, in English it has {len(anchors)}")
    left = iter(anchors)
    return HEADING.sub(lambda _: f'<h2 id="{next(left)}">', html)
