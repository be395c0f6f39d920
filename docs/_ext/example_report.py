"""A report as `wefe report` writes it, made by the build and shown in a page.

It is of three models: the packaged vectors, a short version of them, and a control whose vectors
were dealt out to other words.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.util.typing import ExtensionMetadata

from wefe import load_test_model, report
from wefe.study import Study

STUDY = {
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
    "mitigations": [{"method": "hard-debias", "criterion": "gender", "models": ["minilm-words"]}],
}
FILE = "example_report.html"


class ExampleReport(SphinxDirective):
    """The report in a frame, and a link to it."""

    def run(self) -> list[nodes.Node]:
        """Return both."""
        up = "../" * self.env.docname.count("/")
        html = (
            f'<iframe class="example-report" src="{up}{FILE}" title="An example of a report" '
            f'loading="lazy"></iframe><p><a href="{up}{FILE}">Open the report</a></p>'
        )
        return [nodes.raw("", html, format="html")]


def write_report(app: Sphinx, error: Exception | None) -> None:
    """Run the study and write its report beside the pages."""
    if error is not None or app.builder.format != "html":
        return
    packaged = load_test_model()
    words = list(packaged.vocab)
    shuffled = np.random.default_rng(0).permutation(packaged.vectors)
    with tempfile.TemporaryDirectory() as folder:
        for name, vectors in ("short", packaged.vectors[:, :16].copy()), ("control", shuffled):
            np.savez(Path(folder, f"{name}.npz"), vocabulary=words, vectors=vectors)
        results = Study(STUDY, folder).run(":memory:")
        if not results.is_complete:
            raise RuntimeError(f"the example report: {results.failures()}")
        report.write_report(results, app.outdir / FILE)


def setup(app: Sphinx) -> ExtensionMetadata:
    """Make the directive known to Sphinx."""
    app.add_directive("example-report", ExampleReport)
    app.connect("build-finished", write_report)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
