"""Compare models before and after a mitigation: gain, cost and remaining bias."""

from __future__ import annotations

import copy
import inspect
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from wefe._checks import as_seed, check_choice, check_known, check_positive_int, logger, plain_name
from wefe._same_words import on_same_words
from wefe._visible import by_name, unique_labels
from wefe.datasets import Criterion
from wefe.debias._base import BaseDebias, as_criterion
from wefe.debias._evidence import (
    CommonWords,
    Row,
    as_table,
    bias_rows,
    check_quality,
    displacement_rows,
    neighbor_rows,
    quality_rows,
    residual_rows,
)
from wefe.embeddings import Lookup
from wefe.metrics._base import BaseMetric
from wefe.metrics._registry import MetricLike, as_metrics
from wefe.models._word_embedding_model import WordEmbeddingModel, check_model, check_models
from wefe.query import Query, check_queries

if TYPE_CHECKING:
    import pandas as pd


def list_debias_methods() -> list[type[BaseDebias]]:
    """Return every mitigation method of the package, in alphabetical order.

    Returns
    -------
    list of type
        Subclasses of :class:`BaseDebias`.

    Examples
    --------
    >>> [method.__name__ for method in list_debias_methods()][:2]
    ['DoubleHardDebias', 'HalfSiblingRegression']
    """
    import wefe.debias

    every = [getattr(wefe.debias, name) for name in dir(wefe.debias)]
    kinds = [kind for kind in every if isinstance(kind, type) and issubclass(kind, BaseDebias)]
    return [kind for kind in kinds if not inspect.isabstract(kind)]


def get_debias_method(name: str) -> type[BaseDebias]:
    """Return the mitigation method with a name.

    Parameters
    ----------
    name : str
        'HardDebias', or 'hard-debias' as on the command line; case and punctuation do not matter.

    Returns
    -------
    type
        A subclass of :class:`BaseDebias`.

    Examples
    --------
    >>> get_debias_method("LEACE")(svd_tol=0.02)
    LEACE(svd_tol=0.02)
    """
    known = {method.__name__.lower(): method for method in list_debias_methods()}
    plain = plain_name(str(name))
    if plain not in known:
        check_choice("method", name, [debias_method_name(method) for method in known.values()])
    return known[plain]


def debias_method_name(method: type[BaseDebias]) -> str:
    """Return the name of a method on the command line: 'hard-debias'."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z][a-z])", "-", method.__name__).lower()


# Characters of a measure in the printed table.
_NAME_WIDTH = 60


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """The result of :func:`compare`; :func:`wefe.plotting.plot_comparison` draws its table.

    Attributes
    ----------
    table : DataFrame
        One row per measure and mitigated model:

        - 'aspect': 'bias', 'cost' or 'residual';
        - 'measure', 'subject' (query, data set, words or criterion) and mitigated 'model';
        - 'before', 'after', 'change' (after - before), and their standard errors 'before_se',
          'after_se', 'change_se'; +-1.96 of them is a 95 % interval;
        - 'better': what a mitigation should achieve: 'nearer to 0', 'higher' or 'lower';
        - 'best_value': no bias ('bias'), nothing lost ('cost', or NaN) or chance ('residual');
        - 'n': words, pairs or questions used (0 if unknown);
        - 'note': remarks, and why a number is NaN.
    before, criterion : str
        Names of the original model and of the criterion (or None).

    Examples
    --------
    >>> from wefe import load_test_model
    >>> model = load_test_model()
    >>> compare(model, {"copy": model.copy()}, [], quality=None).table["measure"].iloc[0]
    'share of vectors changed'
    """

    table: pd.DataFrame
    before: str
    criterion: str | None = None

    def __repr__(self) -> str:
        models = self.table["model"].unique()
        names = self.table["measure"] + ": " + self.table["subject"]
        shown = self.table.rename(columns={"change_se": "SE"})
        shown["measure"] = names.str.slice(0, _NAME_WIDTH)
        keys = ["aspect", "measure", "model"][: 2 + (len(models) > 1)]
        shown = shown.set_index(keys)[["before", "after", "change", "SE", "better"]]
        why = "nan: " + names + ", " + self.table["model"] + ": " + self.table["note"]
        head = f"Comparison of {self.before} (before) with {', '.join(models)}"
        table = shown.to_string(float_format="{:.3f}".format)
        return "\n".join([head, table, *why[self.table["change"].isna()]])

    def _repr_html_(self) -> str:
        return str(self.table._repr_html_())  # type: ignore[operator]


def compare(
    before: WordEmbeddingModel,
    after: WordEmbeddingModel | Sequence[WordEmbeddingModel] | Mapping[str, WordEmbeddingModel],
    queries: Sequence[Query],
    metrics: Sequence[MetricLike] = ("weat", "rnd", "mac", "ect"),
    *,
    quality: Literal["auto"] | Sequence[str | os.PathLike[str]] | None = "auto",
    criterion: Criterion | str | None = None,
    n_words: int = 500,
    n_sample: int = 1000,
    random_state: int | np.random.Generator | None = 0,
    progress: bool = True,
    **lookup: Any,
) -> Comparison:
    """Measure the gain of a mitigation, its cost, and the remaining bias.

    Look at 'bias' first: is `after` nearer to `best_value`, and is the change larger than twice its
    standard error? Then 'cost': benchmark scores and neighbours should stay. Then 'residual': if
    clusters and classifiers still recognise the former classes, the bias is hidden rather than
    removed. Any gain is only *less association measured*.

    Parameters
    ----------
    before : WordEmbeddingModel
        The original model.
    after : WordEmbeddingModel, sequence of them, or mapping from name to model
        Mitigated models. The keys of a mapping rename them; repeated names are numbered.
    queries : sequence of Query
        Queries that measure bias, perhaps none. Words that a method equalized are equal by design.
    metrics : sequence of metric classes, instances or names, default=('weat', 'rnd', 'mac', 'ect')
        For parameters pass an instance, such as
        ``ProximityBias(k=20)``. Queries too large for a metric are split into subqueries.
    quality : 'auto', sequence, or None, default='auto'
        Benchmarks: names and files for :func:`wefe.quality.load_benchmark`. 'auto' takes
        'wordsim353', 'simlex999' and `n_sample` of the 'google-analogies' from gensim (minutes);
        without gensim, these are left out and logged.
    criterion : Criterion or str, optional
        Adds the tests for remaining bias, of each class against all others. For other words or
        numbers of neighbours, see :func:`wefe.explore.recovery_tests`.
    n_words : int, default=500
        Most biased words per class in these tests, at most a quarter of the candidates.
    n_sample : int, default=1000
        Words whose neighbours are compared, and analogies with ``quality='auto'``.
    random_state, progress : optional
        Seed of all that is random, 0 by default; and whether to show a progress bar.
    **lookup
        Options of :class:`wefe.embeddings.Lookup`; ``normalize=True`` removes the effect of changed
        lengths on RND and ECT.

    Returns
    -------
    Comparison
        Its `table` has a row per measure and mitigated model.

    Notes
    -----
    *Standard errors* measure the dependence on the choice of words. For metrics they are a paired
    jackknife over the words of each set (at most 20 groups). They tend to be too large: up to a
    fifth for WEAT and RND, a half for MAC, twofold for ECT on small sets. Other errors are over
    pairs, questions or words; those of analogies tend to be too small.

    *Cost*: 'mean cosine displacement' is the mean of 1 - cos(after, before), in [0, 2]; 'mean
    vector displacement' that of ``|after - before| / |before|``, large if a method scales vectors
    to unit length. 'neighbourhood overlap' is the share of the ten nearest neighbours that a sample
    keeps, in [0, 1]. It and the benchmarks use the first 50,000 words that all models share.

    *Residual* tests follow Gonen and Goldberg, Lipstick on a Pig, NAACL-HLT 2019. Candidates are
    the lower-case words among the first 50,000, shorter than 20 characters, without digits,
    punctuation and specific words, ordered by cos(w, a) - cos(w, b) in the original model. a and b
    represent the classes (with more, b is the mean of the others). The `n_words` at each end enter
    :func:`wefe.metrics.cluster_test` and :func:`wefe.metrics.classification_test` (trained
    on a fifth, with a radial and a linear kernel). The first 2 * `n_words` candidates enter
    :func:`wefe.metrics.neighbor_test` (of 100 neighbours) and the correlation of their bias before
    and after.

    Examples
    --------
    >>> from wefe import Query, load_test_model
    >>> from wefe.debias import LinearProjection
    >>> model = load_test_model()
    >>> debiased = LinearProjection().fit_transform(model, definitional_sets=[("she", "he")])
    >>> query = Query([["mary", "anna"], ["john", "paul"]], [["nurse", "maid"], ["boss", "pilot"]])
    >>> table = compare(model, debiased, [query], ["weat"], quality=None).table
    >>> table[["measure", "before", "after", "better"]].iloc[:1].round(2)
      measure  before  after       better
    0    WEAT    0.56   0.36  nearer to 0
    """
    check_model(before)
    models = [before]
    named = by_name(after if isinstance(after, Mapping) else check_models(after))
    check_models([*named.values()])
    for label, model in named.items():
        if model is before:
            raise ValueError(
                f"after is the same object as before ({model.name}). transform with copy=False "
                "changes the model. To keep the original, use copy=True."
            )
        models.append(copy.copy(model))
        models[-1].name = label
    asked = list(dict.fromkeys(check_queries(queries))) if queries else []
    instances = as_metrics(metrics)
    benchmarks = check_quality(quality)
    checked = as_criterion(criterion)
    n_words = check_positive_int("n_words", n_words)
    n_sample = check_positive_int("n_sample", n_sample)
    seed = as_seed(random_state)
    check_known("compare", lookup, Lookup.__annotations__)
    options = {"lost_vocabulary_threshold": 0.2, "warn_not_found_words": False, **lookup}

    rows: list[Row] = []
    # What one of them cannot answer is answered by none.
    alike = on_same_words(models, asked, {**lookup, "lost_vocabulary_threshold": 1.0})
    for metric, label in zip(instances, _labels(instances, options), strict=True):
        # The same draws before and after.
        draws = {"random_state": seed} if "random_state" in metric.parameters() else {}
        rows += bias_rows(metric, asked, alike, options | draws, progress, label)
    if selected := [model.name for model in models if model.held == "selected"]:
        logger.warning(
            "costs and remaining bias are left out, because %s was opened for some words only. "
            "Load it whole, or take a snapshot of an encoder first",
            ", ".join(selected),
        )
    else:
        common = CommonWords(models)
        # Each part draws from a stream of its own, so that to leave one out changes no other.
        first, second = (np.random.default_rng([seed, part]) for part in range(2))
        rows += quality_rows(common, benchmarks, n_sample if quality == "auto" else None, first)
        rows += displacement_rows(common) + neighbor_rows(common, n_sample, second)
        if checked is not None:
            rows += residual_rows(common, checked, n_words, seed)
    return Comparison(as_table(rows), before.name, checked.name if checked else None)


def _labels(metrics: Sequence[BaseMetric], options: Mapping[str, Any]) -> list[str]:
    """Name metrics by their scores, and those with the same name by their own parameters, too."""
    names = [metric.scale(None, **options).label for metric in metrics]
    own = [repr(metric).removeprefix(type(metric).__name__) for metric in metrics]
    labels = [
        f"{name} {params}" if names.count(name) > 1 and params != "()" else name
        for name, params in zip(names, own, strict=True)
    ]
    return unique_labels(labels, "metrics")
