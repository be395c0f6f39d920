"""
Words closest to each group
===========================

Of all frequent words, these are farthest along the gender direction on either side. Words that
define the groups, such as *she* and *he*, are left out.
"""

from wefe import load_test_model
from wefe.explore import extreme_words
from wefe.plotting import plot_extremes

figure = plot_extremes(extreme_words(load_test_model(), n=12))
figure.show()
