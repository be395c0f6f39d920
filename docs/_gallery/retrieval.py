"""
Audit of a ranking
==================

Whom does a search for candidates rank first? The same CVs carry names of several groups. Dashed:
the four-fifths rule of thumb. A mean of word vectors stands for your encoder.
"""

import numpy as np

from wefe import load_test_model
from wefe.plotting import plot_impact_ratios
from wefe.retrieval import audit_ranking, load_resume_names


def encode(texts):
    known = [[word for word in text.split() if word in model.vocab] for text in texts]
    return np.array([model.get_vectors(words).mean(axis=0) for words in known])


model = load_test_model()
jobs = ["nurse for a hospital", "engineer for software", "lawyer for a law office"]
cvs = ["{} worked as a nurse", "{} writes software", "{} is a lawyer"]
figure = plot_impact_ratios(audit_ranking(encode, jobs, cvs, load_resume_names(), k=14))
figure.show()
