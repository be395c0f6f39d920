"""The pytest plugin; nothing else of wefe is imported until a test uses its fixture."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


@pytest.fixture(name="assert_bias", scope="session")
def _assert_bias() -> Callable[..., Any]:
    """The function `assert_bias`: fails a test if the bias of a model exceeds your limits."""
    from wefe.integrations.pytest import assert_bias

    return assert_bias
