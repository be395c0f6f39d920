"""Without the library of an integration, the error names what to install."""

import importlib
import sys

import pytest


@pytest.mark.parametrize(
    ("library", "extra"),
    [("mteb", "mteb"), ("sentence_transformers", "transformers"), ("mlflow", "mlflow")],
)
def test_without_the_library_the_error_names_the_extra(library, extra, monkeypatch, results):
    monkeypatch.delitem(sys.modules, f"wefe.integrations.{library}", raising=False)
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ImportError, match=rf'pip install "wefe\[{extra}\]"'):
        importlib.import_module(f"wefe.integrations.{library}").log_results(results)
