"""The brief of a page in other forms: its head chart, and its text as Markdown.

Both are cut out of `report.html`, so that they say what the page says.
"""

from __future__ import annotations

import os
from html import escape
from html.parser import HTMLParser

# Type checkers take it as true; to import `typing` would take half of the time of this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional

    from cfaudit._program import PathLike

#: The sections of the brief that Markdown holds, by their ids.
SECTIONS = ("verdict", "limits", "not")

#: The blocks of text, and what becomes of them.
BLOCKS = {"h1": "# {}", "h2": "## {}", "h3": "### {}", "p": "{}", "li": "- {}"}

#: What is drawn, or written for what is drawn: elements and classes without text for Markdown.
DRAWN = {"svg", "style", "figure", "vh", "axis", "plot", "fold", "key"}

#: Elements without an end.
VOID = {"br", "col", "hr", "img", "input", "link", "meta"}

#: Signs that mean something in Markdown.
SIGNS = set("\\`*_[]<>#|")

#: The head of a table of groups or limits.
HEAD = "| | People | Value | Verdict |\n| --- | --- | --- | --- |\n"


def framed(title: str, page: str) -> str:
    """A page inside another one, which it cannot change."""
    return (
        f'<iframe title="{escape(title)}" sandbox srcdoc="{escape(page)}" '
        'style="width:100%;height:46em;border:1px solid #8888"></iframe>'
    )


def brief(page: str) -> str:
    """The first two printed pages of a report: the rest follows the list of contents."""
    start, end = page.find('<nav class="side"'), page.find("<footer>")
    return page if start < 0 or end < start else page[:start] + page[end:]


def _section(page: str, name: str) -> str:
    """What a section of the brief holds; empty where there is none."""
    start = page.find(f'<section id="{name}"')
    return page[start : page.find("</section>", start)] if start >= 0 else ""


class Chart:
    """The first chart of the page: shares of the groups, or else the limits.

    A notebook shows it, `save` writes it as a page of its own.
    """

    def __init__(self, page: str) -> None:
        for section in (_section(page, "verdict"), _section(page, "limits")):
            start = section.find("<figure")
            if start < 0:
                # A table with a mark in each row, after its caption.
                start = section.rfind('<p class="note">', 0, max(section.find("<table"), 0))
            if start >= 0:
                break
        else:
            raise ValueError("the page has no chart: nothing was measured")
        head = page[: page.find("<body")]
        # Marks that several charts share.
        marks = page.find('<svg width="0"')
        shared = page[marks : page.find("</svg>", marks) + len("</svg>")] if marks >= 0 else ""
        body = f'{shared}<main class="doc">{section[start:]}</main>'
        self._page = f"{head}<body>{body}</body></html>\n"

    def save(self, file: PathLike) -> str:
        """Writes a page without scripts that holds the chart; gives its path."""
        with open(file, "w", encoding="utf-8") as out:
            out.write(self._page)
        return os.fspath(file)

    def _repr_html_(self) -> str:
        return framed("Chart", self._page)


class _Text(HTMLParser):
    """Reads the text of a page as lines of Markdown, without what is drawn."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        #: Blocks of text, and rows of tables.
        self.lines: list[str] = []
        #: Elements and classes that are left out.
        self.drawn = DRAWN
        self._text = ""
        self._cells: list[str] = []
        self._open: list[tuple[str, str]] = []

    def _end(self, form: str) -> None:
        """Ends a block: its form, with the text in place of `{}`."""
        text = " ".join(self._text.split())
        if text:
            self.lines.append(form.replace("{}", text))
        self._text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, Optional[str]]]) -> None:
        if tag in VOID:
            return
        classes = (dict(attrs).get("class") or "").split()
        hides = tag in self.drawn or not self.drawn.isdisjoint(classes)
        bold = tag in ("strong", "b") or "badge" in classes
        self._open.append((tag, "hide" if hides else "bold" if bold else ""))
        if self._hidden():
            return
        if tag in BLOCKS or tag == "tr":
            self._end("{}")
            self._cells = []
        self._text += " **" if bold else " " if tag in ("span", "small") else ""

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open[-1][0] != tag:
            self._open.pop()
        hidden = self._hidden()
        _, form = self._open.pop() if self._open else (tag, "")
        if hidden:
            return
        if form == "bold":
            self._text = self._text.rstrip() + "**"
        if tag in ("td", "th"):
            self._cells.append(" ".join(self._text.split()))
            self._text = ""
        elif tag == "tr" and self._cells:
            first, *rest = self._cells
            # A question with its verdict, or a value with its counts.
            cells = [f"**{first}**", "", "", *rest] if len(rest) == 1 else [first, *rest, ""]
            self.lines.append(f"| {' | '.join(cells)} |")
        elif tag in BLOCKS:
            self._end(BLOCKS[tag])

    def handle_data(self, data: str) -> None:
        if not self._hidden():
            self._text += "".join("\\" + sign if sign in SIGNS else sign for sign in data)

    def _hidden(self) -> bool:
        return any(form == "hide" for _, form in self._open)


def markdown(page: str) -> str:
    """The brief as Markdown: title, verdict, limits, and what the audit does not show."""
    reader = _Text()
    start = page.find("<h1")
    reader.feed(page[start : page.find("</h1>", start) + len("</h1>")])
    for name in SECTIONS:
        # What is said next to the limits is how to read what is drawn.
        reader.drawn = DRAWN | {"note"} if name == "limits" else DRAWN
        reader.feed(_section(page, name))
    text, last = "", ""
    for line in reader.lines:
        kind = line[:2] if line[:2] in ("| ", "- ") else ""
        if kind != last or not kind:
            text += "\n" if text else ""
            text += HEAD if kind == "| " else ""
        text += line + "\n"
        last = kind
    return text
