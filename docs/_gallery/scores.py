"""
Scores with intervals
=====================

Six questions about gender, asked of one model. Dots are effect sizes, 0 means that no bias was
measured. Lines are 95 % intervals: how far the score would move with other words of the same kind.
Only the last one does not contain 0.
"""

import plotly.express as px

from wefe import WEAT, load_test_model, measure
from wefe.datasets import load_query_set

queries = load_query_set("gender", offline=True)
scores = measure(WEAT(return_effect_size=True), queries, [load_test_model()], n_bootstrap=1000)
scores["above"] = scores["score_upper"] - scores["score"]
scores["below"] = scores["score"] - scores["score_lower"]
lines = {"error_x": "above", "error_x_minus": "below"}
figure = px.scatter(scores, x="score", y="query_name", **lines, template="plotly_white")
figure.update_yaxes(autorange="reversed", title="")
figure.show()
