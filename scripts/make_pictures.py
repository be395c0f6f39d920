"""Draw the pictures that are kept in the repository: README and thumbnails of the gallery.

It needs, besides ``wefe``, the package `kaleido`, or else Chromium or Chrome on the path::

    python scripts/make_pictures.py

The numbers are the same on every machine; the bytes depend on fonts and browser.
"""

import argparse
import doctest
import importlib.util
import runpy
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
import plotly.io

ROOT = Path(__file__).resolve().parents[1]
PAGE, PICTURE = ROOT / "docs/index.md", ROOT / "docs/images/demo.png"
GALLERY = ROOT / "docs/_gallery"
WIDTH, HEIGHT, SCALE = 1000, 480, 1.2
THUMBNAIL_WIDTH, THUMBNAIL_HEIGHT, THUMBNAIL_SCALE = 760, 532, 0.5
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def draw_readme() -> go.Figure:
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


def draw_thumbnail(script: Path) -> go.Figure:
    """Run a script of the gallery and return its figure."""
    figure = runpy.run_path(str(script))["figure"]
    height = max(THUMBNAIL_HEIGHT, figure.layout.height or 0)
    return figure.update_layout(width=THUMBNAIL_WIDTH, height=height)


def write_png(figure: go.Figure, path: Path, scale: float) -> None:
    """Write a figure as a picture, with kaleido or with a browser without a window."""
    width, height = figure.layout.width, figure.layout.height
    if importlib.util.find_spec("kaleido"):
        figure.write_image(path, width=width, height=height, scale=scale)
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
            f"--window-size={width},{height}",
            f"--force-device-scale-factor={scale}",
            "--virtual-time-budget=10000",
            f"--screenshot={path.resolve()}",
            page.as_uri(),
        ]
        subprocess.run(command, check=True, capture_output=True, timeout=120)


def main() -> None:
    """Write the pictures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pictures", nargs="*", help="`demo`, or names of scripts; by default all")
    names = parser.parse_args().pictures
    plotly.io.renderers.default = ""  # scripts show their figure, here nobody looks
    scripts = {script.stem: script for script in sorted(GALLERY.glob("*.py"))}
    for name in names or [PICTURE.stem, *scripts]:
        if name == PICTURE.stem:
            path = PICTURE
            write_png(draw_readme(), path, SCALE)
        else:
            path = scripts[name].with_suffix(".png")
            write_png(draw_thumbnail(scripts[name]), path, THUMBNAIL_SCALE)
        print(f"{path.name}: {path.stat().st_size / 1024:.0f} KB")


if __name__ == "__main__":
    main()
