"""Check that every internal link of the built site leads somewhere, and those of the README.

::

    python scripts/check_links.py docs/_build/html

Files and fragments (``page.html#section``) are looked for in the folder, offline; links to
elsewhere are counted, not followed. General link checkers take minutes for what is a second here.
"""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parents[1]
# Pages for people at the top of the repository.
MARKDOWN = re.compile(r"\]\(([^)\s]+)\)")


class Page(HTMLParser):
    """The links and the anchors of one page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = {"", "top"}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what a tag refers to, and what it can be referred to by."""
        for name, value in attrs:
            if value is None:
                continue
            if name in ("href", "src"):
                self.links.append(value)
            elif name == "id" or (tag == "a" and name == "name"):
                self.anchors.add(value)


def broken_links(site: Path) -> tuple[list[str], int]:
    """Return what leads nowhere, and the number of links that were looked at."""
    # A theme keeps templates among its files.
    paths = [
        path
        for path in sorted(site.rglob("*.html"))
        if "_static" not in path.relative_to(site).parts
    ]
    pages = {path: Page(path.read_text("utf-8")) for path in paths}
    broken, n_links = [], 0
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            n_links += 1
            target = path
            if parts.path:
                target = (path.parent / unquote(parts.path)).resolve()
            here = path.relative_to(site)
            if not target.is_file():
                broken.append(f"{here}: {link} is not there")
            elif target in pages and unquote(parts.fragment) not in pages[target].anchors:
                broken.append(f"{here}: {link} has no such section")
    return broken, n_links


def broken_in_markdown(folder: Path) -> list[str]:
    """Return what leads nowhere in the pages at the top of the repository."""
    return [
        f"{path.name}: {link} is not there"
        for path in sorted(folder.glob("*.md"))
        for link in MARKDOWN.findall(path.read_text("utf-8"))
        if not urlsplit(link).scheme
        and not link.startswith("#")
        and not (folder / link.partition("#")[0]).exists()
    ]


def main() -> int:
    """Print what leads nowhere; the exit code is 1 if anything does."""
    if len(sys.argv) != 2 or not Path(sys.argv[1], "index.html").is_file():
        print("usage: python scripts/check_links.py FOLDER, that of a built site (`make docs`)")
        return 2
    broken, n_links = broken_links(Path(sys.argv[1]).resolve())
    broken += broken_in_markdown(ROOT)
    print(*broken, f"{n_links} internal links, {len(broken)} of them broken", sep="\n")
    return 1 if broken or not n_links else 0


if __name__ == "__main__":
    sys.exit(main())
