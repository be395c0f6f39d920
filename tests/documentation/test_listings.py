"""Every listing of the documentation runs as it stands; see `_listings.py` for what was repaired.

The listings are read from the document, which lies beside the repository; without it these tests
are skipped, and `tests/test_documented_api.py` is what remains.
"""

import ast
import contextlib
import inspect
import io
import math
import re

import numpy as np
import pytest

pytest.importorskip("gensim")

# Section of the metrics -> metric.
METRICS = {
    "6.3.1": "WEAT",
    "6.3.2": "RND",
    "6.3.3": "RNSB",
    "6.3.4": "MAC",
    "6.3.5": "ECT",
    "6.3.6": "RIPA",
}


class Reader:
    """Someone who types one listing after the other.

    Attributes
    ----------
    names : dict
        What is defined so far.
    shown : dict
        Line of the document -> (cell, value of its last expression, text printed).
    """

    def __init__(self, listings, guide, section):
        first, after, prompts = listings.SECTIONS[section]
        self.listings = listings
        self.cells = guide.cells(first, after, prompts=prompts)
        self.names = {"__name__": "__main__"}
        self.shown = {}

    def read(self):
        for cell in self.cells:
            if not cell.is_body:
                self.shown[cell.line] = (cell, *self.run(cell))
        return self

    def run(self, cell):
        *body, last = ast.parse(cell.code).body
        if not isinstance(last, ast.Expr):
            body, last = [*body, last], None
        name = f"<documentation, line {cell.line}>"
        text = io.StringIO()
        value = None
        with contextlib.redirect_stdout(text):
            code = ast.Module(body, type_ignores=[])
            exec(compile(code, name, "exec", dont_inherit=True), self.names)
            if last is not None:
                code = ast.Expression(last.value)
                value = eval(compile(code, name, "eval", dont_inherit=True), self.names)
        return value, text.getvalue()

    def results(self):
        """Yield line, what the document prints and what the package returned, for dictionaries."""
        for line, (cell, value, text) in self.shown.items():
            documented = self.listings.parse_printed(cell.printed)
            if isinstance(documented, dict):
                returned = self.listings.parse_printed(text) if text.startswith("{") else value
                yield line, documented, returned


@pytest.fixture
def read(listings, guide):
    return lambda section: Reader(listings, guide, section).read()


def squeezed(text):
    """Return a text without spaces and without the marks of wrapped lines."""
    return re.sub(r"[\s→-]", "", text)


def assert_same_keys(documented, returned, whole=True):
    """Compare keys and their order; of older results the document prints only the first ones."""
    keys = list(returned)
    assert list(documented) == (keys if whole else keys[: len(documented)])
    assert squeezed(documented["query_name"]) == squeezed(returned["query_name"])
    for key, value in documented.items():
        if isinstance(value, dict):
            assert_same_tree(value, returned[key], key)


def assert_same_tree(documented, returned, where):
    assert list(documented) == list(returned), where
    for key, value in documented.items():
        if isinstance(value, dict):
            assert_same_tree(value, returned[key], f"{where}/{key}")
        else:
            assert isinstance(returned[key], float), f"{where}/{key}"


def numbers(tree, skip=(), where=""):
    """Yield path and number of every number, except under the keys to skip."""
    for key, value in tree.items():
        if key in skip:
            continue
        path = f"{where}/{key}"
        if isinstance(value, dict):
            yield from numbers(value, skip, path)
        elif not isinstance(value, str):
            yield path, value


def assert_same_numbers(documented, returned, skip=(), rel=1e-6, atol=1e-7):
    """The document printed results of float32 arithmetic."""
    wanted = dict(numbers(documented, skip))
    got = {path: number for path, number in numbers(returned, skip) if path in wanted}
    assert got == pytest.approx(wanted, rel=rel, abs=atol, nan_ok=True)


# The tables of repairs


def test_every_repair_is_about_a_line_that_is_as_the_table_says(listings, document):
    guide = listings.Guide.read(document)
    for first, after, prompts in listings.SECTIONS.values():
        guide.cells(first, after, prompts=prompts)
    rows = {
        *(repair.line for repair in listings.REPAIRS),
        *(first for first, _ in listings.INDENTS),
        *listings.LOST,
        *listings.ERRORS,
        *listings.SHORTENED,
    }
    assert rows == guide.used


def test_sections_that_hold_signatures_only_hold_no_listing(listings, guide):
    for section in ("6.5", "6.6", "6.7", "7"):
        first, after, prompts = listings.SECTIONS[section]
        assert guide.cells(first, after, prompts=prompts) == [], section


# Signatures

# What the document says and we write otherwise: documented default -> ours, and why.
DEFAULTS = {
    "preprocessors": ([{}], None, "None means [{}]; a list is mutable"),
    "options": ({}, None, "None means {}"),
    "metric_params": ({}, None, "None means {}"),
    "estimator": ("LogisticRegression", None, "None means LogisticRegression, imported when used"),
    "estimator_params": (
        {"max_iter": 10000, "solver": "liblinear"},
        None,
        "None means these, for LogisticRegression",
    ),
    "ascending": (True, None, "None ranks by the order of the metric; ECT is better when higher"),
}


def documented_default(text):
    if text == '"':
        return ""  # two quotes that became one sign
    if text.startswith("<class"):
        return text.rpartition(".")[2].rstrip(">'")
    return ast.literal_eval(text)


def resolve(name, section):
    import wefe.metrics

    if name == "run_query":
        return getattr(wefe.metrics, METRICS[section]).run_query
    module, _, attribute = name.rpartition(".")
    namespace = {}
    exec(f"from {module} import {attribute}", namespace)
    return namespace[attribute]


@pytest.mark.parametrize("section", ["6.1", "6.2", *METRICS, "6.5", "6.6", "6.7"])
def test_signatures_are_those_documented(listings, guide, section):
    from wefe.embeddings import Lookup, embed_query

    shared = inspect.signature(embed_query).parameters
    first, after, _ = listings.SECTIONS[section]
    printed = list(listings.signatures(guide.raw(first, after)))
    assert printed
    for name, parameters in printed:
        ours = inspect.signature(resolve(name, section)).parameters
        for parameter, text in parameters:
            known = ours.get(parameter)
            if known is None and name == "run_query":
                assert parameter in Lookup.__annotations__, (name, parameter)
                known = shared[parameter]
            assert known is not None, (name, parameter)
            if text is None:
                assert known.default is inspect.Parameter.empty, (name, parameter)
                continue
            documented = documented_default(text)
            if parameter in DEFAULTS:
                wanted, put, _ = DEFAULTS[parameter]
                assert documented == wanted, (name, parameter)
                documented = put
            assert known.default == documented, (name, parameter)


# 2 Quick start


def test_quick_start(read, downloads):
    reader = read("2")
    ((_, documented, returned),) = reader.results()
    assert_same_keys(documented, returned)
    assert downloads == ["glove-twitter-25"]
    assert reader.names["twitter_25"].vector_size == 25
    assert math.isfinite(returned["weat"])
    assert math.isnan(returned["p_value"])


# 3 Bias measurement


@pytest.fixture
def measurement(read, downloads, shown, caplog):
    reader = read("3")
    reader.figures = shown
    reader.log = caplog.text
    return reader


def test_bias_measurement_returns_what_is_documented(measurement):
    lines = []
    for line, documented, returned in measurement.results():
        lines.append(line)
        assert_same_keys(documented, returned)
        for path, number in numbers(documented, skip=("p_value",)):
            assert math.isfinite(number), path
    assert len(lines) == 4
    *_, with_p_value, _ = (returned for _, _, returned in measurement.results())
    assert 0 < with_p_value["p_value"] <= 1


def test_query_is_shown_as_documented(measurement):
    cell, value, _ = measurement.shown[334]
    assert squeezed(cell.printed) == squeezed(repr(value))


def test_printed_names_are_the_documented_ones_but_for_two(measurement, listings):
    # The document is about an older list: the published test leaves these two names out.
    cell, _, text = measurement.shown[463]
    documented = listings.parse_printed(cell.printed)
    names = ast.literal_eval(text)
    assert names == [name for name in documented if name not in ("Sara", "Amber")]


def test_names_are_lost_without_a_preprocessor_and_found_with_one(measurement):
    lost = measurement.shown[484][1]
    assert list(lost)[:4] == ["query_name", "result", "weat", "effect_size"]
    assert math.isnan(lost["result"])
    assert math.isnan(lost["weat"])
    assert math.isnan(lost["effect_size"])
    for name in ("'Adam'", "'Yvette'", "European american names"):
        assert name in measurement.log
    for line in (530, 544, 589, 632):
        assert math.isfinite(measurement.shown[line][1]["result"]), line


def test_query_on_science_has_no_result_until_words_are_put_in_lower_case(measurement):
    without = measurement.shown[747][1]
    models = [f"glove twitter dim={dim}" for dim in (25, 50, 100)]
    assert list(without.index) == models
    assert without.isna().all(axis=0).tolist() == [False, True, False]
    within = measurement.shown[762][1]
    assert list(within.columns) == list(without.columns)
    assert within.notna().all(axis=None)


def test_aggregated_tables_rankings_and_correlations_have_the_documented_shape(measurement):
    names = measurement.names
    aggregated = "WEAT: Gender Queries average of abs values score"
    assert names["WEAT_gender_results_agg"].shape == (3, 4)
    assert names["WEAT_gender_results_agg"].columns[-1] == aggregated
    assert list(names["WEAT_gender_results_only_agg"].columns) == [aggregated]
    assert names["RNSB_gender_results"].columns[0] == aggregated.replace("WEAT", "RNSB")
    for ranking in ("gender_ranking", "ethnicity_ranking"):
        assert names[ranking].shape == (3, 3)
        assert all(sorted(names[ranking][column]) == [1, 2, 3] for column in names[ranking])
    assert names["correlations"].shape == (3, 3)
    assert np.allclose(np.diag(measurement.shown[1055][1]), 1)


def test_six_figures_are_shown(measurement):
    assert len(measurement.figures) == 6
    assert all(len(figure.data) for figure in measurement.figures)


# 5 Loading embeddings from different sources


def test_loading_from_different_sources(read, downloads, files, flair):
    reader = read("5")
    results = list(reader.results())
    assert len(results) == 3
    for _, documented, returned in results:
        assert_same_keys(documented, returned, whole=False)
        assert math.isfinite(returned["result"])
    # All three hold the same vectors.
    from_bin = reader.shown[1553][1]["result"]
    from_text, from_flair = (returned["result"] for _, _, returned in results[1:])
    assert from_bin == pytest.approx(from_text)
    assert from_bin == pytest.approx(from_flair)


# 6.1 WordEmbeddingModel, 6.2 Query


@pytest.mark.parametrize("section", ["6.1", "6.2"])
def test_classes(read, section):
    reader = read(section)
    compared = 0
    for cell, value, text in reader.shown.values():
        if cell.printed:
            compared += 1
            printed = text if text else repr(value)
            assert cell.printed.strip() == printed.strip()
    assert compared == {"6.1": 2, "6.2": 3}[section]


# 6.3 Metrics: on the packaged model, then on the model behind the printed figures


@pytest.fixture
def metric(read, downloads, request):
    """Read the section of a metric; those on RNSB need the opinion lexicon."""

    def read_section(section):
        if section == "6.3.3":
            request.getfixturevalue("mirror")
        return read(section)

    return read_section


@pytest.mark.parametrize("section", METRICS)
def test_metrics_return_the_documented_keys_on_the_packaged_model(metric, section):
    results = list(metric(section).results())
    assert results
    for line, documented, returned in results:
        if line == 2226:  # the extraction cut this result off after two entries
            assert list(returned) == ["query_name", "result", "rnd", "distance_by_word"]
        assert_same_keys(documented, returned, whole=line != 2226)
        assert all(math.isfinite(x) for _, x in numbers(returned, skip=("p_value",)))


@pytest.fixture
def real_metric(metric, real_word2vec):
    return metric


def test_weat_returns_the_documented_figures(real_metric):
    results = list(real_metric("6.3.1").results())
    assert len(results) == 4
    for _, documented, returned in results:
        drawn = () if math.isnan(documented["p_value"]) else ("p_value",)
        assert_same_numbers(documented, returned, skip=drawn)
    # The document resampled with replacement, 0.1866; the share of all 12,870 splits is 0.1971.
    assert returned["p_value"] == pytest.approx(0.1971251, abs=0.02)


def test_rnd_returns_the_documented_figures(real_metric):
    reader = real_metric("6.3.2")
    ((_, documented, returned),) = reader.results()
    assert_same_numbers(documented, returned, rel=1e-5)
    assert returned["distance_by_word"] == pytest.approx(
        {
            "wedding": -0.1056304,
            "marriage": -0.10163283,
            "children": -0.068374634,
            "parents": 0.00097084,
            "relatives": 0.0483346,
            "family": 0.12408042,
            "cousins": 0.17195654,
            "home": 0.1733501,
        },
        abs=1e-6,
    )
    assert reader.shown[2231][1]["result"] == pytest.approx(-0.00627878, abs=1e-7)
    assert reader.shown[2233][1]["result"] == pytest.approx(0.03643464, abs=1e-7)


def test_rnsb_returns_the_documented_figures(real_metric):
    reader = real_metric("6.3.3")
    results = {line: (documented, returned) for line, documented, returned in reader.results()}
    for documented, returned in results.values():
        assert_same_keys(documented, returned)  # the words, in the documented order
        probabilities = returned["negative_sentiment_probabilities"]
        assert all(0 < p < 1 for p in probabilities.values())
        assert sum(returned["negative_sentiment_distribution"].values()) == pytest.approx(1)
        assert 0 <= returned["rnsb"] <= math.log(len(probabilities))
    # Nothing is random without a hold-out; with one, the mean of a thousand runs hardly is.
    assert_same_numbers(*results[2544], rel=1e-4)
    documented, returned = results[2602]
    assert returned["rnsb"] == pytest.approx(documented["rnsb"], abs=0.003)
    for key in ("negative_sentiment_probabilities", "negative_sentiment_distribution"):
        assert returned[key] == pytest.approx(documented[key], abs=0.01)
    assert "precision" in reader.shown[2447][2]
    assert reader.shown[2544][2].strip()


def test_mac_returns_the_documented_figures(real_metric):
    results = {line: parts for line, *parts in real_metric("6.3.4").results()}
    assert len(results) == 3
    for documented, returned in results.values():
        assert_same_keys(documented, returned)
    assert_same_numbers(*results[2971])
    assert_same_numbers(*results[3068])
    # A word of this attribute set is missing in the subset; the other sets are independent of it.
    assert_same_numbers(*results[3176], skip=("result", "mac", "christian biased words"))


def test_ect_returns_the_documented_figures(real_metric):
    results = list(real_metric("6.3.5").results())
    assert len(results) == 2
    for _, documented, returned in results:
        assert_same_numbers(documented, returned)


def test_ripa_returns_the_documented_figures_but_from_all_pairs(real_metric):
    ((_, documented, returned),) = real_metric("6.3.6").results()
    # The document left the last of the eight pairs out; these are computed from all of them.
    means_and_deviations = {
        "home": (0.024517, 0.082503),
        "parents": (0.219387, 0.291049),
        "children": (0.315017, 0.262444),
        "family": (0.074982, 0.194731),
        "cousins": (-0.041409, 0.261146),
        "marriage": (0.421688, 0.314837),
        "wedding": (0.419792, 0.273496),
        "relatives": (0.163565, 0.196934),
    }
    assert list(documented["word_values"]) == list(means_and_deviations)
    assert returned["result"] == pytest.approx(0.19969232, rel=1e-6)
    for word, (mean, deviation) in means_and_deviations.items():
        assert returned["word_values"][word] == pytest.approx(
            {"mean": mean, "std": deviation}, abs=1e-6
        )


def test_ripa_of_seven_pairs_is_what_the_document_prints(real_metric):
    reader = real_metric("6.3.6")
    ((_, documented, _),) = reader.results()
    query, model = reader.names["query"], reader.names["model"]
    first_seven = reader.names["Query"](
        [words[:7] for words in query.target_sets],
        query.attribute_sets,
        query.target_sets_names,
        query.attribute_sets_names,
    )
    assert_same_numbers(documented, reader.names["RIPA"]().run_query(first_seven, model), atol=1e-6)


# 11 Previous studies replication


def test_replication_of_rnsb(read, mirror, downloads, shown):
    reader = read("11")
    # The figures are empty: the listing makes a two-column table of what was a list of pairs once,
    # and is a dictionary in chapter 6.
    for results in ("glove_results", "conceptnet_results"):
        returned = reader.names[results]
        assert len(returned["negative_sentiment_distribution"]) == 15
        assert math.isfinite(returned["rnsb"])
    assert len(shown) == 2
    assert [figure.layout.yaxis.title.text for figure in shown] == ["Sentiment distribution"] * 2


# 15.4 How to implement your own metric


@pytest.fixture
def own_metric(read, downloads):
    with pytest.warns(UserWarning, match="not the word2vec"):
        return read("15.4")


def test_own_metric_runs_and_returns_what_is_documented(own_metric):
    ((_, documented, returned),) = own_metric.results()
    assert_same_keys(documented, returned)
    assert math.isfinite(returned["em"])


@pytest.mark.filterwarnings("error::DeprecationWarning")
def test_own_metric_can_be_run_on_many_queries(own_metric):
    from wefe.utils import run_queries

    names = own_metric.names
    metric, query, model = (names[name] for name in ("ExampleMetric", "query", "model"))
    table = run_queries(metric, [query], [model])
    assert table.iloc[0, 0] == metric().run_query(query, model)["em"]


def test_own_metric_returns_the_documented_figure(real_word2vec, own_metric):
    ((_, documented, returned),) = own_metric.results()
    assert_same_numbers(documented, returned)


def test_vectors_of_a_query_are_those_documented(real_word2vec, own_metric, listings, guide):
    first, after, _ = listings.SECTIONS["15.4"]
    shown = re.findall(r"'(\w+)': array\(\[([^\]]*)\]", guide.raw(first, after))
    assert len(shown) == 10
    embeddings = {
        word: vector
        for sets in (own_metric.names["target_sets"], own_metric.names["attribute_sets"])
        for part in sets.values()
        for word, vector in part.items()
    }
    for word, text in shown:
        # The comma before the three dots was read as a full stop in one of them.
        start = [float(part) for part in re.findall(r"-?\d\.\d+(?:e-\d+)?", text)]
        assert len(start) == 3
        assert embeddings[word][:3] == pytest.approx(start, rel=1e-6), word
        assert embeddings[word].dtype == np.float32


def test_lines_of_a_method_run_inside_a_method(listings, own_metric):
    # The guide explains the body of `run_query` piece by piece before it shows the whole.
    pieces = [cell.code for cell in own_metric.cells if cell.is_body]
    assert len(pieces) == 3
    body = "\n".join([*pieces, "return embeddings"])
    code = (
        "class Piecewise(ExampleMetric):\n"
        "    def run_query(self, query, model, lost_vocabulary_threshold=0.2, preprocessors=[{}],\n"
        "                  strategy='first', normalize=False, warn_not_found_words=False):\n"
        + re.sub(r"^", "        ", body, flags=re.M)
    )
    names = own_metric.names
    exec(compile(code, "<documentation, 15.4.2>", "exec", dont_inherit=True), names)
    metric, query = names["Piecewise"](), names["query"]
    targets, attributes = metric.run_query(query, names["model"])
    assert list(targets) == ["Flowers", "Weapons"]
    assert list(attributes) == ["Pleasant"]
    lost = names["Query"]([["flour", "?"], ["gun"]], [["love"]])
    result = metric.run_query(lost, names["model"])
    assert list(result) == ["query_name", "result", "metrica_default_value"]
    assert math.isnan(result["result"])
