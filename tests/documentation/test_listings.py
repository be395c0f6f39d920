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
# Section of the mitigation methods -> method.
METHODS = {
    "6.4.1": "HardDebias",
    "6.4.2": "MulticlassHardDebias",
    "6.4.3": "RepulsionAttractionNeutralization",
    "6.4.4": "DoubleHardDebias",
    "6.4.5": "HalfSiblingRegression",
}
CLASSES = {"6.1": "WordEmbeddingModel", "6.2": "Query", **METRICS, **METHODS}


class Reader:
    """Someone who types one listing after the other.

    Attributes
    ----------
    names : dict
        What is defined so far.
    shown : dict
        Line of the document -> (cell, value of its last expression, text printed).
    after : dict
        Line of the document -> names as they were after its cell.
    """

    def __init__(self, listings, guide, section):
        first, after, prompts = listings.SECTIONS[section]
        self.listings = listings
        self.cells = guide.cells(first, after, prompts=prompts)
        self.names = {"__name__": "__main__"}
        self.shown = {}
        self.after = {}

    def read(self, but=None):
        for cell in self.cells:
            if not cell.is_body and cell.line != but:
                self.shown[cell.line] = (cell, *self.run(cell))
                self.after[cell.line] = dict(self.names)
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
    return lambda section, but=None: Reader(listings, guide, section).read(but)


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
    "pca_args": ({"n_components": 10}, None, "None means this; a dictionary is mutable"),
    "weights": ([0.33, 0.33, 0.33], (0.33, 0.33, 0.33), "a list is mutable"),
    "ignore": ([], None, "None means []; documented as None for the other methods"),
}

# Documented as required; None by default, as a criterion can stand for them.
FROM_A_CRITERION = (
    *("definitional_pairs", "definitional_sets", "definitional_words"),
    *("equalize_sets", "bias_representation"),
)


def documented_default(text):
    if text == '"':
        return ""  # two quotes that became one sign
    if text.startswith("<class"):
        return text.rpartition(".")[2].rstrip(">'")
    return ast.literal_eval(text)


def resolve(name, section):
    import wefe.debias

    module, _, attribute = name.rpartition(".")
    if not module:
        return getattr(getattr(wefe.debias if section in METHODS else wefe, CLASSES[section]), name)
    namespace = {}
    exec(f"from {module} import {attribute}", namespace)
    return namespace[attribute]


@pytest.mark.parametrize("section", [*CLASSES, "6.5", "6.6", "6.7"])
def test_signatures_are_those_documented(listings, guide, section):
    import wefe
    from wefe.embeddings import Lookup, get_embeddings_from_query

    # What `run_query` takes beside query and model: options of the look-up, fields of the metric.
    of_lookup = inspect.signature(get_embeddings_from_query).parameters
    shared = {name: of_lookup[name] for name in Lookup.__annotations__}
    if section in METRICS:
        shared |= inspect.signature(getattr(wefe, CLASSES[section])).parameters
    first, after, _ = listings.SECTIONS[section]
    printed = list(listings.signatures(guide.raw(first, after)))
    assert printed
    for name, parameters in printed:
        ours = inspect.signature(resolve(name, section)).parameters
        for parameter, text in parameters:
            known = ours.get(parameter)
            if known is None and name == "run_query":
                known = shared.get(parameter)
            assert known is not None, (name, parameter)
            if text is None:
                given = name == "fit" and parameter in FROM_A_CRITERION
                required = None if given else inspect.Parameter.empty
                assert known.default is required, (name, parameter)
                continue
            documented = documented_default(text)
            if parameter in DEFAULTS and known.default != documented:
                wanted, put, _ = DEFAULTS[parameter]
                assert documented == wanted, (name, parameter)
                documented = put
            assert known.default == documented, (name, parameter)


def test_sections_on_mitigation_print_every_signature(listings, guide):
    for section, name in METHODS.items():
        first, after, _ = listings.SECTIONS[section]
        printed = [name for name, _ in listings.signatures(guide.raw(first, after))]
        methods = ["__init__", "fit", "transform"]
        if name == "DoubleHardDebias":
            methods.insert(2, "get_target_words")
        assert [name for name in printed if "." not in name] == methods, section


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


def test_names_are_lost_without_a_preprocessor_and_found_with_one(measurement):
    lost = measurement.shown[484][1]
    assert list(lost)[:4] == ["query_name", "result", "weat", "effect_size"]
    assert math.isnan(lost["result"])
    assert math.isnan(lost["weat"])
    assert math.isnan(lost["effect_size"])
    for name in ("Adam", "Yvette", "European american names"):
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


# 4 Bias mitigation. What the document prints of copies and of progress is not printed by us.

SAVED = 1395  # the line where a mitigated model is saved
COMPARISON = re.compile(r"(\d\.\d+) [<>] (\d\.\d+)")


@pytest.fixture
def mitigation(read, mirror, tmp_path, monkeypatch):
    """Read a section on mitigation, in an empty working directory."""
    monkeypatch.chdir(tmp_path)
    return read


def comparisons(reader):
    """Return the lines that compare a score after mitigation with the one before, in order."""
    texts = (text for _, _, text in reader.shown.values())
    return [match[0] for text in texts for match in COMPARISON.finditer(text)]


def changed_words(before, after):
    """Return the words whose vectors differ between two models."""
    assert list(before.vocab) == list(after.vocab)
    same = (before.vectors == after.vectors).all(axis=1)
    return {word for word, row in before.vocab.items() if not same[row]}


def in_every_case(sets):
    """Return the words of sets as they are equalized: as given, in lower, title, upper case."""
    words = [word for part in sets for word in part]
    return {form for word in words for form in (word, word.lower(), word.title(), word.upper())}


def test_mitigation_lowers_the_association_measured(mitigation):
    reader = mitigation("4")
    printed = [[float(number) for number in line.split(" ")[::2]] for line in comparisons(reader)]
    assert len(printed) == 5
    after, before = printed[0]
    assert after < before / 10
    after, before = printed[2]
    assert after < before / 10
    names = reader.names
    assert abs(names["debiased_results"]["weat"]) < abs(names["biased_results"]["weat"]) / 2
    assert names["model"].name == "minilm-words"
    assert names["gender_debiased_model"].name == "minilm-words_gender_debiased"
    assert names["ethnicity_debiased_model"].name == "minilm-words_ethnicity_debiased"


def test_mitigation_prints_the_documented_figures(mitigation, real_word2vec, listings, guide):
    reader = mitigation("4")
    first, after, _ = listings.SECTIONS["4"]
    documented = [match[0] for match in COMPARISON.finditer(guide.raw(first, after))]
    assert len(documented) == 5
    assert comparisons(reader) == documented
    for results, figure in [("biased_results_1", 0.463439), ("debiased_results_1", 0.047349)]:
        assert reader.after[1215][results]["weat"] == pytest.approx(figure, abs=1e-6)
        assert reader.after[1332][results]["weat"] == pytest.approx(figure, abs=1e-6)
    for line, figure in [(1241, 0.055328), (1360, 0.079940)]:
        assert reader.after[line]["debiased_results_2"]["weat"] == pytest.approx(figure, abs=1e-6)


def test_mitigated_model_is_saved_as_documented(mitigation, tmp_path):
    from gensim.models import KeyedVectors

    mitigated = mitigation("4").after[SAVED]["gender_debiased_model"]
    saved = KeyedVectors.load(str(tmp_path / "gender_debiased_glove.kv"))
    assert saved.index_to_key == list(mitigated.vocab)
    assert np.array_equal(saved.vectors, mitigated.vectors)


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


# 6.4 Debias

# Section -> line of a transformation -> its target (None for all words), and what it ignores: the
# name of a word set, or words.
TRANSFORMATIONS = {
    "6.4.1": {
        3649: (None, "gender_specific"),
        3695: (
            "executive management professional corporation salary office business career home "
            "parents children family cousins marriage wedding relatives",
            "",
        ),
    },
    "6.4.2": {3826: (None, "")},
    "6.4.3": {4014: ("doctor nurse programmer", ""), 4023: (None, "gender_specific")},
    "6.4.4": {4171: (None, "gender_specific"), 4183: ("doctor nurse programmer teacher", "")},
    "6.4.5": {
        4374: (None, "gender_specific"),  # its definitional words
        4382: ("doctor nurse programmer", ""),
        4392: (None, "dress beard niece nephew"),
    },
}


@pytest.mark.parametrize("section", METHODS)
def test_methods_change_the_words_they_are_asked_to(mitigation, section):
    reader = mitigation(section)
    assert list(TRANSFORMATIONS[section]) == [
        cell.line for cell in reader.cells if ".transform(" in cell.code
    ]
    for line, (target, ignored) in TRANSFORMATIONS[section].items():
        names = reader.after[line]
        model = names["model"]
        mitigated = names[reader.shown[line][0].code.partition(" =")[0]]
        changed = changed_words(model, mitigated)
        # Equalized words change in any case.
        sets = names.get("equalize_pairs", names.get("ethnicity_equalize_sets", []))
        equalized = in_every_case(sets)
        if target is not None:
            wanted = set(target.split())
            assert wanted <= changed <= wanted | equalized, line
            continue
        assert len(changed) > 0.9 * len(model), line
        kept = set(names.get(ignored, ignored.split())) - equalized
        if section == "6.4.4":
            # Ignored words are centred as all others are, and keep the bias direction.
            direction, mean = names["dhd"].bias_direction_, names["dhd"].mean_
            for word in kept & set(model.vocab):
                along = (model[word] - mean) @ direction
                assert mitigated[word] @ direction == pytest.approx(along, abs=1e-6), word
        else:
            assert not changed & kept, line


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


# 13.5 Ease of running bias mitigation algorithms


def test_two_methods_are_run_alike(mitigation, downloads):
    reader = mitigation("13.5")
    *_, (_, _, text) = reader.shown.values()
    before, hard, ran = (float(line.rpartition(" ")[2]) for line in text.splitlines())
    assert abs(hard) < abs(before) / 10
    assert abs(ran) < abs(before)
    names = reader.names
    model, targets = names["model"], set(names["targets"])
    assert changed_words(model, names["ran_debiased_model"]) == targets
    equalized = in_every_case(names["definitional_pairs"])
    assert targets <= changed_words(model, names["hd_debiased_model"]) <= targets | equalized
    assert downloads == ["glove-twitter-25"]


# 15.4 How to implement your own metric


@pytest.fixture
def own_metric(read, downloads):
    with pytest.warns(UserWarning, match="not the word2vec"):
        return read("15.4")


def test_own_metric_runs_and_returns_what_is_documented(own_metric):
    ((_, documented, returned),) = own_metric.results()
    assert_same_keys(documented, returned)
    assert math.isfinite(returned["em"])


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


# 15.5 Mitigation method implementation guide

# What the prose of the section names, or the listings use.
NAMES_OF_GUIDE = """
from abc import abstractmethod
from copy import deepcopy
from typing import List, Optional, Sequence
from wefe.debias.base_debias import BaseDebias
from wefe.preprocessing import get_embeddings_from_sets
from wefe.utils import check_is_fitted
from wefe.word_embedding_model import WordEmbeddingModel
"""


@pytest.fixture
def own_method(read, listings):
    """Two classes of the methods that the guide shows: the abstract ones, and those of a method."""
    abstract_fit, fit, abstract_transform, transform = (cell.code for cell in read("15.5").cells)
    # The guide cuts this method off, where the vectors are going to change.
    transform += "\n    return model"
    names = {"__name__": "__main__"}
    code = NAMES_OF_GUIDE
    for name, base, methods in [
        ("Abstract", "", [abstract_fit, abstract_transform]),
        ("Own", "(BaseDebias)", [fit, transform]),
    ]:
        code += (
            f"class {name}{base}:\n" + re.sub(r"^", "    ", "\n".join(methods), flags=re.M) + "\n"
        )
    exec(compile(code, "<documentation, 15.5>", "exec", dont_inherit=True), names)
    return names


def test_methods_to_implement_are_those_documented(own_method):
    from wefe.debias import BaseDebias

    for name in ("fit", "transform"):
        documented, ours = (getattr(owner, name) for owner in (own_method["Abstract"], BaseDebias))
        assert documented.__isabstractmethod__
        assert ours.__isabstractmethod__
        documented, ours = (
            [(each.name, each.kind, each.default) for each in signature.parameters.values()]
            for signature in map(inspect.signature, (documented, ours))
        )
        assert ours == documented


@pytest.mark.parametrize("verbose", [False, True])
def test_own_mitigation_method_runs(own_method, mirror, capsys, verbose):
    from sklearn.exceptions import NotFittedError

    from wefe import load_test_model
    from wefe.datasets import fetch_debiaswe
    from wefe.debias import HardDebias

    model, pairs = load_test_model(), fetch_debiaswe()["definitional_pairs"]
    method = own_method["Own"](verbose=verbose, criterion_name="gender")
    with pytest.raises(NotFittedError):
        method.transform(model)
    assert method.fit(model, definitional_pairs=pairs) is method
    built_in = HardDebias().fit(model, pairs)
    assert method.bias_direction_ == pytest.approx(built_in.bias_direction_, abs=1e-6)
    assert ("Identifying the bias subspace." in capsys.readouterr().out) is verbose
    copy = method.transform(model, target=["nurse"], ignore=["she"])
    assert copy is not model
    assert copy == model
    assert method.transform(model, copy=False) is model
    with pytest.raises(TypeError, match="target"):
        method.transform(model, target="nurse")
    with pytest.raises(ValueError, match="2 words"):
        method.fit(model, definitional_pairs=[["she", "he", "they"]])
