"""The negative sentiment of words, as RNSB measures it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from wefe._checks import found
from wefe._visible import count
from wefe.plotting._style import PALETTE, add_marks, apply_layout, escape, grid, wrap, write

_SPREAD = "negative_sentiment_distribution"
_HOVER = (
    "<b>{word}</b><br>share of negative sentiment: {y:.2%}, {times:.2f} times the equal share<br>"
    "probability of being negative: {probability:.3f}"
)


def plot_negative_sentiment(results: Mapping[str, Any]) -> go.Figure:
    """Plot the share of negative sentiment of each target word (Sweeney and Najafian, figure 3).

    Parameters
    ----------
    results : MetricResult or mapping
        A result of RNSB, or a mapping from model name to result.

    Returns
    -------
    plotly.graph_objects.Figure
        One panel per result, with model and score. Dashed: equal shares, which mean no bias.

    Examples
    --------
    >>> result = {"rnsb": 0.19, "negative_sentiment_distribution": {"irish": 0.2, "cuban": 0.8}}
    >>> plot_negative_sentiment({"w2v": result}).layout.annotations[0].text
    'w2v<br>RNSB = 0.19'
    """
    spreads = read_spreads(results)
    words = list(dict.fromkeys(word for each in spreads.values() for word in each.words.index))
    titles = [
        f"{name}\nRNSB = {each.score:.3g}" if len(each.words) else name
        for name, each in spreads.items()
    ]
    # Between rows of panels is room for turned words.
    abreast = 2 if len(words) <= 24 else 1
    figure, places = grid(titles, 240, 130, abreast, shared_yaxes="all")
    for place, spread in zip(places, spreads.values(), strict=True):
        own = spread.words.reindex(words).rename_axis("word").reset_index()
        own = own.assign(x=list(map(escape, words)), y=own["share"])
        own["times"] = own["y"] / spread.uniform
        add_marks(figure, "bar", own, "", _HOVER, marker_color=PALETTE[0], **place)
        if len(spread.words):
            figure.add_hline(spread.uniform, line={"dash": "dash", "width": 1.5}, **place)
        else:
            note = {"x": 0.5, "y": 0.5, "text": wrap(f"no value: {spread.nan_reason}", 50)}
            write(figure, [note], domain="xy", xanchor="center", **place)
    figure.update_yaxes(rangemode="tozero", tickformat="~%")
    figure.update_yaxes(title_text="Share of negative sentiment", col=1)
    figure.update_xaxes(type="category", dtick=1, showgrid=False)
    figure.update_layout(bargap=0.25, showlegend=False)
    shown = {
        "Dashed: equal shares of all words, which is no bias measured (RNSB = 0).": True,
        "Words without a bar were not measured with this model.": any(
            len(spread.words) < len(words) for spread in spreads.values()
        ),
    }
    title = f"Negative sentiment of {count(len(words), 'target word')}"
    return apply_layout(figure, title, shown, 90)


class Spread(NamedTuple):
    """The negative sentiment of a result; `words` has the columns share and probability."""

    score: float
    words: pd.DataFrame
    uniform: float
    nan_reason: str


def _spread(result: Mapping[str, Any]) -> Spread:
    if not isinstance(result, Mapping) or _SPREAD not in result:
        raise TypeError(f"results must be of RNSB, with {_SPREAD!r}; got {found(result)}.")
    shares = pd.Series(result[_SPREAD], dtype=np.float64).dropna()
    probability = pd.Series(result.get("negative_sentiment_probabilities"), dtype=float)
    words = pd.DataFrame({"share": shares, "probability": probability}).reindex(shares.index)
    # A word in two target sets counts twice, though the dictionary names it once.
    n_words = len(getattr(result, "details", {}).get("words", shares))
    score = float(result.get("rnsb", result.get("result", np.nan)))
    why = getattr(result, "nan_reason", None) or "the score is NaN"
    return Spread(score, words, 1 / n_words if n_words else np.nan, why)


def read_spreads(results: Any) -> dict[str, Spread]:
    """Return the distributions of RNSB results by model name; raise an error for other input."""
    if not isinstance(results, Mapping) or not results or _SPREAD in results:
        results = {getattr(results, "model_name", ""): results}
    return {str(name): _spread(result) for name, result in results.items()}


def joint_shares(result: Mapping[str, Any]) -> pd.DataFrame:
    """Return the products of the shares of every two target words (figure 4 of the paper)."""
    shares = _spread(result).words["share"]
    return pd.DataFrame(np.outer(shares, shares), shares.index, shares.index)
