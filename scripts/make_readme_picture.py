"""Draw the picture of the README, `docs/images/demo.png`: the figure of `docs/index.md`.

It needs, besides ``wefe``, the package `kaleido`, or else Chromium or Chrome on the path::

    python scripts/make_readme_picture.py

The numbers are the same on every machine; the bytes depend on fonts and browser.
"""

import argparse
import doctest
import importlib.util
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import plotly.graph_objects as go

ROOT = Path(__file__).resolve().parents[1]
PAGE, PICTURE = ROOT / "docs/index.md", ROOT / "docs/images/demo.png"
WIDTH, HEIGHT, SCALE = 1000, 480, 1.2
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def draw() -> go.Figure:
    """Run the code of the landing page and return its figure."""
    names: dict[str, Any] = {}
    examples = doctest.DocTestParser().get_doctest(
        PAGE.read_text("utf-8"), names, PAGE.name, str(PAGE), 0
    )
    failed, _ = doctest.DocTestRunner().run(examples, clear_globs=False)
    if failed:
        raise SystemExit(f"{PAGE.name}: {failed} examples failed; see above.")
    return examples.globs["figure"].update_layout(
        width=WIDTH, height=HEIGHT, font={"size": 15}, margin={"l": 20, "t": 20, "b": 20}
    )


def write_png(figure: go.Figure, path: Path) -> None:
    """Write a figure as a picture, with kaleido or with a browser without a window."""
    if importlib.util.find_spec("kaleido"):
        figure.write_image(path, width=WIDTH, height=HEIGHT, scale=SCALE)
        return
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        raise SystemExit(
            f"a picture needs the package kaleido, or one of {', '.join(BROWSERS)} on the path."
        )
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "figure.html"
        body = figure.to_html(full_html=False, include_plotlyjs=True, config={"staticPlot": True})
        page.write_text(f'<meta charset="utf-8"><body style="margin:0">{body}', encoding="utf-8")
        command = [
            browser,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            f"--window-size={WIDTH},{HEIGHT}",
            f"--force-device-scale-factor={SCALE}",
            "--virtual-time-budget=10000",
            f"--screenshot={path.resolve()}",
            page.as_uri(),
        ]
        subprocess.run(command, check=True, capture_output=True, timeout=120)


def main() -> None:
    """Write the picture."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=PICTURE)
    path = parser.parse_args().out
    path.parent.mkdir(parents=True, exist_ok=True)
    write_png(draw(), path)
    print(f"{path.name}: {path.stat().st_size / 1024:.0f} KB")


if __name__ == "__main__":
    main()
