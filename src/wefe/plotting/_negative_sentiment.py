"""The negative sentiment of words, as RNSB measures it, as bars."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from wefe._checks import found
from wefe.plotting._axes import Panels
from wefe.plotting._labels import count, escape, width_px, wrap
from wefe.plotting._style import PALETTE, apply_layout, bar_style, hover, write
from wefe.results import MetricResult
from wefe.running import unique_labels

_SPREAD = "negative_sentiment_distribution"


def plot_negative_sentiment(
    results: Mapping[str, Any] | Sequence[Mapping[str, Any]],
) -> go.Figure:
    """Plot how RNSB's negative sentiment spreads over the target words.

    It is figure 3 of Sweeney and Najafian (ACL 2019), with the uniform distribution, which means
    no bias, as a dashed line.

    Parameters
    ----------
    results : MetricResult, mapping or sequence of them
        One result of RNSB; or several, to compare models: a list, or a mapping from model name to
        result. The entry 'negative_sentiment_distribution' is plotted.

    Returns
    -------
    plotly.graph_objects.Figure
        A panel per result, titled with the model and its score; the same words and range in all.
        Colours tell target sets apart where they have several words.

    Raises
    ------
    TypeError
        If this is no result of RNSB.
    ValueError
        If there is none.

    Examples
    --------
    >>> result = {"rnsb": 0.19, "negative_sentiment_distribution": {"irish": 0.2, "cuban": 0.8}}
    >>> figure = plot_negative_sentiment({"w2v": result})
    >>> figure.layout.annotations[0].text
    'w2v<br>RNSB = 0.19'
    """
    named = check_rnsb_results(results)
    spreads = [Spread.of(result) for result in named.values()]
    words = list(dict.fromkeys(word for spread in spreads for word in spread.shares))
    set_of = _telling_sets(spreads, words)
    scores = [f"RNSB = {spread.score:.3g}" if spread.shares else "" for spread in spreads]
    label_px = min(150, width_px(["", *words]))
    abreast = 3 if len(words) <= 8 else 2 if len(words) <= 24 else 1
    panels = Panels(list(named), 240, label_px + 24, abreast, scores)
    figure = panels.figure()
    for position, spread in enumerate(spreads):
        _draw(figure, spread, set_of, panels.place(position))

    highest = max(max(spread.shares.values(), default=0) for spread in spreads)
    figure.update_yaxes(range=[0, 1.08 * highest or 1], tickformat="~%")
    figure.update_yaxes(title_text="Share of negative sentiment", col=1)
    figure.update_xaxes(
        type="category",
        categoryorder="array",
        categoryarray=words,
        range=[-0.6, len(words) - 0.4],
        tickvals=words,
        ticktext=list(map(escape, words)),
        tickangle=-90 if abreast == 1 else -60 if label_px > 40 else 0,
        showgrid=False,
    )
    figure.update_layout(
        bargap=0.25,
        barmode="stack",
        legend_title_text="Target set",
        showlegend=len(set(set_of.values())) > 1,
    )
    notes = _notes(named.values())
    if any(spread.shares and len(spread.shares) < len(words) for spread in spreads):
        notes.append("No value: the word is not among those measured with this model.")
    title = f"Negative sentiment of {count(len(words), 'target word')}"
    return apply_layout(figure, title, notes, panels.height, panels.title_px, label_px + 24)


def _draw(
    figure: go.Figure,
    spread: Spread,
    set_of: Mapping[str, str],
    place: Mapping[str, Any],
) -> None:
    """Draw the bars of one result, for the words of all, into its panel."""
    hovers = {word: spread.hover(word, set_name) for word, set_name in set_of.items()}
    for number, set_name in enumerate(dict.fromkeys(set_of.values())):
        members = [word for word in set_of if set_of[word] == set_name]
        figure.add_bar(
            name=wrap(set_name, 30),
            legendgroup=set_name,
            x=members,
            y=[spread.shares.get(word, math.nan) for word in members],
            marker=bar_style(number),
            **hover([hovers[word] for word in members]),
            **place,
        )
    if not spread.shares:
        middle: dict[str, Any] = {"xref": "x domain", "yref": "y domain", "xanchor": "center"}
        write(figure, 0.5, 0.5, wrap(f"no value: {spread.nan_reason}", 50), **middle, **place)
        return
    figure.add_hline(spread.uniform, line={"dash": "dash", "width": 1.5}, **place)
    foot: dict[str, Any] = {"xanchor": "center", "yanchor": "bottom", "textangle": -90}
    for column, word in enumerate(set_of):
        if word not in spread.shares:
            write(figure, column, 0, "no value", hovertext=hovers[word], **foot, **place)


@dataclass(frozen=True)
class Spread:
    """The negative sentiment of one result of RNSB, word by word."""

    score: float
    shares: Mapping[str, float]
    probabilities: Mapping[str, float]
    set_of: Mapping[str, str]
    uniform: float
    nan_reason: str

    @classmethod
    def of(cls, result: Mapping[str, Any]) -> Spread:
        shares = {word: share for word, share in result[_SPREAD].items() if not math.isnan(share)}
        # A word in two target sets counts twice, though the dictionary names it once.
        words = getattr(result, "details", {}).get("words", [("", word) for word in shares])
        return cls(
            score=float(result.get("rnsb", result.get("result", math.nan))),
            shares=shares,
            probabilities=result.get("negative_sentiment_probabilities", {}),
            set_of={word: name for name, word in reversed(words)},
            uniform=1 / len(words) if words else math.nan,
            nan_reason=getattr(result, "nan_reason", None) or "the score is NaN",
        )

    def hover(self, word: str, set_name: str) -> str:
        lines = [f"<b>{escape(word)}</b>"]
        if set_name:
            lines.append(wrap(set_name))
        if word in self.shares:
            share = self.shares[word]
            times = f"{share / self.uniform:.2f} times the equal share"
            lines.append(f"share of negative sentiment: {share:.2%}, {times}")
        else:
            lines.append("no value: the word is not among those measured here")
        if word in self.probabilities:
            lines.append(f"probability of being negative: {self.probabilities[word]:.3f}")
        return "<br>".join(lines)


def check_rnsb_results(results: object) -> dict[str, Mapping[str, Any]]:
    """Return the results by model name; refuse what is none of RNSB."""
    if isinstance(results, Mapping) and _SPREAD not in results:
        names, listed = [str(name) for name in results], list(results.values())
    else:
        listed = list(results) if isinstance(results, list | tuple) else [results]
        names = [getattr(result, "model_name", "") for result in listed]
    if not listed:
        raise ValueError("results is empty; there is nothing to plot.")
    for result in listed:
        if not isinstance(result, Mapping) or not isinstance(result.get(_SPREAD), Mapping):
            raise TypeError(
                f"results must be a result of RNSB (a dict with {_SPREAD!r}), a list of results, "
                f"or a dict from model name to result; got {found(result)}."
            )
    names = [name or f"Model {number}" for number, name in enumerate(names, start=1)]
    return dict(zip(unique_labels(names, "models"), listed, strict=True))


def joint_shares(result: Mapping[str, Any]) -> pd.DataFrame:
    """Return the products of the shares of every two target words: figure 4 of the paper."""
    shares = pd.Series(Spread.of(result).shares)
    values = np.outer(shares, shares)
    return pd.DataFrame(values, index=shares.index, columns=shares.index)


def _telling_sets(spreads: Iterable[Spread], words: Sequence[str]) -> dict[str, str]:
    """Return the target set of each word; '' for all where sets say no more than the words."""
    set_of = {word: name for spread in spreads for word, name in spread.set_of.items()}
    n_sets = len(set(set_of.values()))
    if n_sets == len(words) or n_sets > len(PALETTE):
        return dict.fromkeys(words, "")
    return {word: set_of.get(word, "") for word in words}


def _notes(results: Iterable[Mapping[str, Any]]) -> list[str]:
    notes = ["Dashed: equal shares of all words, which is no bias measured (RNSB = 0)."]
    pairs = {
        tuple(result.query.attribute_sets_names)
        for result in results
        if isinstance(result, MetricResult)
    }
    if len(pairs) == 1:
        positive, negative = pairs.pop()
        notes.append(f"Negative: the classifier sees {negative!r} rather than {positive!r}.")
    return notes
