"""Which formal requirements a metric meets: magnitude-comparable, unbiased-trustworthy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
import pandas as pd

from wefe._checks import as_seed, check_bool, check_positive_int
from wefe.audit import _search
from wefe.audit._search import Counterexample
from wefe.audit._theorems import IndividualBias, Property, Side, Theorem, groups_of, theorems_of
from wefe.metrics._base import BaseMetric
from wefe.metrics._registry import MetricLike, as_metric, list_metrics

_SIGNS = {True: "✓", False: "x", None: "?"}
_WORDS = {True: "yes", False: "no", None: "open"}


@dataclass(frozen=True, eq=False, repr=False)
class Requirements:
    """Which requirements a metric meets, and why: one row of table 1 in the paper.

    Attributes
    ----------
    metric : str
        Name of the score, with its parameters.
    groups : {'targets', 'attributes'}
        Which sets of a query are the groups: the attribute sets if the metric has at least two,
        otherwise the target sets. The others contain the neutral words.
    b_0 : float
        The no-bias value.
    verdicts : dict
        By property: True (proven), False (proven, or there is a counterexample) or None (no
        counterexample found, which proves nothing).

        - 'comparable': magnitude-comparable (definition 3.3): for a given number of neutral words,
          the extremes of the score do not depend on the groups.
        - 'trustworthy': unbiased-trustworthy (definition 3.4): the score is b_0 only if no word is
          biased.
        - 'no_false_alarm', the converse: the score is defined and b_0 whenever no word is biased.
    theorems, counterexamples : dict
        Property -> theorem, for proven verdicts, or counterexample, for refuted properties.
    search : str
        How long the search was, and which scores were undefined.

    Examples
    --------
    >>> check_requirements("weat").verdicts
    {'comparable': True, 'trustworthy': False, 'no_false_alarm': False}
    """

    metric: str
    groups: Side
    b_0: float
    verdicts: Mapping[Property, bool | None]
    theorems: Mapping[Property, Theorem]
    counterexamples: Mapping[Property, Counterexample]
    search: str

    @property
    def why(self) -> dict[Property, str]:
        """Reason for each verdict: the theorem in short, the counterexample, or `search`."""
        found = {name: str(self.counterexamples.get(name, self.search)) for name in self.verdicts}
        return found | {name: theorem.short for name, theorem in self.theorems.items()}

    def __repr__(self) -> str:
        why = self.why
        lines = [
            f"\n- {name.replace('_', ' ')}: {_WORDS[verdict]} ({why[name]})"
            for name, verdict in self.verdicts.items()
        ]
        head = f"<Requirements of {self.metric}, the groups being its {self.groups[:-1]} sets"
        return f"{head}{''.join(lines)}>"


def check_requirements(
    metric: MetricLike,
    *,
    metric_params: Mapping[str, Any] | None = None,
    n_groups: int | None = None,
    n_trials: int = 100,
    theorems: bool = True,
    random_state: int | np.random.Generator | None = 0,
) -> Requirements:
    """Check whether a metric is magnitude-comparable and unbiased-trustworthy.

    Groups are word sets for groups of people. A neutral word, whose bias is measured, is biased if
    its mean cosines with two groups differ (Schröder et al., ICPRAM 2024, definition 3.1). Verdicts
    come from theorems for built-in metrics, for others from a search for counterexamples.

    Parameters
    ----------
    metric : metric class, instance or name
        A built-in or custom metric. It must be deterministic.
    metric_params : mapping, optional
        Parameters of its `run_query`. Default: as for silhouettes, that is, the effect size for
        WEAT (``{"return_effect_size": False}`` for the sum) and no hold-out for RNSB.
    n_groups : int, optional
        Number of groups; 2 by default if the metric leaves the choice.
    n_trials : int, default=100
        Number of random groups and paths per property, after all constructions; also of random
        words per set of groups in the search for extremes.
    theorems : bool, default=True
        False only searches, as for a custom metric.
    random_state : int, Generator or None, default=0
        Seed of the search.

    Returns
    -------
    Requirements
        Verdicts with reasons. There is a :class:`Counterexample` for everything that the search
        refutes. For what theorems refute there is one if it is found; comparability, whose search
        takes long, needs ``theorems=False``.

    Raises
    ------
    TypeError, ValueError
        If `metric` is not a metric, is random, uses a whole vocabulary, or accepts no query of that
        shape; also for RND and RIPA with ``normalize=False``, because results are about unit
        vectors.

    Notes
    -----
    A score counts as b_0 if it differs by at most 1e-9 and is not just small: near a zero, a step
    of 1e-5 makes it more than twice as large. A word counts as clearly biased if its mean cosines
    differ by at least 0.1. The search tries, in this order, constructed groups and words (including
    those of theorems 3 and 6), paths through random words on which the score crosses b_0, and
    minimisation of abs(score - b_0) with one word kept biased. For comparability, it optimises the
    words for several groups and compares the extremes. Undefined scores are left out; they include
    a ValueError, ArithmeticError or LinAlgError of a metric that answered other queries.

    Examples
    --------
    >>> check_requirements("weat").why["trustworthy"]
    'biases cancel in the means of X and Y'
    """
    instance = as_metric(metric)
    params = {**instance.subset_params, **(metric_params or {})}
    _check_metric(instance, params)
    check_bool("theorems", theorems)
    n_groups = _n_groups(instance, n_groups)
    check_positive_int("n_trials", n_trials)
    first, *streams = np.random.default_rng(as_seed(random_state)).spawn(4)
    probe = _search.Probe(instance, params, n_groups)
    known = theorems_of(instance, params, n_groups) if theorems else {}
    _search.check_repeatable(probe, first)
    verdicts: dict[Property, bool | None] = {}
    counterexamples: dict[Property, Counterexample] = {}
    searches = (_search.search_comparable, _search.search_trustworthy, _search.search_false_alarm)
    for name, search, stream in zip(get_args(Property), searches, streams, strict=True):
        verdicts[name] = known[name].verdict if name in known else None
        if verdicts[name] or (name == "comparable" and name in known):
            continue  # a long search would add nothing to the theorem
        if cases := search(probe, n_trials, stream):
            counterexamples[name], verdicts[name] = Counterexample(name, probe, cases), False
    label, told = _label(probe, metric_params or {}), _told(probe, n_trials)
    probe.errors.clear()  # they would keep alive all that the metric worked on
    return Requirements(label, probe.side, probe.b_0, verdicts, known, counterexamples, told)


def _told(probe: _search.Probe, n_trials: int) -> str:
    """Describe the search."""
    scores = np.array(probe.scores)
    defined = scores[~np.isnan(scores)]
    notes = [f"no counterexample found in {n_trials} trials"]
    if not len(defined):
        notes = [f"the score was undefined for all {len(scores)} sets of vectors"]
    elif np.ptp(defined) <= 1e-12 * np.abs(defined).max():
        value = f"{defined.min():.3g} for {len(defined)} sets of vectors"
        notes.append(f"the score never changed ({value}): it measures nothing")
    if probe.errors:
        errors = (f"{name}: {error}".partition("\n")[0] for name, error in probe.errors.items())
        n_undefined = len(scores) - len(defined)
        notes.append(f"{n_undefined} of {len(scores)} scores were undefined ({'; '.join(errors)})")
    return "; ".join(notes)


def _check_metric(metric: BaseMetric, params: Mapping[str, Any]) -> None:
    """Raise an error if scores depend on more than the unit vectors of a query's words."""
    why = ""
    if metric.encodes_texts:
        why = "measures texts that an encoder reads; its vectors are scored as WEAT does"
    elif metric.needs_vocabulary:
        why = "depends on words outside of its query, such as neighbours"
    elif metric.subset_params.get("normalize") and not params["normalize"]:
        why = "of raw vectors grows with their lengths, without bound. Leave out normalize=False"
    if why:
        raise ValueError(
            f"{metric.metric_short_name} {why}; requirements are defined for scores that depend "
            "only on the unit vectors of the query's words."
        )


def _n_groups(metric: BaseMetric, n_groups: int | None) -> int:
    side = groups_of(metric)
    position = get_args(Side).index(side)
    entry, least = metric.metric_template[position], metric.metric_template_minimum[position]
    if n_groups is None:
        n_groups = max(2, least) if entry == "n" else int(entry)
    if check_positive_int("n_groups", n_groups) < 2 or entry not in ("n", n_groups):
        raise ValueError(
            f"{metric.metric_name} takes {entry} {side[:-1]} sets, so these cannot be {n_groups} "
            "groups; there must be two or more. Choose another n_groups."
        )
    return n_groups


def _label(probe: _search.Probe, asked: Mapping[str, Any]) -> str:
    # The label of the scale distinguishes the effect size from the sum.
    notes = [f"{k}={v!r}" for k, v in asked.items() if k != "return_effect_size"]
    if probe.shape[0] > 2:
        notes.append(f"{probe.shape[0]} groups")
    label = probe.metric.scale(probe.query, **probe.params).label
    return f"{label} ({', '.join(notes)})" if notes else label


def requirements_table(metrics: Sequence[MetricLike | Requirements] | None = None) -> pd.DataFrame:
    """Return a table like table 1 of the paper, for all built-in or for given metrics.

    Parameters
    ----------
    metrics : sequence, optional
        Metrics, or results of :func:`check_requirements`. Default: the individual bias and all
        built-in metrics that do not use a whole vocabulary, with variants of WEAT, RND, SAME and
        SC-WEAT.

    Returns
    -------
    DataFrame
        'metric', 'comparable', 'trustworthy', 'no false alarm' (✓: proven; x: refuted by proof or
        counterexample; ?: open), and 'why', a reason for each.

    Examples
    --------
    >>> table = requirements_table(["weat", "same"])
    >>> print(table[["metric", "comparable", "trustworthy"]].to_string(index=False))
     metric comparable trustworthy
    WEAT-ES          ✓           x
       SAME          ✓           ✓
    """
    rows = []
    for each in _built_in() if metrics is None else metrics:
        checked = each if isinstance(each, Requirements) else check_requirements(each)
        signs = {name.replace("_", " "): _SIGNS[v] for name, v in checked.verdicts.items()}
        reasons = zip(signs.items(), checked.why.values(), strict=True)
        why = "; ".join(f"{sign} {name}: {reason}" for (name, sign), reason in reasons)
        rows.append({"metric": checked.metric, **signs, "why": why})
    return pd.DataFrame(rows)


def _built_in() -> Iterator[Requirements]:
    """Check the built-in metrics, WEAT first as in the paper."""
    variants: dict[str, list[dict[str, Any]]] = {
        "WEAT": [{"metric_params": {"return_effect_size": False}}, {}],
        "RND": [{}, {"metric_params": {"distance": "cos"}}],
        "SAME": [{}, {"n_groups": 3}],
        "SCWEAT": [{}, {"metric_params": {"reduce": "mean_abs"}}],
    }
    yield check_requirements(IndividualBias)
    for metric in sorted(list_metrics(), key=lambda metric: metric.__name__ != "WEAT"):
        if metric.__module__.startswith("wefe.metrics.") and not metric.needs_vocabulary:
            for options in variants.get(metric.__name__, [{}]):
                yield check_requirements(metric, **options)
