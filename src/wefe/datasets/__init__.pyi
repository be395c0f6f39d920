from ._catalogue import list_datasets, list_query_sets
from ._criteria import list_criteria, load_criterion
from ._criterion import Criterion
from ._eds import fetch_eds, fetch_occupation_shares
from ._languages import (
    grammatical_gender_counts,
    language_notes,
    list_languages,
    load_language_criterion,
    load_language_words,
    load_occupations,
)
from ._queries import (
    list_queries_left_out,
    load_case_study_queries,
    load_query_set,
    load_weat_queries,
)
from ._studies import (
    fetch_bsa,
    fetch_debias_multiclass,
    fetch_debiaswe,
    fetch_gn_glove,
    fetch_holistic_bias,
    load_bingliu,
    load_rnsb_identity_terms,
    load_sembias,
    load_weat,
)

__all__ = [
    "Criterion",
    "fetch_bsa",
    "fetch_debias_multiclass",
    "fetch_debiaswe",
    "fetch_eds",
    "fetch_gn_glove",
    "fetch_holistic_bias",
    "fetch_occupation_shares",
    "grammatical_gender_counts",
    "language_notes",
    "list_criteria",
    "list_datasets",
    "list_languages",
    "list_queries_left_out",
    "list_query_sets",
    "load_bingliu",
    "load_case_study_queries",
    "load_criterion",
    "load_language_criterion",
    "load_language_words",
    "load_occupations",
    "load_query_set",
    "load_rnsb_identity_terms",
    "load_sembias",
    "load_weat",
    "load_weat_queries",
]
