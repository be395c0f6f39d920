"""
Projections onto a bias direction
=================================

The gender direction runs from male to female words. Each point is the cosine of one word with it,
so words at 0 lean to neither group.
"""

from wefe import load_test_model
from wefe.datasets import load_query_set
from wefe.explore import project
from wefe.plotting import plot_projections

query = load_query_set("gender", offline=True)[0]
figure = plot_projections(project(load_test_model(), query))
figure.show()
