"""Reports of many models: time of the processor, size of the page, and how fast a browser is.

    python benchmarks/bench_report.py
    python benchmarks/bench_report.py --chromium chromium

25 queries and five metrics per model; no study is run. With a Chromium, the page is opened and its
first table sorted by every column.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from _table import parser, report

from wefe.report._render import to_html

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "helpers"))
from made_results import many

SORT = """
addEventListener("load", () => setTimeout(() => {
  const opened = performance.now();
  const start = performance.now();
  const buttons = document.querySelectorAll("#rankings table thead button");
  buttons.forEach((button) => { button.click(); document.body.offsetHeight; });
  const sorted = (performance.now() - start) / buttons.length;
  document.documentElement.dataset.times = `${opened.toFixed(0)} ${sorted.toFixed(0)}`;
}));
"""


def opened(program: str, page: str) -> str:
    """Return after how many ms a browser has opened a page, and what sorting takes it."""
    page = re.sub(r'<meta http-equiv="Content-Security-Policy".*?>', "", page)
    page = page.replace("</body>", f"<script>{SORT}</script></body>")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "page.html")
        path.write_text(page, encoding="utf-8")
        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--timeout=20000"]
        call = [program, *flags, f"--user-data-dir={folder}/profile", "--dump-dom", path.as_uri()]
        document = subprocess.run(call, capture_output=True, encoding="utf-8", check=True).stdout
    found = re.search(r'data-times="(\d+) (\d+)"', document)
    return f"opened in {found[1]} ms, a table sorted in {found[2]} ms" if found else "no times"


def main() -> None:
    asked = parser(__doc__)
    asked.add_argument("--chromium", metavar="PROGRAM", help="opens and sorts the pages")
    given = asked.parse_args()
    to_html(many(2))  # what is imported once
    for n_models in (10, 60) if given.quick else (10, 40, 110, 500, 1000):
        results = many(n_models)
        start = time.process_time()
        page = to_html(results)
        seconds = time.process_time() - start
        note = f"{len(page.encode()) / 1e6:.1f} MB"
        if given.chromium:
            note += f"; {opened(given.chromium, page)}"
        report(f"report of {n_models} models x 25 queries x 5 metrics", seconds, note=note)
        print(f"{n_models:5} models  {seconds:6.2f} s  {note}", flush=True)


if __name__ == "__main__":
    main()
