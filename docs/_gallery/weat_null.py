"""
Null distribution of WEAT
=========================

Are men's names closer to careers than women's names are? Of all 12,870 ways to regroup the 16
names, 1.9 % reach the score of the real groups (the line): this is the p-value.
"""

from itertools import combinations

import plotly.express as px

from wefe import load_test_model
from wefe.audit import audit_query
from wefe.datasets import load_query_set

names = load_query_set("weat")[5]
audit = audit_query(names, load_test_model(), preprocessors=[{}, {"lowercase": True}])
biases = audit.to_frame()["individual_bias"].to_numpy()
null = [2 * sum(group) - biases.sum() for group in combinations(biases, 8)]
score = biases[:8].sum() - biases[8:].sum()
figure = px.histogram(x=null, labels={"x": "WEAT"}, template="plotly_white")
figure.add_vline(x=score, annotation_text=f"score {score:.2f}")
figure.show()
