from ._audit import plot_individual_biases as plot_individual_biases
from ._clusters import plot_clusters as plot_clusters
from ._comparison import plot_comparison as plot_comparison
from ._correlations import (
    plot_negative_sentiment_correlation as plot_negative_sentiment_correlation,
)
from ._correlations import plot_ranking_correlations as plot_ranking_correlations
from ._directions import plot_direction_components as plot_direction_components
from ._directions import plot_direction_correlations as plot_direction_correlations
from ._layers import plot_effect_sizes as plot_effect_sizes
from ._layers import plot_layer_scores as plot_layer_scores
from ._negative_sentiment import plot_negative_sentiment as plot_negative_sentiment
from ._neighborhood import plot_group_shares as plot_group_shares
from ._neighborhood import plot_neighborhood as plot_neighborhood
from ._projections import plot_extremes as plot_extremes
from ._projections import plot_projections as plot_projections
from ._ranking import plot_ranking as plot_ranking
from ._scores import plot_queries_results as plot_queries_results
from ._silhouettes import plot_silhouettes as plot_silhouettes
from ._static import write_figures as write_figures
from ._statistic import plot_statistic as plot_statistic
from ._style import as_dark as as_dark
