"""Read pages of reports as a browser does, and open them in one."""

import html.parser
import itertools
import re
import subprocess

_EMPTY = {"meta", "br", "img", "link", "input", "hr", "wbr"}


class Page(html.parser.HTMLParser):
    """Elements with their attributes and texts, rows of tables, and what is not closed."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.elements, self.unclosed, self.texts, self.rows = [], [], [], [], []
        # plotly.js has texts that look like elements.
        self.feed(re.sub(r"(?s)/\*\*\n\* plotly.js v.*?</script>", "</script>", text))
        self.close()
        self.unclosed += self.open
        self.text = re.sub(r"\s+", " ", "".join(self.texts))
        self.rows = [[cell.replace("\xa0", " ").strip() for cell in row] for row in self.rows]

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs), []))
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th") and self.rows:
            self.rows[-1].append("")
        if tag not in _EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if self.open and self.open[-1] == tag:
            self.open.pop()
        else:
            self.unclosed.append(tag)

    def handle_data(self, data):
        for _, _, texts in self.elements[-1:]:
            texts.append(data)
        if not {"script", "style"} & set(self.open):
            self.texts.append(data)
            if {"td", "th"} & set(self.open):
                self.rows[-1][-1] += data

    def all(self, tag):
        return [(attrs, "".join(texts)) for name, attrs, texts in self.elements if name == tag]

    def check(self):
        """Check that elements are closed, ids are unique, and links lead somewhere."""
        assert self.unclosed == []
        ids = [attrs["id"] for _, attrs, _ in self.elements if "id" in attrs]
        assert len(ids) == len(set(ids))
        links = {attrs["href"] for attrs, _ in self.all("a")}
        assert len(links) > 3
        assert {link.removeprefix("#") for link in links} <= set(ids)
        levels = [int(tag[1]) for tag, _, _ in self.elements if re.fullmatch(r"h\d", tag)]
        assert levels[0] == 1
        assert levels.count(1) == 1
        assert all(after <= before + 1 for before, after in itertools.pairwise(levels))

    def check_loads_nothing(self):
        """Check that nothing is loaded from elsewhere, and only own scripts may run."""
        for tag, attrs, _ in self.elements:
            assert not {"src", "srcset", "data", "action", "poster"} & set(attrs), (tag, attrs)
            assert not str(attrs.get("href", "#")).startswith(("http", "//"))
            assert tag not in ("link", "iframe", "object", "embed", "base", "img")
        policy = next(attrs["content"] for attrs, _ in self.all("meta") if "http-equiv" in attrs)
        assert policy.startswith("default-src 'none'; script-src 'sha256-")
        assert "unsafe-inline" not in policy.split(";")[1]
        assert "unsafe-eval" not in policy


def chromium_opens(program, folder, text, *flags):
    """Open a page in Chromium; return its document and what was said on the console."""
    path = folder / "page.html"
    path.write_text(text, encoding="utf-8")
    done = subprocess.run(
        [
            program,
            *("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"),
            f"--user-data-dir={folder / 'profile'}",
            *("--virtual-time-budget=20000", "--enable-logging=stderr", "--v=0"),
            # High enough that every figure is near.
            *("--window-size=1200,30000", *flags, path.as_uri()),
        ],
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=True,
    )
    return done.stdout, re.findall(r".*CONSOLE.*", done.stderr)


def check_drawn(program, folder, text, n_figures):
    """Check that a browser draws all figures, without an error and without running names."""
    document, console = chromium_opens(program, folder, text, "--dump-dom")
    assert 'data-ready="yes"' in document
    assert console == []
    assert "data-pwned" not in document
    assert document.count('data-drawn="yes"') == n_figures
    return document
