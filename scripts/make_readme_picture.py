"""Make `docs/images/demo.png`, the picture in the README: WEAT effect sizes of three models.

The packaged vectors; the same cut to their first 16 dimensions; and a control, the packaged
vectors dealt out to the words at random, which keeps everything but the meaning. It needs, besides
wefe, a way from figure to picture: the package `kaleido`, or else Chromium or Chrome on the path::

    python scripts/make_readme_picture.py
    python scripts/make_readme_picture.py --output picture.png

The numbers are the same on every machine; the bytes depend on fonts and browser.
"""

import argparse
import importlib.util
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import plotly.graph_objects as go

from wefe import load_test_model
from wefe.datasets import load_weat_queries
from wefe.models import WordEmbeddingModel
from wefe.plotting import plot_queries_results
from wefe.running import run_queries

PICTURE = Path(__file__).resolve().parents[1] / "docs/images/demo.png"
# 1200 pixels wide, with letters that can still be read when a page shows it at two thirds.
WIDTH, HEIGHT, SCALE = 1000, 640, 1.2
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def make_figure() -> go.Figure:
    """Run the ten tests of WEAT's paper on the three models and plot them."""
    packaged = load_test_model()
    words, vectors = list(packaged.vocab), packaged.vectors
    shuffled = np.random.default_rng(0).permutation(vectors)
    models = [
        WordEmbeddingModel.from_arrays(words, vectors, "minilm, 256 dimensions"),
        WordEmbeddingModel.from_arrays(words, vectors[:, :16], "minilm, 16 dimensions"),
        WordEmbeddingModel.from_arrays(words, shuffled, "control: words shuffled"),
    ]
    results = run_queries(
        "weat",
        load_weat_queries(),
        models,
        metric_params={"return_effect_size": True},
    )
    figure = plot_queries_results(results)
    title = "WEAT effect sizes: the ten tests of Caliskan et al. (2017)"
    title = figure.layout.title.text.replace("WEAT-ES scores", title)
    figure.update_layout(width=WIDTH, height=HEIGHT, title_text=title)
    green, grey = figure.data[-1].marker.color, "#999999"
    figure.data[-1].marker.color = grey
    # The dot of a bar that is too short to be seen.
    figure.update_annotations({"font.color": grey}, selector={"font.color": green})
    return figure


def write_png(figure: go.Figure, path: Path) -> None:
    """Write a figure as a picture, with kaleido or with a browser without a window."""
    path.parent.mkdir(parents=True, exist_ok=True)
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
    parser.add_argument("--output", type=Path, default=PICTURE)
    path = parser.parse_args().output
    write_png(make_figure(), path)
    print(f"{path}: {path.stat().st_size / 1024:.0f} KB")


if __name__ == "__main__":
    main()
