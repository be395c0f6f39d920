"""Models before and after a mitigation: what was gained, what it cost, and what remains."""

from __future__ import annotations

import copy
import itertools
import logging
import math
import os
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from wefe._checks import (
    as_seed,
    check_bool,
    check_positive_int,
    check_sequence,
    check_word_set,
    found,
    nearest,
)
from wefe._same_words import on_same_words
from wefe._visible import draw, unique_labels
from wefe.datasets import Criterion
from wefe.debias._base import as_criterion, check_words
from wefe.debias._changes import (
    bias_rows,
    check_quality,
    displacement_rows,
    neighbor_rows,
    quality_rows,
    scale_params,
)
from wefe.debias._residual import CommonWords, Row, residual_rows
from wefe.embeddings import Lookup
from wefe.metrics._base import BaseMetric
from wefe.metrics._registry import as_metric
from wefe.models._word_embedding_model import WordEmbeddingModel, check_model
from wefe.query import Query, check_query

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

logger = logging.getLogger(__name__)

_DEFAULT_METRICS = ("weat", "rnd", "mac", "ect")
# Characters of a measure in the printed table.
_NAME_WIDTH = 72
_UNEXPLAINED = "no standard error: too few words, or too many ties without one of them"
COLUMNS = [*Row._fields[:6], "change", *Row._fields[6:9], "better", "best_value", "n", "note"]

After: TypeAlias = (
    WordEmbeddingModel | Sequence[WordEmbeddingModel] | Mapping[str, WordEmbeddingModel]
)
AnyMetric: TypeAlias = type[BaseMetric] | BaseMetric | str
#: A metric, and parameters of its own.
WithParams: TypeAlias = tuple[AnyMetric, Mapping[str, Any]]


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """What :func:`compare` returns: one table, which can be printed and plotted.

    Attributes
    ----------
    table : DataFrame
        One row per measure and mitigated model, with the columns

        - 'aspect': 'bias', 'cost' or 'residual';
        - 'measure', 'subject': what was measured, and with which query, data set, words or
          criterion;
        - 'model': the mitigated model;
        - 'before', 'after', 'change' (after - before);
        - 'before_se', 'after_se', 'change_se': standard errors; 1.96 of them on either side are an
          interval of 95 %;
        - 'better': what a mitigation should bring: 'nearer to 0', 'higher', 'lower';
        - 'best_value': the value that stands for no bias measured ('bias'), nothing lost ('cost';
          NaN for scores of data sets), or chance ('residual');
        - 'n': words, pairs or questions that were used (0 if a metric does not tell);
        - 'note': what else must be known; why a number is NaN.
    before : str
        Name of the original model.
    criterion : str or None
        Name of the criterion.

    See Also
    --------
    compare : Makes it, and tells how to read it.

    Examples
    --------
    >>> from wefe import Query, load_test_model
    >>> from wefe.debias import LinearProjection, compare
    >>> model = load_test_model()
    >>> debiased = LinearProjection().fit_transform(model, definitional_sets=[("she", "he")])
    >>> query = Query(
    ...     [["mary", "anna", "susan"], ["john", "paul", "peter"]],
    ...     [["nurse", "dancer"], ["boss", "engineer"]],
    ... )
    >>> comparison = compare(model, debiased, [query], ["weat", "mac"], quality=None, n_sample=50)

    The part of the table that is about bias: is the change larger than twice its standard error,
    and in the direction that is better?

    >>> bias = comparison.table.query("aspect == 'bias'").set_index("measure")
    >>> bias[["before", "after", "change", "change_se", "better"]].round(3)
             before  after  change  change_se       better
    measure
    WEAT      0.796  0.511  -0.285      0.029  nearer to 0
    MAC       0.892  0.901   0.010      0.002  nearer to 1
    """

    table: pd.DataFrame
    before: str
    criterion: str | None = None

    def to_frame(self) -> pd.DataFrame:
        """Return a copy of the table, for example to be written to a file.

        Returns
        -------
        pandas.DataFrame
            One row per measure and mitigated model; see `table`.
        """
        return self.table.copy()

    def plot(self) -> go.Figure:
        """Plot the table, see :func:`wefe.plotting.plot_comparison`.

        Returns
        -------
        plotly.graph_objects.Figure
            A panel for each metric, one for costs and one for what remains.
        """
        return draw("plot_comparison", self.table)

    def __repr__(self) -> str:
        models = list(dict.fromkeys(self.table["model"]))
        lines = [["", "before", "after", "change", "SE", "better"]]
        why: dict[str, None] = {}
        key: Any
        for key, rows in self.table.groupby(COLUMNS[:3], sort=False):
            aspect, measure, subject = key
            if [aspect] not in lines:
                lines.append([aspect])
            name = f"  {measure}: {subject}"
            if len(models) > 1:
                lines.append([name, f"{rows['before'].iloc[0]:.3f}"])
            for row in rows.to_dict("records"):
                numbers = [f"{row[c]:.3f}" for c in ("before", "after", "change", "change_se")]
                if len(models) > 1:
                    name, numbers[0] = f"    {row['model']}", ""
                lines.append([name, *numbers, row["better"]])
                if np.isnan(row["change"]) and row["note"]:
                    note = f"nan: {measure}, {row['model']}: {row['note']}"
                    why["\n".join(textwrap.wrap(note, 99, subsequent_indent="  "))] = None
        head = f"Comparison of {self.before} (before) with {', '.join(models)}"
        widths = [max(map(len, column)) for column in itertools.zip_longest(*lines, fillvalue="")]
        width = min(widths[0], _NAME_WIDTH)
        shown = []
        for name, *cells in lines:
            short = name if len(name) <= width else f"{name[: width - 3]}..."
            numbers = [f"{cell:>{size}}" for cell, size in zip(cells[:4], widths[1:], strict=False)]
            shown.append("  ".join([short.ljust(width), *numbers, *cells[4:]]).rstrip())
        return "\n".join([head, *shown, *why])

    def _repr_html_(self) -> str:
        return str(self.table._repr_html_())  # type: ignore[operator]


def compare(
    before: WordEmbeddingModel,
    after: After,
    queries: Sequence[Query],
    metrics: Sequence[AnyMetric | WithParams] | None = None,
    *,
    quality: Literal["auto"] | Sequence[str | os.PathLike[str]] | None = "auto",
    criterion: Criterion | str | None = None,
    words: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    n_words: int = 500,
    k: int = 100,
    n_sample: int = 1000,
    random_state: int | np.random.Generator | None = 0,
    n_jobs: int | None = None,
    progress: bool = True,
    **lookup: Any,
) -> Comparison:
    """Put beside each other what a mitigation gained, what it cost, and what it left.

    Parameters
    ----------
    before : WordEmbeddingModel
        The original model.
    after : WordEmbeddingModel, sequence of them, or mapping from name to model
        The mitigated model, or several, side by side. Names must differ; the keys of a mapping
        name models that are called the same.
    queries : sequence of Query
        What bias is measured with; an empty list for none.
    metrics : sequence of metric classes, instances or names, optional
        By default WEAT, RND, MAC and ECT. A pair (metric, parameters), such as
        ``("proximity-bias", {"k": 20})``, gives parameters to that metric alone. A query that is
        too large for a metric is replaced by its subqueries.
    quality : 'auto', sequence, or None, default='auto'
        Benchmarks of word similarity and analogies: names and files as
        :func:`wefe.quality.load_benchmark` takes them. 'auto' takes 'wordsim353', 'simlex999' and
        'google-analogies', which come with gensim, but only `n_sample` of the analogies: all of
        them may take minutes. None for none.
    criterion : Criterion or str, optional
        Whose classes the tests of what remains look for; without one they are left out. Of more
        than two classes, each is told from all others.
    words : sequence of str, optional
        Words of which the last two of these tests are made, such as occupations; by default the
        first ``2 * n_words`` of those that the tests choose from.
    ignore : sequence of str
        Words that these tests leave out, beside the specific words of the criterion: those that
        the mitigation ignored.
    n_words : int, default=500
        How many of the most biased words of each class the tests take; a quarter of all words to
        choose from, if these are fewer than four times as many.
    k : int, default=100
        Neighbours of the third test.
    n_sample : int, default=1000
        Words whose nearest neighbours are compared, and analogies asked with ``quality='auto'``.
    random_state : int, Generator or None, default=0
        Seed of samples, of clustering, and of metrics that draw at random.
    n_jobs : int or None, default=None
        Number of joblib workers of the metrics.
    progress : bool, default=True
        Show a bar on a terminal when metrics take more than two seconds.
    **lookup
        How words are looked up, see :class:`wefe.embeddings.Lookup`; and parameters of metrics,
        such as ``return_effect_size=True``, which go to those that have them.

    Returns
    -------
    Comparison
        Its `table` has a row per measure and mitigated model; it prints as text, and has `plot()`.

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong kind, names occur twice, `after` is `before` itself, or the
        models have no word in common.

    See Also
    --------
    wefe.explore.recovery_tests : The tests of what remains by themselves, with intervals.
    wefe.quality.evaluate : Quality on more kinds of benchmarks.

    Notes
    -----
    *How to read it.* Start with 'bias': is `after` nearer to `best_value` than `before`, and is the
    change larger than twice its standard error? Then 'cost': scores of data sets should not fall,
    neighbours should stay, and few vectors should move far. Then 'residual': if clusters and
    classifiers still tell the former classes apart, the bias was hidden from the metric more than
    it was removed. A change towards `best_value` is *less association measured*, no more.

    *Words.* All models are looked at through the same words: what one of them lacks is left out
    of all, and counted in 'note' or in the log.

    *Standard errors* say how far a number depends on the choice of words, not on the training of
    the model. Those of metrics are a jackknife: words of each set are left out one at a time (of
    more than 20 words, in 20 groups), pairs together where a metric pairs target words, and the
    variances of the sets add up. All models are measured without the same words, so the change is
    mostly known better than the scores. Of a sum over words, such as WEAT without effect size,
    the jackknife gives (G - 1) / G of the error for G groups. Otherwise it is rather too large than
    too small (Efron and Stein 1981): against words drawn anew, by up to a fifth for WEAT and RND,
    a half for MAC, and for ECT, as it compares ranks, to twice the error where sets have few words.
    Those of data sets and tests are over pairs, questions or words; analogies share words, so that
    their error is rather too small. Accuracies and alignments of the tests are those of the words
    taken, which are no sample. Displacements are those of all words, and have no error.

    *Cost.* 'share of vectors changed' is in [0, 1]. 'mean cosine displacement' is the mean of
    1 - cos(after, before), in [0, 2]; 'mean vector displacement' that of
    ``|after - before| / |before|``, over all words that the models share. The latter is large, too,
    where a method scales vectors to unit length first. 'neighbourhood overlap' is the share of the
    ten nearest neighbours that a sample of words keeps, among the 50,000 first words, in [0, 1].
    'word similarity' and 'analogy accuracy' are those of :func:`wefe.quality.evaluate`, among the
    50,000 first words.

    *Residual* [1]_. Of the 50,000 first words, those in lower case, shorter than 20 characters,
    without digits and punctuation, and not specific to a class, are ordered by their bias in the
    original model, cos(w, a) - cos(w, b) for the words a and b that represent the classes (of more
    classes, b is the mean over the others). Of the `n_words` most biased to each side,
    :func:`wefe.metrics.cluster_alignment` and :func:`wefe.metrics.classification_accuracy` (learnt
    from a fifth, tested on the rest, with a radial and with a linear kernel; the sides are equal,
    so that the larger class is no better a guess than chance). Of `words`,
    :func:`wefe.metrics.neighbor_correlation`, and the correlation of the bias before with that
    after.

    *Fair queries.* Words that a method was told to equalise must come out equal: measure with
    others. Vectors of length other than 1 weigh differently in RND and ECT; some methods change
    lengths. ``normalize=True`` takes that out of the comparison.

    References
    ----------
    .. [1] H. Gonen and Y. Goldberg. Lipstick on a Pig: Debiasing Methods Cover up Systematic
       Gender Biases in Word Embeddings But do not Remove Them. NAACL-HLT 2019.

    Examples
    --------
    >>> from wefe import Query, load_test_model
    >>> from wefe.datasets import load_criterion
    >>> from wefe.debias import HardDebias
    >>> model, gender = load_test_model(), load_criterion("gender", offline=True)
    >>> debiased = HardDebias().fit_transform(model, criterion=gender, ignore=gender.specific_words)
    >>> query = Query(
    ...     [["mary", "anna", "susan", "julia"], ["john", "paul", "peter", "james"]],
    ...     [["nurse", "dancer", "housekeeper"], ["boss", "captain", "engineer"]],
    ...     ["Women", "Men"],
    ...     ["Care", "Rule"],
    ... )
    >>> compare(model, debiased, [query], ["weat"], quality=None, n_sample=50)
    Comparison of minilm-words (before) with minilm-words_gender_debiased
                                                          before  after  change     SE  better
    bias
      WEAT: Women and Men wrt Care and Rule                1.017  0.481  -0.536  0.113  nearer to 0
    cost
      share of vectors changed: all words                  0.000  0.988   0.988    nan  lower
      mean cosine displacement: all words                  0.000  0.004   0.004    nan  lower
      mean vector displacement: all words                  0.000  0.190   0.190    nan  lower
      neighbourhood overlap: 50 of the first 10569 words   1.000  0.976  -0.024  0.008  higher

    Less association was measured, yet to which class a word was nearer can still be told from its
    vector:

    >>> evidence = compare(
    ...     model, debiased, [], criterion=gender, quality=None, n_words=100, n_sample=50
    ... )
    >>> residual = evidence.table[evidence.table.aspect == "residual"].set_index("measure")
    >>> residual.loc["classification accuracy", ["before", "after", "best_value"]].tolist()
    [1.0, 0.9, 0.5]
    """
    import pandas as pd

    check_model(before)
    models = [before, *_check_after(before, after)]
    asked = list(dict.fromkeys(check_sequence("queries", queries)))
    for query in asked:
        check_query(query)
    metrics = check_sequence("metrics", _DEFAULT_METRICS if metrics is None else metrics)
    benchmarks = check_quality(quality)
    checked = as_criterion(criterion)
    chosen = None if words is None else check_word_set("words", words)
    left_out = check_words("ignore", ignore)
    n_words, k = check_positive_int("n_words", n_words), check_positive_int("k", k)
    n_sample = check_positive_int("n_sample", n_sample)
    seed = as_seed(random_state)
    check_bool("progress", progress)
    calls = _calls(metrics, lookup, seed)

    rows: list[Row] = []
    # What one of them cannot answer is answered by none.
    alike = on_same_words(models, asked, {**lookup, "lost_vocabulary_threshold": 1.0})
    for metric, options, label in calls:
        rows += bias_rows(metric, asked, alike, options, n_jobs, progress, label)
    if selected := [model.name for model in models if model.held == "selected"]:
        logger.warning(
            "costs and what remains are left out: %s was opened for some words only; load it "
            "whole, or take a snapshot of an encoder before",
            ", ".join(selected),
        )
    else:
        common = CommonWords(models)
        if not len(common):
            raise ValueError(
                f"{', '.join(model.name for model in models)} share no word; compare models that "
                "have the same words, written alike."
            )
        # Each part draws from a stream of its own, so that to leave one out changes no other.
        draws = [np.random.default_rng([seed, part]) for part in range(2)]
        rows += quality_rows(common, benchmarks, n_sample if quality == "auto" else None, draws[0])
        rows += displacement_rows(common) + neighbor_rows(common, n_sample, draws[1])
        if checked is not None:
            rows += residual_rows(common, checked, chosen, left_out, n_words, k, seed)
    table = pd.DataFrame(rows, columns=Row._fields)
    table["change"] = table["after"] - table["before"]
    table["better"] = [_better(row) for row in rows]
    notes = table["note"].astype(str)
    unexplained = table["change"].notna() & table["change_se"].isna()
    unexplained &= ~notes.str.contains("no standard error")
    table["note"] = notes.mask(unexplained, (notes + f"; {_UNEXPLAINED}").str.removeprefix("; "))
    name = checked.name if checked else None
    table.attrs = {"before": before.name, "criterion": name}
    return Comparison(table[COLUMNS], before.name, name)


def _better(row: Row) -> str:
    if row.aspect == "cost":
        return "lower" if row.best_value == 0 else "higher"
    return "" if math.isnan(row.best_value) else f"nearer to {row.best_value:.3g}"


def _check_after(before: WordEmbeddingModel, after: Any) -> list[WordEmbeddingModel]:
    """Return the mitigated models, under their names."""
    if isinstance(after, WordEmbeddingModel):
        after = [after]
    if not isinstance(after, Mapping):
        given: list[Any] = [(None, model) for model in check_sequence("after", after)]
    else:
        given = list(after.items())
    models = []
    for name, model in given:
        check_model(model)
        if model is before:
            raise ValueError(
                f"after is the same object as before ({model.name}). A transform with copy=False "
                "changes its model; keep the original: copy=True."
            )
        models.append(copy.copy(model))
        models[-1].name = model.name if name is None else str(name)
    if len({model.name for model in models}) < max(len(models), 1):
        raise ValueError(
            "after needs one model or more, with different names; got "
            f"{[model.name for model in models]}. Name them: after={{'first': model, ...}}."
        )
    return models


def _calls(
    metrics: Sequence[Any], given: Mapping[str, Any], seed: int
) -> list[tuple[BaseMetric, dict[str, Any], str]]:
    """Return each metric once, with what it is called with and its label."""
    calls: dict[Any, tuple[BaseMetric, dict[str, Any], Mapping[str, Any]]] = {}
    every = {*Lookup.__annotations__}
    for asked in metrics:
        metric, params = asked if isinstance(asked, tuple) and len(asked) == 2 else (asked, {})
        if not isinstance(params, Mapping) or "preprocessors" in params:
            raise TypeError(
                "a metric and its parameters are a pair such as (WEAT, {'ddof': 1}), and "
                "preprocessors belong to compare, as all metrics are asked for the same words; "
                f"got {found(params)}."
            )
        instance = as_metric(metric)
        taken = {*instance.parameters(), *Lookup.__annotations__}
        every |= taken
        options = {"lost_vocabulary_threshold": 0.2, "warn_not_found_words": False}
        # The same draws before and after.
        for name, value in {**given, "random_state": seed, **params}.items():
            if name in taken or name in params:
                options[name] = value
        kind = metric if isinstance(metric, BaseMetric) else type(instance)
        # Values need not be hashable.
        calls.setdefault((kind, repr(sorted(params.items()))), (instance, options, params))
    for name in given.keys() - every:
        raise TypeError(
            f"compare has no parameter {name!r}, nor has one of the metrics.{nearest(name, every)}"
        )
    plain = [each.scale(None, **scale_params(own)).label for each, own, _ in calls.values()]
    labels = []
    for label, (_, _, params) in zip(plain, calls.values(), strict=True):
        stated = ", ".join(f"{name}={value}" for name, value in params.items())
        labels.append(f"{label} ({stated})" if plain.count(label) > 1 and params else label)
    labels = unique_labels(labels, "metrics")
    return [(*call[:2], label) for call, label in zip(calls.values(), labels, strict=True)]
