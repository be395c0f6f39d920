"""Which words, of which classes, a method learns from that tells classes apart by a classifier."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from wefe._checks import check_word_set, found
from wefe.datasets import Criterion
from wefe.debias._base import BaseDebias, as_written, class_columns, log_lost
from wefe.embeddings import definitional_vectors, embed_tuples
from wefe.metrics._direction import group_directions
from wefe.metrics._geometry import Vectors
from wefe.models._passes import Rows, forms, most_associated, vocabulary_blocks
from wefe.models._word_embedding_model import WordEmbeddingModel, check_model

logger = logging.getLogger(__name__)

#: The class of words that lean to none of the others.
NEUTRAL = "neutral"
# Fewer words have no variance, and leave none to hold out.
_FEWEST = 2


@dataclass(frozen=True, eq=False)
class WordClasses:
    """Words with a class each.

    Attributes
    ----------
    words : dict
        Class name -> its words that the model has, each once, without the prefix of the model.
    vectors : ndarray of shape (n_words, dim)
        Their vectors as the model has them, float64, class by class.
    labels : ndarray of int of shape (n_words,)
        Position of each word's class in `words`.
    """

    words: dict[str, list[str]]
    vectors: Vectors = field(repr=False)
    labels: npt.NDArray[np.intp] = field(repr=False)

    @property
    def one_hot(self) -> Vectors:
        """One column per class, 1 for its words and 0 for others: shape (n_words, n_classes)."""
        return np.eye(len(self.words))[self.labels]


def look_up(model: WordEmbeddingModel, words_by_class: Mapping[str, Sequence[str]]) -> WordClasses:
    """Look up the words of classes.

    Parameters
    ----------
    model : WordEmbeddingModel
        Where to look. Words that it lacks are left out, counted and logged.
    words_by_class : mapping from str to sequence of str
        Class name -> its words; two classes or more, of two words or more.

    Raises
    ------
    TypeError
        If it is no mapping.
    ValueError
        If there are fewer classes or words left, or a word is of two classes.
    """
    check_model(model)
    if not isinstance(words_by_class, Mapping):
        raise TypeError(
            "words_by_class must be a mapping from class names to lists of words; got "
            f"{found(words_by_class)}. Use for example "
            "{'female': ['she', 'her'], 'male': ['he', 'him']}."
        )
    if len(words_by_class) < 2:
        raise ValueError(
            f"words_by_class must have 2 classes or more; it has {len(words_by_class)}."
        )
    class_of: dict[str, str] = {}
    words: dict[str, list[str]] = {}
    vectors: list[Vectors] = []
    for name, given in words_by_class.items():
        called = f"words_by_class[{name!r}]"
        distinct = list(dict.fromkeys(check_word_set(called, given)))
        for word in distinct:
            if class_of.setdefault(word, name) != name:
                raise ValueError(
                    f"{word!r} is a word of two classes, {class_of[word]!r} and {name!r}; leave it "
                    "out of one of them."
                )
        parts = embed_tuples(
            model, [distinct], called, discard_incomplete_sets=False, warn_lost_sets=False
        )
        lost = parts[0].lost if parts else tuple(distinct)
        log_lost(model, lost, len(distinct), f"words of class {name!r}")
        if len(distinct) - len(lost) < _FEWEST:
            raise ValueError(
                f"{model.name} has {len(distinct) - len(lost)} of the {len(distinct)} words of "
                f"class {name!r}; at least {_FEWEST} are needed. {as_written(model)}"
            )
        missing = set(lost)
        words[name] = [word for word in distinct if word not in missing]
        vectors.append(parts[0].vectors)
    labels = np.repeat(np.arange(len(vectors)), [len(part) for part in vectors])
    return WordClasses(words, np.concatenate(vectors), labels)


def word_classes(
    model: WordEmbeddingModel,
    definitional_sets: Sequence[tuple[str, ...]],
    class_names: Sequence[str],
    n_words: int | None,
    *,
    neutral: bool,
) -> dict[str, list[str]]:
    """Find words of each class, from definitional sets.

    Every class has an axis: with two classes, the first principal component of the definitional
    pairs and its opposite; with more, the mean of the class minus the mean of all. Both of unit
    vectors, each definitional set centred on its own mean.

    Parameters
    ----------
    model : WordEmbeddingModel
        A model that has its whole vocabulary.
    definitional_sets : sequence of tuples of str
        One word per class each.
    class_names : sequence of str
        As many names; none for 'class 0', 'class 1' ...
    n_words : int or None
        Words for each class beside the definitional ones: those whose unit vectors reach farthest
        along its axis. A word that is on the lists of two classes belongs to the one along whose
        axis it reaches farther. At most the n-th part of the vocabulary is taken for each class,
        for n - 1 classes. None for definitional words only.
    neutral : bool
        Add the class `NEUTRAL`: as many words that reach least along any axis.

    Returns
    -------
    dict
        Class name -> words, without the prefix of the model: first the definitional ones.
    """
    check_model(model)
    if not definitional_sets:
        raise ValueError("definitional_sets is empty; one set or more is needed.")
    columns = class_columns(definitional_sets)
    n_classes = len(columns)
    names = list(class_names) or [f"class {i}" for i in range(n_classes)]
    words = {name: list(column) for name, column in zip(names, columns, strict=True)}
    if n_words is None:
        return words
    if neutral and NEUTRAL in words:
        raise ValueError(
            f"a class is called {NEUTRAL!r}, as the class of other words; give it another name, or "
            "use neutral=False."
        )
    most = len(model.vocab) // (n_classes + 1)
    if most < 1:
        raise ValueError(
            f"{model.name} has {len(model.vocab)} words; at least {n_classes + 1} are needed to "
            "learn from the words that reach farthest."
        )
    if most < n_words:
        logger.warning(
            "%s: %d words of each class are taken, not %d, as it has %d words",
            *(model.name, most, n_words, len(model.vocab)),
        )
        n_words = most
    axes = _axes(model, definitional_sets)
    given = [word for column in words.values() for word in column]
    sides = most_associated(model, axes, n_words, given)
    rows, reach = (np.concatenate(part) for part in zip(*sides, strict=True))
    owner = np.repeat(np.arange(n_classes), [len(side) for side, _ in sides])
    # By falling reach, so that the first place of a row is that of the class it belongs to.
    order = np.argsort(-reach, kind="stable")[: int((reach > 0).sum())]
    order = order[np.sort(np.unique(rows[order], return_index=True)[1])]
    for position, name in enumerate(names):
        words[name] += _words_of(model, rows[order[owner[order] == position]])
    if neutral:
        taken = [word for column in words.values() for word in column]
        words[NEUTRAL] = _words_of(model, _least_associated(model, axes, n_words, taken))
    return words


def _words_of(model: WordEmbeddingModel, rows: Rows) -> list[str]:
    """Return the words of rows, without the prefix of the model."""
    return [word.removeprefix(model.vocab_prefix or "") for word in model.table.words_at(rows)]


def _axes(model: WordEmbeddingModel, definitional_sets: Sequence[tuple[str, ...]]) -> Vectors:
    """Return the axis of each class, of unit length: shape (n_classes, dim)."""
    complete = definitional_vectors(model, definitional_sets, "definitional_sets")
    # A set whose words share a form in the vocabulary has fewer vectors than words.
    vectors = [
        part.vectors[[row for row in part.first_row if row is not None]] for part in complete
    ]
    return group_directions(list(np.stack(vectors, axis=1)))


def _least_associated(
    model: WordEmbeddingModel, axes: Vectors, n_words: int, ignore: Sequence[str]
) -> Rows:
    """Return the rows whose unit vectors reach least along any axis, to either side."""
    allowed = np.ones(len(model.vocab), dtype=bool)
    allowed[[model.vocab[form] for form in forms(model, ignore) if form in model.vocab]] = False
    kept, values = np.empty(0, np.intp), np.empty(0)
    for rows, vectors in vocabulary_blocks(model):
        here = allowed[rows]
        wide = vectors[here].astype(np.float64)
        reach = np.abs(wide @ axes.T).max(axis=1) / np.linalg.norm(wide, axis=1)
        kept, values = np.concatenate([kept, rows[here]]), np.concatenate([values, reach])
        order = np.argsort(values, kind="stable")[:n_words]
        kept, values = kept[order], values[order]
    return kept


def learned_classes(
    method: BaseDebias,
    model: WordEmbeddingModel,
    definitional_sets: Sequence[Sequence[str]] | None,
    words_by_class: Mapping[str, Sequence[str]] | None,
    criterion: Criterion | str | None,
    n_words: int | None,
    *,
    neutral: bool,
) -> WordClasses:
    """Return the classes that a method learns from: those given, or those of definitional sets.

    Parameters are those of `fit` of the method, and of :func:`word_classes`.
    """
    words = method._fit_words(criterion, {"definitional_sets": definitional_sets})
    if words_by_class is None:
        method._require(words, "definitional_sets")
        sets = method._check_sets_size(words["definitional_sets"], "definitional", None)
        # Names are those of the sets of a criterion, not of other sets.
        names = words.get("class_names", ()) if definitional_sets is None else ()
        words_by_class = word_classes(model, sets, names, n_words, neutral=neutral)
    return look_up(model, words_by_class)
