"""What `wefe measure` and studies ask of a metric, unless they are told otherwise.

The functions of the package have the defaults of the published ones. A report has no use for a
score that is random, or for a p-value of random splits where the exact one can be had.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

logger = logging.getLogger(__name__)


def usual_params(
    metric: str,
    own: Mapping[str, Any],
    random_state: int = 0,
    p_value_test_type: str = "right-sided",
) -> dict[str, Any]:
    """Return parameters of `run_query` that go before those of the user.

    Parameters
    ----------
    metric : str
        Its name, as `wefe measure --metric` takes it: 'weat-es' is the effect size of WEAT.
    own : mapping
        The user's parameters.
    random_state : int, default=0
        Seed of what is random.
    p_value_test_type : str, default='right-sided'
        Side of the permutation test.

    Examples
    --------
    >>> usual_params("rnsb", {"n_iterations": 100})
    {'holdout': True, 'random_state': 0}
    """
    if metric in ("weat", "weat-es", "sc-weat"):
        own_of_weat = {} if metric == "sc-weat" else {"return_effect_size": metric == "weat-es"}
        return {
            **own_of_weat,
            "calculate_p_value": True,
            "p_value_method": "exact",
            "p_value_test_type": p_value_test_type,
            "random_state": random_state,  # for sets so large that random splits are drawn
        }
    if metric == "seat":
        return {
            "calculate_p_value": True,
            "p_value_test_type": p_value_test_type,
            "random_state": random_state,
        }
    if metric == "rnsb":
        # Of one training, a part of the words left out at random would only be noise.
        return {"holdout": own.get("n_iterations", 1) != 1, "random_state": random_state}
    return {"random_state": random_state} if metric == "ceat" else {}


def unpaired_params(
    metric: str, own: Mapping[str, Any], queries: str, paired: bool | None
) -> dict[str, Any]:
    """Say so if a metric pairs target words that are no pairs, and return what helps.

    Parameters
    ----------
    metric : str
        Its name.
    own : mapping
        The user's parameters.
    queries : str
        What messages call the queries.
    paired : bool or None
        Whether word i of each target set belong together; None if nobody knows.
    """
    if metric not in ("ripa", "direct-bias", "eqt") or paired is not False:
        return {}
    helps = metric == "direct-bias" and "direction" not in own
    logger.warning(
        "%s pairs target words by position, and those of %r are no pairs%s",
        metric,
        queries,
        "; the difference of their means is taken instead"
        if helps
        else ": its scores mean nothing here",
    )
    return {"direction": "means"} if helps else {}
