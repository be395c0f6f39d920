"""Word sets of Manzini et al. (NAACL 2019), DebiasMulticlassWordEmbedding."""

from typing import Any

from wefe.datasets._shipped import shipped_word_sets


def fetch_debias_multiclass() -> dict[str, Any]:
    """Return the word sets of Manzini et al., which ship with the package.

    What the published files call race is called ethnicity here. 'judgemental' is spelled as
    published; many models only have 'judgmental'. Source: Manzini et al., Black is to Criminal as
    Caucasian is to Police, NAACL-HLT 2019.

    Returns
    -------
    dict
        As published, with `gender`, `ethnicity` or `religion` for `*`: `*_definitional_sets`,
        tuples of words, one column per group; `*_analogy_templates`, dict of group to stereotyped
        words; `*_eval_target`, tuples of words, for evaluation.

        As word sets for queries, definitional words and stereotyped words:

        - gender: `male_terms`, `female_terms`; `male_roles`, `female_roles`;
        - ethnicity: `black_terms`, `white_terms`, `asian_terms`; `black_biased_words`,
          `white_biased_words`, `asian_biased_words`;
        - religion: `judaism_terms`, `christianity_terms`, `islam_terms`; `greed`, `conservative`,
          `terrorism`.

    Examples
    --------
    >>> fetch_debias_multiclass()["white_terms"]
    ['america', 'caucasian', 'europe', 'white']
    """
    word_sets = shipped_word_sets("debias_multiclass")
    male, female = zip(*word_sets["gender_definitional_sets"], strict=True)
    word_sets |= {"male_terms": list(male), "female_terms": list(female)}
    word_sets |= _columns("ethnicity", ("black_terms", "white_terms", "asian_terms"), word_sets)
    word_sets |= _columns(
        "religion", ("judaism_terms", "christianity_terms", "islam_terms"), word_sets
    )
    for criterion, group, name in [
        ("gender", "man", "male_roles"),
        ("gender", "woman", "female_roles"),
        ("ethnicity", "black", "black_biased_words"),
        ("ethnicity", "caucasian", "white_biased_words"),
        ("ethnicity", "asian", "asian_biased_words"),
        ("religion", "jew", "greed"),
        ("religion", "christian", "conservative"),
        ("religion", "muslim", "terrorism"),
    ]:
        word_sets[name] = list(word_sets[f"{criterion}_analogy_templates"][group])
    return word_sets


def _columns(
    criterion: str, names: tuple[str, ...], word_sets: dict[str, Any]
) -> dict[str, list[str]]:
    columns = zip(*word_sets[f"{criterion}_definitional_sets"], strict=True)
    # A word of a group may occur in several rows ('asian'), hence the set.
    return {name: sorted(set(column)) for name, column in zip(names, columns, strict=True)}
