"""
Before and after mitigation
===========================

Hard debiasing halves the WEAT score of first names and occupations (hollow dot: before, filled
dot: after). But a classifier still finds the former side of nine in ten words.
"""

from wefe import WEAT, Query, load_test_model
from wefe.datasets import load_criterion, load_weat
from wefe.debias import HardDebias, compare
from wefe.plotting import plot_comparison

model, gender = load_test_model(), load_criterion("gender", offline=True)
debiased = HardDebias().fit_transform(model, criterion=gender, ignore=gender.specific_words)
names = [[name.lower() for name in load_weat()[f"{sex}_names"]] for sex in ("female", "male")]
jobs = list(gender.stereotyped_words.values())
query = Query(names, jobs, ["Female names", "Male names"], ["Female jobs", "Male jobs"])
report = compare(model, debiased, [query], metrics=[WEAT], quality=None, criterion=gender)
figure = plot_comparison(report.table)
figure.show()
