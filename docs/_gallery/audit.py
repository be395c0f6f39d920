"""
Words behind a score
====================

One score stands for many words. In the first panel the two groups lie apart, as their effect size
of 1.81 says. In the second they overlap, and both lean to the family.
"""

from wefe import load_test_model
from wefe.audit import audit_query
from wefe.datasets import load_query_set
from wefe.plotting import plot_individual_biases

model, queries = load_test_model(), load_query_set("gender", offline=True)
audits = [audit_query(query, model) for query in (queries[-1], queries[0])]
figure = plot_individual_biases(audits)
figure.show()
