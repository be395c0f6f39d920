"""Figure of words in two dimensions, by their group and the cluster they fall into."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go

from wefe.plotting._labels import count, escape, wrap
from wefe.plotting._projections import check_frame, check_groups
from wefe.plotting._style import PALETTE, dress, pointed_at

_PLOT_PX = 480


def plot_clusters(
    frame: pd.DataFrame, *, title: str | None = None, method: str = "t-SNE"
) -> go.Figure:
    """Plot the most biased words in two dimensions, with the clusters that they fall into.

    Parameters
    ----------
    frame : DataFrame
        What :func:`wefe.explore.cluster_map` returns: one row per word with the columns `word`,
        `x`, `y`, `group` and `cluster`.
    title : str, optional
        Title of the figure.
    method : str, default='t-SNE'
        How the map was made, for the note below the title.

    Returns
    -------
    plotly.graph_objects.Figure
        Per group, a trace of the words in the cluster of their group (dots) and one of the others
        (crosses).

    Raises
    ------
    TypeError, ValueError
        If `frame` is no such table, or empty.

    Examples
    --------
    >>> rows = [("nurse", 0, 1, "female", "female"), ("pilot", 1, 0, "male", "female")]
    >>> frame = pd.DataFrame(rows, columns=["word", "x", "y", "group", "cluster"])
    >>> [trace.name for trace in plot_clusters(frame).data]
    ['female', 'male, in a cluster of others']
    """
    table = check_frame(frame, ("word", "group", "cluster"), ("x", "y"))
    figure = go.Figure()
    own = table["group"] == table["cluster"]
    for position, group in enumerate(check_groups(None, frame)):
        for agrees in (True, False):
            part = table[(table["group"] == group) & (own == agrees)]
            if part.empty:
                continue
            others = "" if agrees else ", in a cluster of others"
            figure.add_scatter(
                x=part["x"],
                y=part["y"],
                mode="markers",
                name=wrap(group + others, 30),
                marker={
                    "color": PALETTE[position % len(PALETTE)],
                    "symbol": "circle" if agrees else "x-thin",
                    "size": 8,
                    "opacity": 0.75,
                    "line": {
                        "width": 0 if agrees else 2,
                        "color": PALETTE[position % len(PALETTE)],
                    },
                },
                **pointed_at(
                    [
                        f"<b>{escape(str(word))}</b><br>{escape(group)}; its cluster is that of "
                        f"{escape(str(cluster))}"
                        for word, cluster in zip(part["word"], part["cluster"], strict=True)
                    ]
                ),
            )
    figure.update_xaxes(showticklabels=False, showgrid=False)
    figure.update_yaxes(showticklabels=False, showgrid=False, ticks="")
    figure.update_layout(showlegend=True)
    share = float(own.mean())
    notes = [
        f"{share:.0%} of {count(len(table), 'word')} fall into the cluster of their group.",
        f"Map by {method}: distances in it are not those in the space, in which clusters were "
        "looked for.",
    ]
    model = frame.attrs.get("model")
    heading = title or "The most biased words and their clusters" + (f", {model}" if model else "")
    return dress(figure, heading, notes, _PLOT_PX, below_px=30)
