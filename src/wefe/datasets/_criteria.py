"""Criteria: by what words of a bias are divided into classes, as mitigation needs to know it."""

from __future__ import annotations

import json
import os
from pathlib import Path

from wefe._checks import check_choice, check_known, found
from wefe.datasets._criterion import Criterion
from wefe.datasets._debias_multiclass import fetch_debias_multiclass
from wefe.datasets._debiaswe import fetch_debiaswe
from wefe.datasets._languages import LANGUAGES, load_language_criterion

_PRESETS = ("gender", "ethnicity", "religion")
_KEYS = (
    "name",
    "definitional_sets",
    "class_names",
    "equalize_sets",
    "specific_words",
    "stereotyped_words",
    "representatives",
)


def list_criteria() -> list[str]:
    """Return the names of the criteria that :func:`load_criterion` knows.

    Returns
    -------
    list of str
        The published ones, then gender in other languages.

    Examples
    --------
    >>> list_criteria()[:5]
    ['gender', 'ethnicity', 'religion', 'gender_es', 'gender_fr']
    """
    return [*_PRESETS, *(f"gender_{code}" for code in LANGUAGES)]


def load_criterion(name: str | os.PathLike[str], *, offline: bool = False) -> Criterion:
    """Load the word sets of a published criterion of bias, or those of a file.

    Parameters
    ----------
    name : {'gender', 'ethnicity', 'religion', 'gender_es', ...} or path
        A published criterion; gender in another language (:func:`list_criteria` lists them); or a
        JSON file with an object whose keys are the parameters of
        :class:`Criterion`, of which only 'definitional_sets' is needed.
    offline : bool, default=False
        For 'gender': True takes the 232 gender-specific words that ship with the package in place
        of the 1,441 that are downloaded.

    Returns
    -------
    Criterion
        - gender [1]_: ten pairs (female, male), 52 pairs to equalize, the gender-specific words;
          stereotyped words are the occupations of [2]_.
        - ethnicity [2]_: black, caucasian, asian; six triples, stereotyped words.
        - religion [2]_: jew, christian, muslim; five triples, stereotyped words.

    Raises
    ------
    TypeError
        If `name` is neither a name nor a path.
    ValueError
        If no criterion has that name, or a file is not as described.
    ConnectionError
        If the gender-specific words are neither at hand nor to be downloaded.

    References
    ----------
    .. [1] T. Bolukbasi, K.-W. Chang, J. Zou, V. Saligrama and A. Kalai. Man is to Computer
       Programmer as Woman is to Homemaker? Debiasing Word Embeddings. NIPS 2016.
    .. [2] T. Manzini, Y. C. Lim, A. W. Black and Y. Tsvetkov. Black is to Criminal as Caucasian
       is to Police: Detecting and Removing Multiclass Bias in Word Embeddings. NAACL-HLT 2019.

    Examples
    --------
    >>> gender = load_criterion("gender", offline=True)
    >>> gender.definitional_sets[:2]
    (('woman', 'man'), ('girl', 'boy'))
    >>> load_criterion("religion").class_names
    ('jew', 'christian', 'muslim')
    """
    if not isinstance(name, str | os.PathLike):
        raise TypeError(
            f"a criterion must be a name, a file or a Criterion; got {found(name)}. "
            f"Known names: {', '.join(_PRESETS)}."
        )
    path = Path(name)
    if path.suffix == ".json" or path.is_file():
        return _read(path)
    check_choice("criterion", str(name), (*list_criteria(), "FILE.json"))
    if str(name) not in _PRESETS:
        return load_language_criterion(str(name).removeprefix("gender_"))
    published = fetch_debias_multiclass()
    if name == "gender":
        bolukbasi = fetch_debiaswe(offline=offline)
        templates = published["gender_analogy_templates"]
        return Criterion(
            "gender",
            bolukbasi["definitional_pairs"],
            ("female", "male"),
            bolukbasi["equalize_pairs"],
            bolukbasi["gender_specific_seed" if offline else "gender_specific"],
            {"female": templates["woman"], "male": templates["man"]},
            ("she", "he"),
        )
    classes = {
        "ethnicity": ("black", "caucasian", "asian"),
        "religion": ("jew", "christian", "muslim"),
    }[str(name)]
    sets = published[f"{name}_definitional_sets"]
    return Criterion(
        str(name),
        sets,
        classes,
        stereotyped_words=published[f"{name}_analogy_templates"],
        representatives=classes if name == "religion" else sets[0],
    )


def _read(path: Path) -> Criterion:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ValueError(f"{path}: expected a JSON file ({error}).") from error
    except RecursionError:
        raise ValueError(f"{path}: expected a JSON file (it is nested too deeply).") from None
    if not isinstance(content, dict) or "definitional_sets" not in content:
        raise ValueError(
            f"{path}: expected a JSON object with 'definitional_sets', a list of lists of words; "
            f"got {found(content)}."
        )
    check_known(str(path), content, _KEYS)
    content.setdefault("name", path.stem)
    try:
        return Criterion(**content)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path}: {error}") from error
