"""Published criteria of bias, and criteria in JSON files."""

from __future__ import annotations

import os
from dataclasses import fields
from pathlib import Path

from wefe._checks import check_choice, check_known, found
from wefe.datasets._criterion import Criterion
from wefe.datasets._languages import LANGUAGES, load_language_criterion
from wefe.datasets._shipped import read_json
from wefe.datasets._studies import fetch_debias_multiclass, fetch_debiaswe

# Their classes, in the order of the published sets.
_PRESETS = {
    "gender": ("female", "male"),
    "ethnicity": ("black", "caucasian", "asian"),
    "religion": ("jew", "christian", "muslim"),
}


def list_criteria() -> list[str]:
    """Return the names of the criteria for :func:`load_criterion`.

    Returns
    -------
    list of str
        The published criteria, then gender in other languages.

    Examples
    --------
    >>> list_criteria()[:5]
    ['gender', 'ethnicity', 'religion', 'gender_es', 'gender_fr']
    """
    return [*_PRESETS, *(f"gender_{code}" for code in LANGUAGES)]


def load_criterion(name: str | os.PathLike[str], *, offline: bool = False) -> Criterion:
    """Load a published criterion of bias, or one from a file.

    Parameters
    ----------
    name : {'gender', 'ethnicity', 'religion', 'gender_es', ...} or path
        A name of :func:`list_criteria`, or a JSON file: an object whose keys are parameters of
        :class:`Criterion`; only 'definitional_sets' is required.
    offline : bool, default=False
        For 'gender': use the 232 gender-specific words that ship, not the 1,441 of the download,
        which raises ConnectionError if it fails.

    Returns
    -------
    Criterion
        - gender: ten pairs (female, male), 52 pairs to equalize and gender-specific words of
          :func:`fetch_debiaswe`; occupations of :func:`fetch_debias_multiclass` as stereotypes;
        - ethnicity (black, caucasian, asian) and religion (jew, christian, muslim): six and five
          triples and stereotyped words of :func:`fetch_debias_multiclass`.

    Examples
    --------
    >>> load_criterion("gender", offline=True).definitional_sets[:2]
    (('woman', 'man'), ('girl', 'boy'))
    """
    if not isinstance(name, str | os.PathLike):
        raise TypeError(f"a criterion must be a name, a file or a Criterion; got {found(name)}.")
    path = Path(name)
    if path.suffix == ".json" or path.is_file():
        return _read(path)
    check_choice("criterion", str(name), (*list_criteria(), "FILE.json"))
    if str(name) not in _PRESETS:
        return load_language_criterion(str(name).removeprefix("gender_"))
    published = fetch_debias_multiclass()
    if name == "gender":
        bolukbasi = fetch_debiaswe(offline=offline)
        return Criterion(
            "gender",
            bolukbasi["definitional_pairs"],
            _PRESETS["gender"],
            bolukbasi["equalize_pairs"],
            bolukbasi["gender_specific_seed" if offline else "gender_specific"],
            {"female": published["female_roles"], "male": published["male_roles"]},
            ("she", "he"),
        )
    classes, sets = _PRESETS[str(name)], published[f"{name}_definitional_sets"]
    return Criterion(
        str(name),
        sets,
        classes,
        stereotyped_words=published[f"{name}_analogy_templates"],
        representatives=classes if name == "religion" else sets[0],
    )


def _read(path: Path) -> Criterion:
    content = read_json(path)
    if not isinstance(content, dict) or "definitional_sets" not in content:
        raise ValueError(
            f"{path}: expected a JSON object with 'definitional_sets', a list of lists of words; "
            f"got {found(content)}."
        )
    check_known(str(path), content, [field.name for field in fields(Criterion)])
    try:
        return Criterion(**{"name": path.stem, **content})
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path}: {error}") from error
