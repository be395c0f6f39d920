"""Which formal requirements a metric meets: magnitude-comparable, unbiased-trustworthy."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from wefe._checks import as_seed, check_bool, check_choice, check_positive_int
from wefe._plain import Facts
from wefe.audit import _search
from wefe.audit._theorems import (
    Design,
    IndividualBias,
    Property,
    Side,
    Theorem,
    attainable,
    groups_of,
    theorems_of,
)
from wefe.metrics._base import BaseMetric, check_declared, result_of
from wefe.metrics._geometry import Vectors
from wefe.metrics._registry import as_metric, list_metrics
from wefe.models._word_embedding_model import WordEmbeddingModel
from wefe.query import Query

if TYPE_CHECKING:
    import pandas as pd

_SIGNS = {True: "✓", False: "x", None: "?"}
_WORDS = {True: "yes", False: "no", None: "open"}


@dataclass(frozen=True, eq=False, repr=False)
class Counterexample(Facts):
    """Vectors that show that a metric lacks a property; you can evaluate them again.

    Attributes
    ----------
    property : {'comparable', 'trustworthy', 'no_false_alarm'}
        What is refuted. 'trustworthy': in one model, a word is clearly biased and the score is
        b_0. 'no_false_alarm': in one model, no word is biased and the score is not b_0, or
        undefined. 'comparable': two models with different groups; the score of the first is beyond
        what any words can reach with the groups of the second one.
    metric : BaseMetric
        The metric.
    params : dict
        What its `run_query` is called with.
    query : Query
        What all models are asked.
    vectors : tuple of dict
        Per model, word -> vector of shape (dim,).
    scores : tuple of float
        Per model, the score; nan if it is undefined.
    biases : tuple of dict
        Per model, neutral word -> its individual bias: the largest difference of its mean cosines
        with two groups, in [0, 2]. For two groups that is ``abs(s(w, A, B))``.
    b_0 : float
        The score that means that no bias was measured.
    how : str
        How the vectors were made or found.
    side : {'maximum', 'minimum'} or None
        Of a counterexample to comparability: which extreme differs.
    extremes : tuple of float or None
        Of a counterexample to comparability: that extreme for the groups of each model, in closed
        form if `proven`, else the best of a long search.
    proven : bool
        False if it rests on a search: evidence that the second model reaches no more, not a proof.

    Examples
    --------
    >>> from wefe.audit import check_requirements
    >>> example = check_requirements("weat").counterexamples["trustworthy"]
    >>> example
    <Counterexample: WEAT is not trustworthy: score 0 though a word has a bias of 1 (orthogonal
    groups; words as in theorem 3)>
    >>> example.biases[0]
    {'w0_0': 1.0, 'w0_1': 1.0, 'w1_0': 0.71, 'w1_1': 0.71}
    >>> example.evaluate()
    [0.0]
    """

    property: Property
    metric: BaseMetric
    params: Mapping[str, Any]
    query: Query
    vectors: tuple[dict[str, Vectors], ...]
    scores: tuple[float, ...]
    biases: tuple[dict[str, float], ...]
    b_0: float
    how: str
    side: str | None = None
    extremes: tuple[float, float] | None = None
    proven: bool = True

    def models(self) -> list[WordEmbeddingModel]:
        """Return the models, rebuilt from the vectors.

        Returns
        -------
        list of WordEmbeddingModel
            One for each entry of `vectors`.
        """
        return [
            WordEmbeddingModel.from_arrays(
                list(vectors), np.array(list(vectors.values())), name=f"Counterexample {i + 1}"
            )
            for i, vectors in enumerate(self.vectors)
        ]

    def evaluate(self, metric: BaseMetric | None = None) -> list[float]:
        """Compute the scores from the vectors: with the metric, or another with its parameters.

        Parameters
        ----------
        metric : BaseMetric, optional
            Another metric that takes `query` and `params`, such as a changed version of it; by
            default the metric that is refuted.

        Returns
        -------
        list of float
            One score per model. Where the stored score is undefined, an error of the metric is nan,
            too.
        """
        scores = []
        for model, stored in zip(self.models(), self.scores, strict=True):
            try:
                result = result_of(metric or self.metric, self.query, model, **self.params)
                scores.append(float(result["result"]))
            except _search.UNDEFINED:
                if not math.isnan(stored):
                    raise
                scores.append(math.nan)
        return scores

    def to_frame(self) -> pd.DataFrame:
        """Return one row per model and word.

        Returns
        -------
        DataFrame
            'model' (from 1), 'set', 'word', 'bias' (NaN for words of the groups), and the vector in
            columns 'x0', 'x1' and so on.
        """
        import pandas as pd

        query, rows = self.query, []
        names = [*query.target_sets_names, *query.attribute_sets_names]
        set_of = dict(zip(names, [*query.target_sets, *query.attribute_sets], strict=True))
        for i, (vectors, biases) in enumerate(zip(self.vectors, self.biases, strict=True), start=1):
            for name, word in ((name, word) for name, words in set_of.items() for word in words):
                row = {"model": i, "set": name, "word": word, "bias": biases.get(word, math.nan)}
                rows.append(row | {f"x{axis}": x for axis, x in enumerate(vectors[word])})
        return pd.DataFrame(rows)

    def _plain(self) -> dict[str, Any]:
        return super()._plain() | {
            "metric": type(self.metric).__name__,
            "params": {name: _as_text(value) for name, value in self.params.items()},
            "query": self.query.dict(),
        }

    def __str__(self) -> str:
        if self.extremes is not None:
            basis = "in closed form" if self.proven else "the best of a long search, not a proof"
            return (
                f"the {self.side} is {self.extremes[0]:.3g} for one model's groups and "
                f"{self.extremes[1]:.3g} for another's ({basis})"
            )
        score = "undefined" if math.isnan(self.scores[0]) else f"{self.scores[0] + 0.0:.3g}"
        word = "no word is biased"
        if self.property == "trustworthy":
            word = f"a word has a bias of {max(self.biases[0].values()):.3g}"
        return f"score {score} though {word} ({self.how})"

    def __repr__(self) -> str:
        return f"<Counterexample: {type(self.metric).__name__} is not {self.property}: {self}>"


@dataclass(frozen=True, eq=False, repr=False)
class Requirements(Facts, Design):
    """Which requirements a metric meets, and why: one row of table 1.

    Verdicts are True (proven), False (proven, or a counterexample is at hand) or None (no
    counterexample was found, which proves nothing).

    Attributes
    ----------
    metric : str
        Name of the score, with the parameters that were asked for.
    comparable : bool or None
        Magnitude-comparable (definition 3.3): for a given number of neutral words, the largest
        and smallest score that they can have do not depend on the groups.
    trustworthy : bool or None
        Unbiased-trustworthy (definition 3.4): the score is b_0 only if no word is biased.
    no_false_alarm : bool or None
        The other direction: the score is b_0, and defined, whenever no word is biased.
    b_0 : float
        The score that means that no bias was measured.
    theorems : dict
        Property -> theorem, for what is proven.
    counterexamples : dict
        Property -> counterexample, for what is refuted.
    groups : {'targets', 'attributes'}
        Which sets of a query are the groups.
    n_groups, group_size, n_targets, dim : int
        Number of groups, of words in each, of neutral words, and of dimensions in the search.
    n_trials : int
        How long the search went on; see :func:`check_requirements`.
    n_scores, n_undefined : int
        Scores that were computed, and how many of them were undefined (and left out).
    score_range : tuple of float or None
        Smallest and largest score that was computed, if any.
    errors : dict
        Name of an exception that the metric raised in the search, where it counts as undefined ->
        its first message.

    Examples
    --------
    >>> from wefe.audit import check_requirements
    >>> checked = check_requirements("weat")
    >>> checked.verdicts
    {'comparable': True, 'trustworthy': False, 'no_false_alarm': False}
    >>> print(checked.why["trustworthy"])
    biases cancel in the means of X and Y
    """

    metric: str
    comparable: bool | None
    trustworthy: bool | None
    no_false_alarm: bool | None
    b_0: float
    theorems: Mapping[Property, Theorem]
    counterexamples: Mapping[Property, Counterexample]
    n_trials: int
    n_scores: int
    n_undefined: int = 0
    score_range: tuple[float, float] | None = None
    errors: Mapping[str, str] = field(default_factory=dict)

    @property
    def verdicts(self) -> dict[Property, bool | None]:
        """The three verdicts by property: True, False or None, as the attributes."""
        return {name: getattr(self, name) for name in get_args(Property)}

    @property
    def evidence(self) -> dict[Property, str]:
        """Evidence for each verdict: the theorem, the counterexample, or the search."""
        of_kinds = self.theorems, self.counterexamples
        return {
            name: " Counterexample: ".join(str(each[name]) for each in of_kinds if name in each)
            or self._search_in_words
            for name in self.verdicts
        }

    @property
    def why(self) -> dict[Property, str]:
        """Short reason for each verdict."""
        proven = {name: theorem.short for name, theorem in self.theorems.items()}
        return {**self.evidence, **proven}

    @property
    def _search_in_words(self) -> str:
        notes = [f"no counterexample found in {self.n_trials} trials"]
        if self.n_undefined == self.n_scores:
            notes = [f"the score was undefined for all {self.n_scores} sets of vectors"]
        low, high = self.score_range or (0.0, 1.0)
        if high - low <= 1e-12 * max(abs(low), abs(high)):
            n = self.n_scores - self.n_undefined
            notes.append(
                f"the score never changed ({low:.3g} for {n} sets of vectors): it measures nothing"
            )
        if self.errors:
            raised = "; ".join(f"{name}: {message}" for name, message in self.errors.items())
            notes.append(f"{self.n_undefined} of {self.n_scores} scores were undefined ({raised})")
        return "; ".join(notes)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per property.

        Returns
        -------
        DataFrame
            'metric', 'property', 'verdict' (✓: yes; x: no; ?: open), 'why' and 'evidence'.
        """
        import pandas as pd

        return pd.DataFrame(
            {
                "metric": self.metric,
                "property": list(self.verdicts),
                "verdict": [_SIGNS[verdict] for verdict in self.verdicts.values()],
                "why": list(self.why.values()),
                "evidence": list(self.evidence.values()),
            }
        )

    def __repr__(self) -> str:
        why = self.why
        lines = [
            f"\n- {name.replace('_', ' ')}: {_WORDS[verdict]} ({why[name]})"
            for name, verdict in self.verdicts.items()
        ]
        head = f"<Requirements of {self.metric}, the groups being its {self.groups[:-1]} sets"
        return f"{head}{''.join(lines)}>"


def check_requirements(
    metric: BaseMetric | type[BaseMetric] | str,
    *,
    metric_params: Mapping[str, Any] | None = None,
    groups: Side | None = None,
    n_groups: int | None = None,
    group_size: int | None = None,
    n_targets: int | None = None,
    dim: int | None = None,
    n_trials: int = 100,
    theorems: bool = True,
    random_state: int | np.random.Generator | None = 0,
) -> Requirements:
    """Find out whether a metric is magnitude-comparable and unbiased-trustworthy.

    Groups are word sets that stand for people; neutral words are those whose bias is measured. A
    word is biased if its mean cosines with two groups differ (definition 3.1). For the built-in
    metrics theorems give the verdicts; for others a search for counterexamples does.

    Parameters
    ----------
    metric : metric class, instance or name
        Also one of your own, with a `run_query` of its own if need be. It must not be random.
    metric_params : mapping, optional
        Parameters of its `run_query`. Without any, the same as for silhouettes: the effect size
        for WEAT (``{"return_effect_size": False}`` is the sum), no hold-out for RNSB.
    groups : {'targets', 'attributes'}, optional
        Which sets of a query are the groups; the others hold the neutral words. By default the
        attribute sets if the metric takes two or more of them, otherwise the target sets.
    n_groups : int, optional
        Number of groups; two by default, if the metric leaves the choice.
    group_size : int, optional
        Words per group in the search, at least 2. By default 2, and more than 'n_components' for
        direct bias.
    n_targets : int, optional
        Number of neutral words, which are spread evenly over the sets for them. 4 by default, 1
        for :class:`IndividualBias`.
    dim : int, optional
        Dimensions of the vectors in the search, at least one more than groups. By default two more
        than groups, and than 'n_components'.
    n_trials : int, default=100
        Random groups and paths per property after all constructions; also random words per set of
        groups when extremes are searched for.
    theorems : bool, default=True
        False searches only, as for a metric of which nothing is known.
    random_state : int, Generator or None, default=0
        Makes the search reproducible.

    Returns
    -------
    Requirements
        Verdicts with their reasons, and a :class:`Counterexample` for each that is negative: for
        all that the search refutes; for what theorems refute, if one of these sizes was found.

    Raises
    ------
    TypeError
        If `metric` is no metric.
    ValueError
        If the metric is random, looks at a whole vocabulary, or takes no query of that shape; for
        RND and RIPA with ``normalize=False``, as everything is about unit vectors.

    Notes
    -----
    A score counts as b_0 if it is within 1e-9 of it and not just small: near a zero, a step of 1e-5
    makes it more than twice as large. A word counts as clearly biased if its mean cosines differ by
    0.1 or more. The search tries constructed groups and words (those of theorems 3 and 6 among
    them); then paths through random words, on which a score that changes sides crosses b_0; then it
    minimises abs(score - b_0) over words of which one stays biased. For comparability it optimises
    the words for several groups, and compares the extremes.

    Undefined scores are left out, and counted; so are vectors for which a metric that answered
    others raises a ValueError, ArithmeticError or LinAlgError.

    References
    ----------
    Schröder, Schulz, Hinder and Hammer, "Semantic Properties of Cosine Based Bias Scores for Word
    Embeddings", ICPRAM 2024, section 3, and table 1.

    Examples
    --------
    >>> from wefe.audit import check_requirements
    >>> from wefe.metrics import DirectBias
    >>> checked = check_requirements(DirectBias)
    >>> checked
    <Requirements of Direct Bias, the groups being its target sets
    - comparable: yes ([0, 1] in every model)
    - trustworthy: no (the principal component may be across to m_1 - m_2)
    - no false alarm: no (the principal component may be across to m_1 - m_2)>
    """
    instance = as_metric(metric)
    params = {**instance.subset_params, **(metric_params or {})}
    _check_metric(instance, params)
    check_bool("theorems", theorems)
    design = _design(instance, params, groups, n_groups, group_size, n_targets, dim)
    check_positive_int("n_trials", n_trials)
    seeds = np.random.SeedSequence(as_seed(random_state)).spawn(4)
    first, *streams = [np.random.default_rng(seed) for seed in seeds]
    probe = _search.Probe(instance, params, design)
    known = theorems_of(instance, params, design) if theorems else {}
    _search.check_repeatable(probe, first)
    verdicts: dict[Any, bool | None] = {}
    counterexamples: dict[Property, Counterexample] = {}
    for name, stream in zip(get_args(Property), streams, strict=True):
        verdicts[name] = known[name].verdict if name in known else None
        if not verdicts[name]:
            example = _counterexample(name, probe, n_trials, stream, proven=name in known)
            if example is not None:
                counterexamples[name], verdicts[name] = example, False
    numbers: dict[str, Any] = {**asdict(design), **verdicts}
    return Requirements(
        **numbers,
        metric=_label(instance, probe, metric_params or {}),
        b_0=probe.b_0,
        theorems=known,
        counterexamples=counterexamples,
        n_trials=n_trials,
        n_scores=probe.n_scores,
        n_undefined=probe.n_undefined,
        score_range=(probe.lowest, probe.highest) if probe.lowest <= probe.highest else None,
        errors=probe.errors,
    )


def _check_metric(metric: BaseMetric, params: Mapping[str, Any]) -> None:
    """Refuse metrics whose scores are not decided by unit vectors of the words of a query."""
    check_declared(type(metric))
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


def _design(
    metric: BaseMetric,
    params: Mapping[str, Any],
    groups: str | None,
    n_groups: int | None,
    group_size: int | None,
    n_targets: int | None,
    dim: int | None,
) -> Design:
    side: Any = check_choice("groups", groups or groups_of(metric), get_args(Side))
    position = get_args(Side).index(side)
    entry, least = metric.metric_template[position], metric.metric_template_minimum[position]
    default = max(2, least) if entry == "n" else entry
    number = check_positive_int("n_groups", default if n_groups is None else n_groups)
    if number < 2 or entry not in ("n", number):
        raise ValueError(
            f"{metric.metric_name} takes {entry} {side[:-1]} sets, so these cannot be {number} "
            "groups; there must be two or more. Choose another n_groups, or the other side by "
            "groups='targets' or 'attributes'."
        )
    components = params.get("n_components", 1)
    numbers = {
        "group_size": max(2, components + 1) if group_size is None else group_size,
        "n_targets": 4 - 3 * isinstance(metric, IndividualBias) if n_targets is None else n_targets,
        "dim": max(number, components) + 2 if dim is None else dim,
    }
    for name, least in (("group_size", 2), ("n_targets", 1), ("dim", number + 1)):
        if check_positive_int(name, numbers[name]) < least:
            raise ValueError(f"{name} must be at least {least} here; got {numbers[name]}.")
    return Design(side, number, **numbers)


def _counterexample(
    name: Property,
    probe: _search.Probe,
    n_trials: int,
    rng: np.random.Generator,
    *,
    proven: bool,
) -> Counterexample | None:
    more: dict[str, Any] = {}
    cases: list[_search.Case] = []
    if name == "comparable":

        def closed_form(groups: Vectors) -> tuple[float, float] | None:
            # Of built-in metrics only, and not when the search is to stand alone.
            return attainable(probe.metric, probe.params, groups, probe.sizes) if proven else None

        if different := _search.search_comparable(probe, n_trials, rng, closed_form):
            side, *cases, extremes, known = different
            more = {"side": side, "extremes": extremes, "proven": known}
    else:
        search = _search.search_trustworthy if name == "trustworthy" else _search.search_false_alarm
        cases = [case for case in [search(probe, n_trials, rng)] if case]
    if not cases:
        return None
    return Counterexample(
        property=name,
        metric=probe.metric,
        params=dict(probe.params),
        query=probe.query,
        vectors=tuple(probe.vectors(case.groups, case.words) for case in cases),
        scores=tuple(case.score for case in cases),
        biases=tuple(probe.biases(case.groups, case.words) for case in cases),
        b_0=probe.b_0,
        how=" against ".join(case.how for case in cases),
        **more,
    )


def _label(metric: BaseMetric, probe: _search.Probe, asked: Mapping[str, Any]) -> str:
    # The scale's own label tells the effect size from the sum.
    notes = [f"{k}={_as_text(v)!r}" for k, v in asked.items() if k != "return_effect_size"]
    if probe.design.n_groups > 2:
        notes.append(f"{probe.design.n_groups} groups")
    label = metric.scale(probe.query, **probe.params).label
    return f"{label} ({', '.join(notes)})" if notes else label


def requirements_table(
    metrics: Sequence[Any] | None = None, *, n_trials: int = 100, random_state: int | None = 0
) -> pd.DataFrame:
    """Make a table like table 1 of the paper, for all built-in metrics or for given ones.

    Parameters
    ----------
    metrics : sequence, optional
        Metrics, pairs (metric, parameters), or results of :func:`check_requirements`. By default
        the individual bias and all built-in metrics but those that look at a whole vocabulary, of
        WEAT, RND, SAME and SC-WEAT with the variants that differ.
    n_trials : int, default=100
        Length of the search, see :func:`check_requirements`.
    random_state : int or None, default=0
        Makes the search reproducible.

    Returns
    -------
    DataFrame
        'metric', 'comparable', 'trustworthy', 'no false alarm' (✓: proven; x: proven not to hold,
        or a counterexample is at hand; ?: open), and 'why', a reason for each.

    Raises
    ------
    TypeError
        If an entry of `metrics` is none of these.
    ValueError
        As :func:`check_requirements`.

    Examples
    --------
    >>> from wefe.audit import requirements_table
    >>> from wefe.metrics import SAME, WEAT
    >>> table = requirements_table([WEAT, SAME])
    >>> print(table[["metric", "comparable", "trustworthy"]].to_string(index=False))
     metric comparable trustworthy
    WEAT-ES          ✓           x
       SAME          ✓           ✓
    """
    import pandas as pd

    rows, asked = [], _built_in() if metrics is None else metrics
    for each in asked:
        checked = each
        if not isinstance(each, Requirements):
            metric, options = each if isinstance(each, tuple) else (each, {})
            more = options if metrics is None else {"metric_params": options}
            checked = check_requirements(
                metric, **more, n_trials=n_trials, random_state=random_state
            )
        signs = {name.replace("_", " "): _SIGNS[v] for name, v in checked.verdicts.items()}
        reasons = zip(signs.items(), checked.why.values(), strict=True)
        why = "; ".join(f"{sign} {name}: {reason}" for (name, sign), reason in reasons)
        rows.append({"metric": checked.metric, **signs, "why": why})
    return pd.DataFrame(rows)


def _built_in() -> Sequence[Any]:
    """Return metrics with options of `check_requirements`, WEAT first as in the paper."""
    variants: dict[str, list[dict[str, Any]]] = {
        "WEAT": [{"metric_params": {"return_effect_size": False}}, {}],
        "RND": [{}, {"metric_params": {"distance": "cos"}}],
        "SAME": [{}, {"n_groups": 3}],
        "SCWEAT": [{}, {"metric_params": {"reduce": "mean_abs"}}],
    }
    ours = [
        metric
        for metric in list_metrics()
        if metric.__module__.startswith("wefe.metrics.") and not metric.needs_vocabulary
    ]
    ours.sort(key=lambda metric: metric.__name__ != "WEAT")
    every: list[type[BaseMetric]] = [IndividualBias, *ours]
    return [(metric, more) for metric in every for more in variants.get(metric.__name__, [{}])]


def _as_text(value: Any) -> Any:
    return value if isinstance(value, bool | int | float | str | None) else repr(value)
