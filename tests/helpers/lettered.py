"""Words of a letter and a number: models, queries and silhouettes of which everything is known."""

import numpy as np

from wefe import Query, WordEmbeddingModel
from wefe.silhouette import Silhouette

# The metrics of whole vocabularies: of so few words, the usual 100 neighbours would be all.
ASKED = {"EQT": {"k": 3}, "GIPE": {"k": 4}, "PMN": {"k": 4}, "Proximity Bias": {"k": 4}}
PAIRED = ("RIPA", "Direct Bias", *ASKED)


def model_of(seed=0, dim=6, name=None):
    """Seven words of each of four letters."""
    words = [f"{letter}{i}" for letter in "abcd" for i in range(7)]
    vectors = np.random.default_rng(seed).normal(size=(len(words), dim)) + 0.3
    return WordEmbeddingModel((words, vectors), name=name or f"made {seed}")


def without(model, word, name="lacking"):
    """The model without a word."""
    words = [each for each in model.vocab if each != word]
    return WordEmbeddingModel((words, model.get_vectors(words)), name)


def query_for(metric, sizes=(5, 5, 6, 4)):
    """Two sets on each side, of these sizes, or one where the metric takes one."""
    lists = [[f"{letter}{i}" for i in range(n)] for letter, n in zip("abcd", sizes, strict=True)]
    n_targets, n_attributes = (1 if n == 1 else 2 for n in metric.metric_template)
    names = ["A", "B"][:n_targets], ["C", "D"][:n_attributes]
    return Query(lists[:n_targets], lists[2 : 2 + n_attributes], *names)


def silhouette_of(curves, k=(2, 4, 6), value_range=(-2.0, 2.0), no_bias_value=0.0, **facts):
    """A silhouette with these curves."""
    facts = {
        "metric": "M",
        "query_name": "q",
        "model_name": "m",
        "vary": "targets",
        "n_words": k[-1],
        "value": curves[0][-1],
        "random_state": 0,
        **facts,
    }
    return Silhouette(
        sizes=np.array(k)[:, None],
        curves=np.array(curves, dtype=float),
        value_range=value_range,
        no_bias_value=no_bias_value,
        **facts,
    )
