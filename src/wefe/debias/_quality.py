"""What a mitigation costs in quality: word similarity and analogies, by gensim's evaluators."""

from __future__ import annotations

import importlib.util
import math
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from wefe._checks import check_choice, check_sequence, found
from wefe.debias._common_words import FREQUENT, CommonWords, Row
from wefe.debias._uncertainty import Errors, paired_errors, paired_mean_errors
from wefe.metrics._geometry import average_ranks, pearson
from wefe.metrics._jackknife import left_out

# Words at the start of the vocabulary among which an analogy is solved: the time grows with them.
_RESTRICT_ANALOGIES = 30_000
# Spearman's correlation of cosines with human judgement; share of questions solved.
SIMILARITY, ANALOGIES = "word similarity", "analogy accuracy"
_NO_GENSIM = "needs gensim: pip install 'wefe[gensim]'"


class DataSet(NamedTuple):
    """A file of questions: gensim's own by name, or one of the same format."""

    label: str
    path: str
    kind: Literal["pairs", "analogies"]
    of_gensim: bool
    # Ask a sample of the questions only.
    sampled: bool = False


_KNOWN = {
    "wordsim353": DataSet("WordSim-353", "wordsim353.tsv", "pairs", True),
    "simlex999": DataSet("SimLex-999", "simlex999.txt", "pairs", True),
    "analogies": DataSet("Google analogies", "questions-words.txt", "analogies", True),
}


def check_quality(quality: object) -> list[DataSet]:
    """Return the data sets asked for; files are looked for at once."""
    if quality is None:
        return []
    if isinstance(quality, str):
        check_choice("quality", quality, ("auto",))
        return [known._replace(sampled=True) for known in _KNOWN.values()]
    return [_data_set(item) for item in check_sequence("quality", quality)]


def _data_set(item: object) -> DataSet:
    if isinstance(item, str) and item in _KNOWN:
        return _KNOWN[item]
    if not isinstance(item, str | os.PathLike):
        raise TypeError(f"quality holds names and paths; got {found(item)}.")
    path = Path(item)
    if not path.is_file():
        check_choice("quality", str(item), (*_KNOWN, "PATH"))
        raise ValueError(f"quality: there is no file {str(item)!r}.")
    with path.open(encoding="utf8") as lines:
        first = next((line for line in lines if line.strip() and not line.startswith("#")), "")
    return DataSet(path.name, str(path), "analogies" if first.startswith(":") else "pairs", False)


def quality_rows(
    common: CommonWords, data_sets: Sequence[DataSet], n_sample: int, rng: np.random.Generator
) -> list[Row]:
    """Ask all models the same questions; one row per data set and model."""
    rows = []
    for data_set in data_sets:
        measure = SIMILARITY if data_set.kind == "pairs" else ANALOGIES
        path, note = _locate(data_set)
        scores = [math.nan] * len(common.models)
        errors = [Errors()] * (len(common.models) - 1)
        n = 0
        if path:
            if data_set.kind == "pairs":
                scores, errors, n, note = _similarity(common, path)
            else:
                most = n_sample if data_set.sampled else None
                scores, errors, n, note = _analogies(common, path, most, rng)
        for model, score, error in zip(common.models[1:], scores[1:], errors, strict=True):
            rows.append(
                Row(
                    *("cost", measure, data_set.label, model.name, scores[0], score),
                    *(*error, n, math.nan, note),
                )
            )
    return rows


def _locate(data_set: DataSet) -> tuple[str, str]:
    """Return the path of a data set, or none and why."""
    if importlib.util.find_spec("gensim") is None:
        return "", _NO_GENSIM
    if not data_set.of_gensim:
        return data_set.path, ""
    from gensim.test.utils import datapath

    path = datapath(data_set.path)
    if Path(path).is_file():
        return path, ""
    return "", f"this installation of gensim lacks its test data ({data_set.path})"


_Answers = tuple[list[float], list[Errors], int, str]


def _similarity(common: CommonWords, path: str) -> _Answers:
    """Correlate cosines with human judgement; the questions are few, so all are asked."""
    n_models = len(common.models)
    questions = _read_pairs(path)
    number = _first_forms(common, {word for *pair, _ in questions for word in pair}, FREQUENT)
    asked = [question for question in questions if question[0] in number and question[1] in number]
    note = _share_asked(len(asked), len(questions), "pairs")
    if len(asked) < 3:
        return _unanswered(n_models, len(asked), f"{note}; at least 3 are needed")
    scores, cosines = [], []
    for model in range(n_models):
        vectors = _keyed_vectors(list(number), common.vectors(model, np.array([*number.values()])))
        scores.append(float(vectors.evaluate_word_pairs(path)[1][0]))
        cosines.append(np.array([vectors.similarity(a, b) for a, b, _ in asked]))
    human = np.array([judgement for *_, judgement in asked])

    def spearman(kept: npt.NDArray[np.intp]) -> list[float]:
        ranks = average_ranks(human[kept])
        return [pearson(ranks, average_ranks(model[kept])) for model in cosines]

    by_group = left_out(spearman, len(asked))
    errors = [paired_errors([by_group[:, 0]], [column]) for column in by_group[:, 1:].T]
    return scores, errors, len(asked), note


def _read_pairs(path: str) -> list[tuple[str, str, float]]:
    """Return the pairs that gensim's evaluator reads, as it reads them: in upper case."""
    pairs = []
    with open(path, encoding="utf8") as lines:
        for line in lines:
            parts = line.upper().split("\t")
            if line.startswith("#") or len(parts) != 3:
                continue
            try:
                pairs.append((parts[0], parts[1], float(parts[2])))
            except ValueError:
                continue
    return pairs


def _analogies(
    common: CommonWords, path: str, n_sample: int | None, rng: np.random.Generator
) -> _Answers:
    """Solve a : b = c : ? by the nearest word to b - a + c among frequent words."""
    n_models = len(common.models)
    with open(path, encoding="utf8") as lines:
        split = [line.upper().split() for line in lines if not line.startswith(":")]
    questions = [tuple(words) for words in split if len(words) == 4]
    prefix = common.models[0].vocab_prefix or ""
    first = range(min(_RESTRICT_ANALOGIES, len(common)))
    numbers = np.array([i for i in first if common.words[i].startswith(prefix)], dtype=np.intp)
    numbers = common.usable(numbers)
    words = [common.words[i][len(prefix) :] for i in numbers]
    known = {word.upper() for word in words}
    asked = [question for question in questions if known.issuperset(question)]
    note = _share_asked(len(asked), len(questions), "questions")
    if not asked:
        return _unanswered(n_models, 0, note)
    if n_sample is not None and n_sample < len(asked):
        note += f"; a sample of {n_sample} of them was asked"
        asked = [asked[i] for i in np.sort(rng.choice(len(asked), n_sample, replace=False))]
    solved = []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "questions.txt"
        file.write_text("\n".join([": asked", *map(" ".join, asked)]) + "\n", encoding="utf8")
        for model in range(n_models):
            vectors = _keyed_vectors(words, common.vectors(model, numbers))
            _, sections = vectors.evaluate_word_analogies(str(file), restrict_vocab=len(words))
            correct = set(sections[-1]["correct"])
            solved.append(np.array([question in correct for question in asked], dtype=float))
    errors = [paired_mean_errors(solved[0], after) for after in solved[1:]]
    return [float(right.mean()) for right in solved], errors, len(asked), note


def _first_forms(common: CommonWords, wanted: set[str], n_words: int) -> dict[str, int]:
    """Return the number of the first word of each upper-case form that has a direction."""
    prefix = common.models[0].vocab_prefix or ""
    places: dict[str, int] = {}
    for i in range(min(n_words, len(common))):
        word = common.words[i]
        form = word[len(prefix) :].upper()
        if form in wanted and form not in places and word.startswith(prefix):
            places[form] = i
    usable = set(common.usable(np.array(list(places.values()), dtype=np.intp)).tolist())
    return {form: i for form, i in places.items() if i in usable}


def _keyed_vectors(words: list[str], vectors: npt.NDArray[Any]) -> Any:
    """Return gensim's table over an array, which is taken as it is if it is float32."""
    from gensim.models import KeyedVectors

    table = KeyedVectors(vectors.shape[1])
    table.index_to_key = words
    table.key_to_index = {word: row for row, word in enumerate(words)}
    table.vectors = vectors.astype(np.float32, copy=False)
    return table


def _share_asked(n_asked: int, n_questions: int, what: str) -> str:
    lost = n_questions - n_asked
    return f"{lost} of {n_questions} {what} left out, as a model lacks a word" if lost else ""


def _unanswered(n_models: int, n: int, note: str) -> _Answers:
    return [math.nan] * n_models, [Errors()] * (n_models - 1), n, note
