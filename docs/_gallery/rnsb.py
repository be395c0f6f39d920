"""
Distribution of RNSB
====================

A classifier learns to tell pleasant from unpleasant words. RNSB then compares how negative it
finds each name. The dashed line is the share that every name would have without bias.
"""

from wefe import RNSB, load_test_model
from wefe.datasets import load_query_set
from wefe.plotting import plot_negative_sentiment

query = load_query_set("weat")[4]
lookup = {"preprocessors": [{}, {"lowercase": True}], "lost_vocabulary_threshold": 0.5}
result = RNSB(holdout=False).run_query(query, load_test_model(), **lookup)
figure = plot_negative_sentiment(result)
figure.show()
