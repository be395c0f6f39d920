"""Identity terms of RNSB (Sweeney & Najafian, ACL 2019)."""

from wefe.datasets._shipped import shipped_word_sets


def load_rnsb_identity_terms() -> dict[str, list[str]]:
    """Load the identity terms of the RNSB paper.

    Each term stands for one group. The query sets `rnsb_national_origin` and `rnsb_religion` of
    :func:`load_query_set` make each a target set of its own. Source: Sweeney and Najafian, A
    Transparent Framework for Evaluating Unintended Demographic Bias in Word Embeddings, ACL 2019.

    Returns
    -------
    dict of str to list of str
        `national_origin_terms` (15) and `religion_terms` (17, capitalised as published).

    Examples
    --------
    >>> load_rnsb_identity_terms()["national_origin_terms"][:3]
    ['swedish', 'irish', 'mexican']
    """
    return shipped_word_sets("rnsb")
