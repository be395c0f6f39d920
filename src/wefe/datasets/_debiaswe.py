"""Word sets of Bolukbasi et al. (NIPS 2016), debiaswe."""

import json
from typing import Any

from wefe.datasets._download import fetch_file
from wefe.datasets._shipped import shipped_word_sets

GENDER_SPECIFIC = "debiaswe/gender_specific_full.json"
PROFESSIONS = "debiaswe/professions.json"


def fetch_debiaswe(*, offline: bool = False) -> dict[str, Any]:
    """Fetch the word sets of *Man is to Computer Programmer as Woman is to Homemaker?* [1]_.

    The pairs and the seed list ship with the package; the full list of gender-specific words and
    the professions are downloaded by the first call.

    Parameters
    ----------
    offline : bool, default=False
        If True, nothing is downloaded and `gender_specific`, `professions` and `profession_scores`
        are left out.

    Returns
    -------
    dict
        - `definitional_pairs`: ten ``[female, male]`` pairs;
        - `female_terms`, `male_terms`: the words of these pairs;
        - `equalize_pairs`: 52 pairs; most, not all, begin with the male word;
        - `gender_specific_seed`: the 218 words chosen by hand;
        - `gender_specific`: the 1441 words learned from them;
        - `professions`: 320 names;
        - `profession_scores`: ``[name, definitional, stereotypical]`` for each of them, from -1
          (female) to 1 (male): 'actress' is female by definition, 'nurse' by stereotype.

    Raises
    ------
    ValueError
        If a file found is not the one published.
    ConnectionError
        If the bulk lists are neither at hand nor to be downloaded.

    Notes
    -----
    Earlier releases took element 0 of each definitional pair for the male word, so
    their `male_terms` and `female_terms` were exchanged.

    The bulk lists (28 kB) are cached. Without internet, the environment variable ``WEFE_DATA_DIR``
    may name a folder that holds them under ``debiaswe/``, named as published.

    References
    ----------
    .. [1] T. Bolukbasi, K.-W. Chang, J. Zou, V. Saligrama and A. Kalai. Man is to Computer
       Programmer as Woman is to Homemaker? Debiasing Word Embeddings. NIPS 2016.

    Examples
    --------
    >>> from wefe.datasets import fetch_debiaswe
    >>> word_sets = fetch_debiaswe(offline=True)
    >>> word_sets["definitional_pairs"][:2]
    [['woman', 'man'], ['girl', 'boy']]
    >>> word_sets["female_terms"][:2]
    ['woman', 'girl']
    """
    word_sets = shipped_word_sets("debiaswe")
    # Element 0 is the female word.
    word_sets["female_terms"] = [female for female, _ in word_sets["definitional_pairs"]]
    word_sets["male_terms"] = [male for _, male in word_sets["definitional_pairs"]]
    if not offline:
        scores = _read_json(PROFESSIONS)
        word_sets["gender_specific"] = _read_json(GENDER_SPECIFIC)
        word_sets["professions"] = [name for name, _, _ in scores]
        word_sets["profession_scores"] = scores
    return word_sets


def _read_json(name: str) -> Any:
    return json.loads(fetch_file(name).read_text(encoding="utf-8"))
