"""The negative sentiment of words, as RNSB measures it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from wefe._checks import found
from wefe._visible import count, unique_labels
from wefe.plotting._reading import as_list, parts_of
from wefe.plotting._style import (
    PALETTE,
    add_marks,
    apply_layout,
    bar_style,
    escape,
    grid,
    hover_texts,
    width_px,
    wrap,
    write,
    write_no_value,
)

_SPREAD = "negative_sentiment_distribution"
_HOVER = (
    "<b>{x}</b><br>{set}<br>share of negative sentiment: {share:.2%}, {times:.2f} times the "
    "equal share<br>probability of being negative: {probability:.3f}"
)


def plot_negative_sentiment(
    results: Mapping[str, Any] | Sequence[Mapping[str, Any]],
) -> go.Figure:
    """Plot the share of negative sentiment of each target word (Sweeney and Najafian, figure 3).

    Parameters
    ----------
    results : MetricResult, mapping or sequence of them
        One result of RNSB, a list of results, or a mapping from model name to result. Each needs
        'negative_sentiment_distribution'.

    Returns
    -------
    plotly.graph_objects.Figure
        One panel per result, with model and score. Colours show target sets, if they have several
        words. Dashed: equal shares, which mean no bias.

    Examples
    --------
    >>> result = {"rnsb": 0.19, "negative_sentiment_distribution": {"irish": 0.2, "cuban": 0.8}}
    >>> plot_negative_sentiment({"w2v": result}).layout.annotations[0].text
    'w2v<br>RNSB = 0.19'
    """
    spreads = read_spreads(results)
    tables = {name: spread.words for name, spread in spreads.items()}
    every = pd.concat(tables, names=["model"]).reset_index("model")
    set_of = every["set"].groupby(level=0, sort=False).last()
    words, sets = list(set_of.index), list(set_of.unique())
    if len(sets) == len(words) or len(sets) > len(PALETTE):
        # Sets of single words need no colours.
        set_of[:], sets = "", [""]
    scores = [
        f"RNSB = {spread.score:.3g}" if len(spread.words) else "" for spread in spreads.values()
    ]
    label_px = min(150, width_px(["", *words]))
    abreast = 3 if len(words) <= 8 else 2 if len(words) <= 24 else 1
    figure, places = grid(list(spreads), 240, label_px + 24, abreast, scores)
    for place, spread in zip(places, spreads.values(), strict=True):
        own = spread.words.reindex(words).assign(set=set_of).rename_axis("x").reset_index()
        own = own.assign(y=own["share"], times=own["share"] / spread.uniform)
        for number, (name, part) in enumerate(parts_of(own, "set")):
            look = {"legendgroup": name, "marker": bar_style(number), **place}
            add_marks(figure, "bar", part, wrap(name, 30), _HOVER, **look)
        if not len(spread.words):
            write_no_value(figure, spread.nan_reason, **place)
            continue
        figure.add_hline(spread.uniform, line={"dash": "dash", "width": 1.5}, **place)
        missing = own[own["share"].isna()]
        texts = zip(missing.index, hover_texts(missing, _HOVER), strict=True)
        notes = [{"x": x, "y": 0, "text": "no value", "hovertext": text} for x, text in texts]
        write(figure, notes, xanchor="center", yanchor="bottom", textangle=-90, **place)
    highest = 1.08 * every["share"].max() if len(every) else 1
    figure.update_yaxes(range=[0, highest], tickformat="~%")
    figure.update_yaxes(title_text="Share of negative sentiment", col=1)
    figure.update_xaxes(
        type="category",
        categoryorder="array",
        categoryarray=words,
        range=[-0.6, len(words) - 0.4],
        tickvals=words,
        ticktext=list(map(escape, words)),
        tickangle=-90 if abreast == 1 else -60 * (label_px > 40),
        showgrid=False,
    )
    figure.update_layout(
        bargap=0.25, barmode="stack", legend_title_text="Target set", showlegend=len(sets) > 1
    )
    pairs = {spread.attributes for spread in spreads.values()} - {("", "")}
    first, second = pairs.pop() if len(pairs) == 1 else ("", "")
    n_words = every["model"].value_counts()
    shown = {
        "Dashed: equal shares of all words, which is no bias measured (RNSB = 0).": True,
        f"Negative: the classifier sees {second!r} rather than {first!r}.": second,
        "No value: the word is not among those measured with this model.": n_words.min()
        < len(words),
    }
    title = f"Negative sentiment of {count(len(words), 'target word')}"
    return apply_layout(figure, title, shown, label_px + 24)


class Spread(NamedTuple):
    """The negative sentiment of a result; `words` has the columns set, share and probability."""

    score: float
    words: pd.DataFrame
    uniform: float
    attributes: tuple[str, ...]
    nan_reason: str

    @classmethod
    def of(cls, result: Mapping[str, Any]) -> Spread:
        shares = pd.Series(result[_SPREAD], dtype=np.float64).dropna()
        # A word in two target sets counts twice, though the dictionary names it once.
        words = getattr(result, "details", {}).get("words", [("", word) for word in shares.index])
        columns = {
            "set": pd.Series({word: name for name, word in reversed(words)}, dtype=object),
            "share": shares,
            "probability": pd.Series(result.get("negative_sentiment_probabilities"), dtype=float),
        }
        query = getattr(result, "query", None)
        return cls(
            float(result.get("rnsb", result.get("result", np.nan))),
            pd.DataFrame(columns).reindex(shares.index),
            1 / len(words) if words else np.nan,
            tuple(query.attribute_sets_names) if query else ("", ""),
            getattr(result, "nan_reason", None) or "the score is NaN",
        )


def read_spreads(results: Any) -> dict[str, Spread]:
    """Return the distributions of RNSB results by model name; raise an error for other input."""
    if isinstance(results, Mapping) and _SPREAD not in results:
        names, listed = list(map(str, results)), list(results.values())
    else:
        listed = as_list(results)
        named = (getattr(result, "model_name", "") for result in listed)
        names = [name or f"Model {number}" for number, name in enumerate(named, start=1)]
    for result in listed:
        if not isinstance(result, Mapping) or _SPREAD not in result:
            raise TypeError(f"results must be of RNSB, with {_SPREAD!r}; got {found(result)}.")
    spreads = map(Spread.of, listed)
    return dict(zip(unique_labels(names, "models"), spreads, strict=True))


def joint_shares(result: Mapping[str, Any]) -> pd.DataFrame:
    """Return the products of the shares of every two target words (figure 4 of the paper)."""
    shares = Spread.of(result).words["share"]
    return pd.DataFrame(np.outer(shares, shares), shares.index, shares.index)
