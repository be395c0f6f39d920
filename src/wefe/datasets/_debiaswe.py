"""Word sets of Bolukbasi et al. (NIPS 2016), debiaswe."""

import json
from typing import Any

from wefe.datasets._download import fetch_file
from wefe.datasets._shipped import shipped_word_sets

GENDER_SPECIFIC = "debiaswe/gender_specific_full.json"
PROFESSIONS = "debiaswe/professions.json"


def fetch_debiaswe(*, offline: bool = False) -> dict[str, Any]:
    """Fetch the word sets of Bolukbasi et al.

    Source: Man is to Computer Programmer as Woman is to Homemaker?, NIPS 2016.

    Parameters
    ----------
    offline : bool, default=False
        Omit the three entries that the first call downloads (28 kB): `gender_specific`,
        `professions` and `profession_scores`.

    Returns
    -------
    dict
        - `definitional_pairs`: ten ``[female, male]`` pairs;
        - `female_terms`, `male_terms`: the words of these pairs (exchanged in earlier releases);
        - `equalize_pairs`: 52 pairs; most, not all, begin with the male word;
        - `gender_specific_seed`: 218 words chosen by hand;
        - `gender_specific`: 1441 words learned from them;
        - `professions`: 320 names;
        - `profession_scores`: ``[name, definitional, stereotypical]`` for each of them, from -1
          (female) to 1 (male): 'actress' is female by definition, 'nurse' by stereotype.

    Examples
    --------
    >>> fetch_debiaswe(offline=True)["definitional_pairs"][:2]
    [['woman', 'man'], ['girl', 'boy']]
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
