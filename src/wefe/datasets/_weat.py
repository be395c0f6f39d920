"""Word sets of the ten WEAT tests (Caliskan, Bryson & Narayanan, Science 2017)."""

from wefe.datasets._shipped import shipped_word_sets


def load_weat() -> dict[str, list[str]]:
    """Load the word sets of the ten WEAT tests [1]_.

    Returns
    -------
    dict of str to list of str
        32 sets, cased as published: `flowers`, `insects`, `pleasant_5`, `career`, `male_terms`
        and so on. A number names the test that a variant belongs to. `unpleasant_5a` serves tests
        1 and 2, `unpleasant_5b` tests 3 and 4; `unpleasant_5` is another name for `unpleasant_5a`.

    See Also
    --------
    load_weat_queries : The ten tests as queries.

    References
    ----------
    .. [1] A. Caliskan, J. J. Bryson and A. Narayanan. Semantics derived automatically from language
       corpora contain human-like biases. Science 356(6334):183-186, 2017.

    Examples
    --------
    >>> from wefe.datasets import load_weat
    >>> word_sets = load_weat()
    >>> word_sets["male_names"]
    ['John', 'Paul', 'Mike', 'Kevin', 'Steve', 'Greg', 'Jeff', 'Bill']
    """
    return shipped_word_sets("weat")
