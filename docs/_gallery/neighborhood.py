"""
Map of a neighbourhood
======================

The 50 nearest neighbours of *nurse*, coloured by the group that they lean to. Most of them lean to
the female side.
"""

from wefe import load_test_model
from wefe.explore import word_page
from wefe.plotting import plot_neighborhood

page = word_page(load_test_model(), "nurse", k=50)
figure = plot_neighborhood(page)
figure.show()
