"""Make the picture of the README, `docs/images/demo.png`; the site's build makes all other figures.

It shows the packaged vectors. It needs, besides ``wefe``, a way from figure to picture: the package
`kaleido`, or else Chromium or Chrome on the path::

    python scripts/make_readme_picture.py

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

from wefe import WordEmbeddingModel, load_test_model
from wefe.datasets import load_weat_queries
from wefe.plotting import plot_queries_results
from wefe.running import run_queries

PICTURE = Path(__file__).resolve().parents[1] / "docs/images/demo.png"
WIDTH, HEIGHT, SCALE = 1000, 640, 1.2
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
N_CONTROLS = 100


def draw() -> go.Figure:
    """Draw WEAT effect sizes of the packaged vectors, of a part of them, and of a control.

    In a control the vectors are dealt out to the words at random, which keeps everything but the
    meaning. Of 100 controls the median one is shown, by the mean distance from 0.
    """
    packaged = load_test_model()
    words, vectors = list(packaged.vocab), packaged.vectors
    queries, params = load_weat_queries(), {"return_effect_size": True}

    def control(seed: int) -> WordEmbeddingModel:
        shuffled = np.random.default_rng(seed).permutation(vectors)
        return WordEmbeddingModel.from_arrays(words, shuffled, "control: words shuffled")

    distances = [
        run_queries("weat", queries, [control(seed)], metric_params=params).abs().to_numpy().mean()
        for seed in range(N_CONTROLS)
    ]
    typical = int(np.argsort(distances)[N_CONTROLS // 2])
    models = [
        WordEmbeddingModel.from_arrays(words, vectors, "minilm, 256 dimensions"),
        WordEmbeddingModel.from_arrays(words, vectors[:, :16], "minilm, 16 dimensions"),
        control(typical),
    ]
    figure = plot_queries_results(run_queries("weat", queries, models, metric_params=params))
    title = "WEAT effect sizes: the ten tests of Caliskan et al. (2017)"
    title = figure.layout.title.text.replace("WEAT-ES scores", title)
    # With letters that can still be read when a page shows it at two thirds.
    figure.update_layout(width=WIDTH, height=HEIGHT, title_text=title)
    green, grey = figure.data[-1].marker.color, "#999999"
    figure.data[-1].marker.color = grey
    # The dot of a bar that is too short to be seen.
    figure.update_annotations({"font.color": grey}, selector={"font.color": green})
    low, middle, high = np.quantile(distances, [0.05, 0.5, 0.95])
    print(
        f"control: seed {typical}, mean distance from 0 {distances[typical]:.2f}; of {N_CONTROLS}: "
        f"median {middle:.2f}, 90 of 100 from {low:.2f} to {high:.2f}"
    )
    return figure


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
