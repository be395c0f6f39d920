"""
Rank models
===========

The ranks of four models by three metrics, stacked. A shorter bar means that less bias was
measured. The models are the packaged vectors, cut to fewer and fewer dimensions.
"""

from wefe import WordEmbeddingModel, aggregate, create_ranking, load_test_model, measure
from wefe.datasets import load_query_set
from wefe.plotting import plot_ranking

full = load_test_model()
models = [
    WordEmbeddingModel((list(full.vocab), full.vectors[:, :dim].copy()), f"first {dim} dims")
    for dim in (256, 128, 64, 16)
]
queries = load_query_set("gender", offline=True)
metrics = ["weat-es", "mac", "ect"]
scores = measure(metrics, queries, models, generate_subqueries=True, queries_set_name="Gender")
ranking = create_ranking(aggregate(scores))
figure = plot_ranking(ranking)
figure.show()
