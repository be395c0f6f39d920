"""Impact ratios of groups of names, with intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import plotly.graph_objects as go

from wefe.plotting._labels import wrap
from wefe.plotting._style import PALETTE, apply_layout, hover_rows
from wefe.plotting._table import check_kind

if TYPE_CHECKING:
    from wefe.retrieval import RankingAudit

_FOUR_FIFTHS = 0.8
_ROW_PX = 34


def plot_impact_ratios(audit: RankingAudit) -> go.Figure:
    """Plot how often groups are selected, relative to the most selected group.

    Parameters
    ----------
    audit : RankingAudit
        What :func:`wefe.retrieval.audit_ranking` returns.

    Returns
    -------
    plotly.graph_objects.Figure
        One trace per attribute, one point per group, with its interval. Dashed: 0.8, the
        four-fifths rule of thumb.

    Raises
    ------
    TypeError
        If `audit` is not a RankingAudit.

    Examples
    --------
    >>> from wefe.retrieval import audit_ranking
    >>> def length(queries, documents):  # a toy reranker
    ...     return [len(document) for document in documents]
    >>> names = {"female": ["Amy", "Joan"], "male": ["Bill", "Hakim"]}
    >>> audit = audit_ranking(length, ["a nurse"], ["{}: nurse"], names, reranker=True, k=2)
    >>> plot_impact_ratios(audit).data[0].x
    (0.3333333333333333, 1.0)
    """
    from wefe.retrieval import RankingAudit

    check_kind("audit must be what audit_ranking returns", audit, RankingAudit)
    figure = go.Figure()
    template = (
        "<b>{group}</b> ({n_names} names)<br>impact ratio: {impact_ratio:.3f}<br>"
        "selection rate: {selection_rate:.3f}<br>share of exposure: {exposure_share:.3f}"
    )
    for number, (attribute, part) in enumerate(audit.groups.groupby("attribute", sort=False)):
        ratio = part["impact_ratio"]
        figure.add_scatter(
            x=ratio.tolist(),
            y=[wrap(group, 40) for group in part["group"]],
            mode="markers",
            name=wrap(str(attribute), 30),
            marker={"color": PALETTE[number % len(PALETTE)], "size": 10},
            error_x={
                "array": (part["impact_ratio_upper"] - ratio).tolist(),
                "arrayminus": (ratio - part["impact_ratio_lower"]).tolist(),
                "color": PALETTE[number % len(PALETTE)],
            },
            **hover_rows(part, template),
        )
    figure.add_vline(
        _FOUR_FIFTHS,
        line_dash="dash",
        annotation_text="four-fifths rule of thumb",
        annotation_position="top",
        annotation_yshift=4,
    )
    figure.update_xaxes(title_text="Impact ratio (1: the most selected group)", rangemode="tozero")
    figure.update_yaxes(autorange="reversed", type="category")
    figure.update_layout(showlegend=audit.groups["attribute"].nunique() > 1)
    notes = [
        f"Selected: the top {audit.k} documents of each query. Lines: {audit.confidence:.0%} "
        "intervals over names and queries.",
        "Below 0.8, the four-fifths rule of thumb asks for a closer look. It is no verdict.",
    ]
    height = 40 + _ROW_PX * len(audit.groups)
    return apply_layout(figure, "Impact ratios", notes, height, above_px=24)
