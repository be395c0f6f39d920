"""
Bias silhouette
===============

How much does a score depend on the words you happen to list? Each faint line starts with two group
words and adds more in random order. The band closes when all words are in.
"""

from wefe import load_test_model
from wefe.datasets import load_query_set
from wefe.plotting import plot_silhouettes
from wefe.silhouette import bias_silhouettes

career = load_query_set("gender", offline=True)[0]
(silhouette,) = bias_silhouettes("weat", career, [load_test_model()], vary="targets", n_runs=20)
figure = plot_silhouettes(silhouette)
figure.show()
