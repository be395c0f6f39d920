"""Words that lie along the line between two neutral words, and how far a bias puts them there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from wefe._checks import check_positive_int
from wefe.debias._base import check_words
from wefe.explore._directions import CriterionLike, bias_directions
from wefe.explore._lookup import form_of
from wefe.explore._projections import FREQUENT, extreme_words
from wefe.metrics._indirect_bias import indirect_bias
from wefe.models._passes import forms
from wefe.models._word_embedding_model import WordEmbeddingModel, check_model
from wefe.words import Preprocessors

if TYPE_CHECKING:
    import pandas as pd


def indirect_bias_along(
    model: WordEmbeddingModel,
    first: str,
    second: str,
    criterion: CriterionLike = "gender",
    *,
    n: int = 10,
    words: Sequence[str] | None = None,
    among: int | None = FREQUENT,
    ignore: Sequence[str] | None = None,
    preprocessors: Preprocessors | None = None,
) -> pd.DataFrame:
    """Find the extreme words between two neutral ones, and their indirect bias.

    Why is 'receptionist' nearer to 'softball' than to 'football'? The words farthest along the
    direction from one word to the other are looked for, and of each the share of its similarity
    with the word at its end that disappears without the bias directions.

    Parameters
    ----------
    model : WordEmbeddingModel
        A model that has its whole vocabulary, or `words` at least.
    first, second : str
        Two words that should be neutral, such as 'softball' and 'football'.
    criterion : str, Criterion, mapping, sequence or BiasDirections, default='gender'
        The bias; see :func:`bias_directions`.
    n : int, default=10
        Words wanted at each end.
    words : sequence of str, optional
        Look at these words only; for example names of occupations.
    among : int or None, default=50_000
        Without `words`: look at that many from the start of the vocabulary; None for all. See
        :func:`extreme_words`.
    ignore : sequence of str, optional
        Words that are left out; by default those to which a group rightly belongs. `first` and
        `second` are left out in any case.
    preprocessors : list of dict, optional
        Variants of each word; see :class:`wefe.embeddings.Lookup`.

    Returns
    -------
    pandas.DataFrame
        `end` (`first` or `second`), `rank`, `word`, `projection` (cosine with the direction towards
        that end, in (0, 1]), `cosine` with the word at that end, and `indirect_bias` with it; NaN
        where that is undefined.

    Raises
    ------
    ValueError
        If the model lacks one of the two words, or they have the same direction.

    See Also
    --------
    wefe.metrics.indirect_bias : That of any pairs of vectors, and its formula.

    References
    ----------
    Bolukbasi et al., NeurIPS 2016, section 5.3 and figure 3.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> table = indirect_bias_along(load_test_model(), "nurse", "engineer", n=4)
    >>> table[table["end"] == "nurse"].round(2)
         end  rank      word  projection  cosine  indirect_bias
    0  nurse     1   nursing        0.57    0.87           0.02
    1  nurse     2    nurses        0.56    0.93           0.01
    2  nurse     3  patients        0.37    0.49           0.02
    3  nurse     4      mary        0.36    0.45           0.19
    """
    check_model(model)
    check_positive_int("n", n)
    bias = bias_directions(model, criterion, preprocessors=preprocessors)
    line = bias_directions(model, (first, second), preprocessors=preprocessors)
    left_out = [*(bias.words if ignore is None else check_words("ignore", ignore)), first, second]
    table = extreme_words(
        model,
        n,
        line,
        words=words,
        among=among,
        ignore=left_out,
        preprocessors=preprocessors,
    )
    table["cosine"], table["indirect_bias"] = np.nan, np.nan
    for end, word in zip(line.groups, line.sets[0], strict=True):
        here = (table["group"] == end).to_numpy()
        if not here.any():
            continue
        # With the prefix of the model, words are as its vocabulary has them.
        others = np.asarray(model.get_vectors(forms(model, table["word"][here])), dtype=np.float64)
        (own,) = np.asarray(
            model.get_vectors([form_of(model, word, preprocessors)]), dtype=np.float64
        )
        lengths = np.linalg.norm(others, axis=1) * np.linalg.norm(own)
        table.loc[here, "cosine"] = others @ own / lengths
        table.loc[here, "indirect_bias"] = indirect_bias(own, others, bias.subspace)
    return table.drop(columns="model").rename(columns={"group": "end"})
