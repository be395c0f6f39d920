from ._audit import plot_individual_biases as plot_individual_biases
from ._bars import plot_group_shares as plot_group_shares
from ._bars import plot_queries_results as plot_queries_results
from ._bars import plot_ranking as plot_ranking
from ._comparison import plot_comparison as plot_comparison
from ._heat_maps import plot_direction_correlations as plot_direction_correlations
from ._heat_maps import (
    plot_negative_sentiment_correlation as plot_negative_sentiment_correlation,
)
from ._heat_maps import plot_ranking_correlations as plot_ranking_correlations
from ._lines import plot_layer_scores as plot_layer_scores
from ._lines import plot_silhouettes as plot_silhouettes
from ._negative_sentiment import plot_negative_sentiment as plot_negative_sentiment
from ._points import plot_clusters as plot_clusters
from ._points import plot_impact_ratios as plot_impact_ratios
from ._points import plot_neighborhood as plot_neighborhood
from ._points import plot_statistic as plot_statistic
from ._projections import plot_extremes as plot_extremes
from ._projections import plot_projections as plot_projections
from ._static import write_figures as write_figures
from ._style import as_dark as as_dark
