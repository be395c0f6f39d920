"""What pytest loads when it starts: nothing else of wefe is imported before a test asks for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


@pytest.fixture(name="assert_bias", scope="session")
def _assert_bias() -> Callable[..., Any]:
    """Return `wefe.integrations.pytest.assert_bias`: fails if a bias is not within limits."""
    from wefe.integrations.pytest import assert_bias

    return assert_bias
