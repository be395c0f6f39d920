"""
Heat map of rankings
====================

Do metrics agree which model is the least biased? Each cell is the rank correlation of two metrics
over six models: 1 means the same order, -1 the opposite order.
"""

from wefe import WordEmbeddingModel, aggregate, create_ranking, load_test_model, measure
from wefe.datasets import load_query_set
from wefe.plotting import plot_ranking_correlations
from wefe.ranking import calculate_ranking_correlations

full = load_test_model()
models = [
    WordEmbeddingModel((list(full.vocab), full.vectors[:, :dim].copy()), f"first {dim} dims")
    for dim in (256, 128, 64, 32, 16, 8)
]
metrics = ["weat", "weat-es", "rnd", "mac", "ect"]
queries = load_query_set("gender", offline=True)
scores = measure(metrics, queries, models, generate_subqueries=True, queries_set_name="Gender")
ranking = create_ranking(aggregate(scores))
figure = plot_ranking_correlations(calculate_ranking_correlations(ranking))
figure.show()
