"""Figure of words in two dimensions, by their group and the cluster they fall into."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go

from wefe.plotting._labels import count, in_full, left_out, wrap
from wefe.plotting._style import apply_layout, hover, point_style
from wefe.plotting._table import check_frame, check_groups


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
        (crosses). From the eighth group on, colours return with other symbols.

    Raises
    ------
    TypeError, ValueError
        If `frame` is no such table, or empty.

    Notes
    -----
    Words without place, group or cluster are left out, of the share as well, and named.

    Examples
    --------
    >>> rows = [("nurse", 0, 1, "female", "female"), ("pilot", 1, 0, "male", "female")]
    >>> frame = pd.DataFrame(rows, columns=["word", "x", "y", "group", "cluster"])
    >>> [trace.name for trace in plot_clusters(frame).data]
    ['female', 'male, in a cluster<br>of others']
    """
    table = check_frame(frame, ("word", "group", "cluster"), ("x", "y"))
    missing = table[["x", "y"]].isna().any(axis=1)
    missing |= frame[["group", "cluster"]].isna().any(axis=1).to_numpy()
    lost = left_out(table["word"][missing], "place, group or cluster")
    groups = check_groups(None, frame[~missing.to_numpy()])
    table = table[~missing]
    figure = go.Figure()
    own = table["group"] == table["cluster"]
    for position, group in enumerate(groups):
        colour, symbol, other = point_style(position)
        for agrees in (True, False):
            part = table[(table["group"] == group) & (own == agrees)]
            if part.empty:
                continue
            hovers = [
                f"{in_full(word)}<br>{wrap(group, 60)}; its cluster is that of<br>"
                f"{wrap(cluster, 60)}"
                for word, cluster in zip(part["word"], part["cluster"], strict=True)
            ]
            figure.add_scatter(
                x=part["x"],
                y=part["y"],
                mode="markers",
                name=wrap(group if agrees else f"{group}, in a cluster of others", 20),
                marker={
                    "color": colour,
                    "symbol": symbol if agrees else other,
                    "size": 8,
                    "opacity": 0.75,
                    "line": {"width": 0 if agrees else 2, "color": colour},
                },
                **hover(hovers),
            )
    figure.update_xaxes(showticklabels=False, showgrid=False)
    figure.update_yaxes(showticklabels=False, showgrid=False, ticks="")
    figure.update_layout(showlegend=True)
    shown = count(len(table), "word")
    share = f"{own.mean():.0%} of {shown} fall" if len(table) else f"{shown} fall"
    notes = [
        f"{share} into the cluster of their group.",
        f"Map by {method}: distances in it are not those in the space, in which clusters were "
        "looked for.",
    ]
    model = frame.attrs.get("model")
    heading = title or "The most biased words and their clusters" + (f", {model}" if model else "")
    return apply_layout(figure, heading, notes, 480, below_px=30, footnotes=lost)
