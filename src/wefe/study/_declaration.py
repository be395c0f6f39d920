"""The study file: models, queries, metrics and options, checked before anything runs."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import pydantic
from pydantic import Field, model_validator

from wefe._checks import check_choice
from wefe.metrics._registry import get_metric
from wefe.study._entries import Lookup, MetricEntry, ModelEntry, QuerySetEntry
from wefe.study._extras import (
    AggregationEntry,
    AuditEntry,
    ExploreEntry,
    ExternalEntry,
    Intervals,
    MitigationEntry,
    QualityEntry,
    RetrievalEntry,
    SilhouetteEntry,
)
from wefe.study._plan import OVERALL
from wefe.study._schema import Location, Name, Part, Problem, lines_of, no_such, refuse, repeated

_FOLDER = Path(__file__).parent / "files"


class Declaration(Part):
    """The content of a study file, an immutable pydantic model; the file 'demo' explains every key.

    Parameters
    ----------
    name, description : str
        Title of the study, and what it is about (by default '').
    random_state : int, default=0
        Seed of everything random, in [0, 2**32).
    offline : bool, default=False
        Leave out queries that need a download.
    models : list of dict
        'source' or 'encoder'; optionally 'name' and options for opening the model.
    word_sets : dict, optional
        Name -> list of words. Queries and mitigations may use the name in place of the words. Read
        by :class:`Study`.
    queries : list of dict
        Query sets: 'set' (a published one), 'file', or 'name' and 'query'; optionally 'weight'.
    metrics : list of dict
        'metric', such as 'weat-es'; optionally 'label', 'params' and 'queries'.
    lookup : dict, optional
        'preprocessors', 'strategy', 'normalize', 'lost_vocabulary_threshold', 'own_words'.
    aggregation : dict, optional
        How scores become ranks: 'function', 'missing', 'ties', 'correlation'.
    intervals : dict, optional
        Bootstrap intervals of the scores: 'n_bootstrap' (0 for none), 'confidence' (0.95).
    audit : dict, optional
        'scores': whether to audit every score. 'criteria': whose bias directions to audit.
    explore : dict, optional
        Words along bias directions: 'criteria', 'words'.
    mitigations : list of dict, optional
        'method' and 'criterion'; optionally 'name', 'models', 'params'.
    silhouettes : list of dict, optional
        'metric', 'query_set' and options of :func:`wefe.silhouette.bias_silhouettes`.
    external : list of dict, optional
        Columns of external scores: 'name', 'best' ('higher', 'lower' or a number), 'scores'.
    quality : dict, optional
        The built-in quality column: 'benchmarks', 'name'.
    retrieval : list of dict, optional
        Ranking audits, which need no queries and metrics: 'queries', 'documents' and options of
        :func:`wefe.retrieval.audit_ranking`.

    Raises
    ------
    pydantic.ValidationError
        If a value is invalid; :class:`Study` raises a ValueError.

    Examples
    --------
    >>> from wefe.study import Study
    >>> Study.example().declaration.all_labels()
    ['minilm-words', 'minilm-words (hard-debias, gender)']
    """

    name: Name = Field(min_length=1)
    description: str = ""
    random_state: int = Field(default=0, ge=0, lt=2**32)
    offline: bool = False
    models: list[ModelEntry] = Field(min_length=1)
    word_sets: dict[Name, Annotated[list[str], Field(min_length=1)]] = Field(default={})
    queries: list[QuerySetEntry] = Field(default=[])
    metrics: list[MetricEntry] = Field(default=[])
    lookup: Lookup = Lookup()
    aggregation: AggregationEntry = AggregationEntry()
    intervals: Intervals = Intervals()
    audit: AuditEntry = AuditEntry()
    explore: ExploreEntry = ExploreEntry()
    mitigations: list[MitigationEntry] = Field(default=[])
    silhouettes: list[SilhouetteEntry] = Field(default=[])
    external: list[ExternalEntry] = Field(default=[])
    quality: QualityEntry | None = None
    retrieval: list[RetrievalEntry] = Field(default=[])

    @model_validator(mode="after")
    def _parts_fit(self) -> Declaration:
        checks = (_nothing_asked, _repeated, _unknown, _for_encoders)
        refuse(problem for check in checks for problem in check(self))
        return self

    def labels(self, *, encoders: bool | None = None) -> list[str]:
        """Return the names of the original models, without the mitigated ones.

        Parameters
        ----------
        encoders : bool, optional
            True for encoders only, False for tables of vectors only. Default: all.

        Returns
        -------
        list of str
            In the order of `models`.
        """
        return [model.label for model in self.models if encoders in (None, model.is_encoder)]

    def mitigated(self) -> list[tuple[ModelEntry, MitigationEntry]]:
        """Return pairs of a model, no encoder, and a mitigation, in the order of `mitigations`.

        Random methods use the seed of the study unless their parameters set one.
        """
        return [
            (model, mitigation.seeded(self.random_state))
            for mitigation in self.mitigations
            for model in self.models
            if not model.is_encoder
            and (mitigation.models is None or model.label in mitigation.models)
        ]

    def all_labels(self) -> list[str]:
        """Return the names of all models: `labels`, then those of the mitigated ones."""
        return self.labels() + [how.label_of(model.label) for model, how in self.mitigated()]

    def canonical(self) -> dict[str, Any]:
        """Return what determines the results, with defaults, as JSON data for :class:`Study`.

        The description is left out.
        """
        return self.model_dump(mode="json", exclude={"description", "word_sets"})


def check_declaration(data: Mapping[str, Any], file: str = "study") -> Declaration:
    """Validate the content of a study file and return the declaration."""
    try:
        json.dumps(data, allow_nan=False)  # so no dates and no NaN
        return Declaration.model_validate(dict(data), context=data.get("word_sets"))
    except pydantic.ValidationError as error:
        lines = lines_of(error)
    except (TypeError, ValueError, RecursionError) as error:
        lines = [str(error)]
    raise ValueError("\n".join(f"{file}: {line}" for line in dict.fromkeys(lines)))


def list_study_files() -> list[str]:
    """Return the names of the study files that ship with the package.

    Returns
    -------
    list of str
        Names for :func:`study_file`, in alphabetical order.

    Examples
    --------
    >>> list_study_files()
    ['bsa', 'cosine', 'demo', 'documentation', 'mitigation', 'rnsb', 'weat', 'wefe']
    """
    return sorted(path.stem for path in _FOLDER.glob("*.toml"))


def study_file(name: str = "demo") -> str:
    """Return the text of a study file that ships with the package.

    Parameters
    ----------
    name : str, default='demo'
        A name from :func:`list_study_files`: 'demo', which explains every section and runs offline,
        or a published study without its models (see :func:`wefe.replicate`).

    Returns
    -------
    str
        TOML. Save it to a file, edit it, and run it with :meth:`Study.from_file` or ``wefe run``.

    Examples
    --------
    >>> study_file("wefe").splitlines()[0]
    '# The case study of the WEFE paper (Badilla, Bravo-Marquez and Perez, IJCAI 2020, section 4).'
    """
    check_choice("name", name, list_study_files())
    text = (_FOLDER / f"{name}.toml").read_text(encoding="utf-8")
    if name not in papers():
        return text
    # The only entry stands for all models of the paper.
    before, entry, after = re.split(r'(\[\[models\]\]\n\w+ = "FILL IN)"\n', text)
    models = papers()[name]["models"].items()
    entries = [f'{entry}: {where}"\nname = "{model}"\n' for model, where in models]
    return "\n".join(entries).join([before, after])


@cache
def papers() -> dict[str, dict[str, Any]]:
    """Return the published studies: 'title', 'reference', 'shows' and 'models' by name."""
    return tomllib.loads(_FOLDER.with_name("papers.toml").read_text(encoding="utf-8"))


def _nothing_asked(study: Declaration) -> Iterator[Problem]:
    """Find the sections that a study lacks."""
    enough = {"queries": study.retrieval, "metrics": study.retrieval or study.silhouettes}
    for key, others in enough.items():
        if not (getattr(study, key) or others):
            yield (key,), "missing"


def _repeated(study: Declaration) -> Iterator[Problem]:
    """Find names that tables could not tell apart: of models, query sets, columns and audits."""

    def names(table: str, key: str = "name") -> list[tuple[Location, str]]:
        return [((table, i, key), each.label) for i, each in enumerate(getattr(study, table))]

    mitigated: list[tuple[Location, str]] = [
        (("mitigations",), how.label_of(model.label)) for model, how in study.mitigated()
    ]
    quality = [] if study.quality is None else [(("quality", "name"), study.quality.name)]
    for named in (
        names("models") + mitigated,
        [((), OVERALL), *names("queries")],
        [*names("metrics", "label"), *names("external"), *quality],
        names("retrieval"),
    ):
        for position in repeated([name for _, name in named]):
            where, name = named[position]
            yield where, f"something else is called {name!r}; choose another name"


def _unknown(study: Declaration) -> Iterator[Problem]:
    sets = [each.label for each in study.queries]
    every = study.all_labels()
    for table, key, known, what in (
        ("metrics", "queries", sets, "no query set"),
        ("mitigations", "models", study.labels(encoders=False), "no model with a source"),
        ("silhouettes", "models", every, "no model"),
        ("silhouettes", "query_set", sets, "no query set"),
        ("retrieval", "models", study.labels(encoders=True), "no encoder"),
        ("external", "scores", every, "no model"),
    ):
        for position, entry in enumerate(getattr(study, table)):
            given = getattr(entry, key) or ()
            for name in [given] if isinstance(given, str) else given:
                if name not in known:
                    yield (table, position, key), no_such(name, known, what)


def _for_encoders(study: Declaration) -> Iterator[Problem]:
    """Find options that encoders need or do not support."""
    encoders, tables = study.labels(encoders=True), study.labels(encoders=False)
    if study.retrieval and not encoders:
        yield ("retrieval",), "only encoders rank texts, and there is none"
    for_tables = {"explore": study.explore.criteria, "mitigations": study.mitigations}
    for key, asked in for_tables.items():
        if asked and not tables:
            yield (key,), "all models are encoders, and this is for models with a source"
    for table in ("metrics", "silhouettes"):
        for i, entry in enumerate(getattr(study, table)):
            models = getattr(entry, "models", None) or tables
            if get_metric(entry.metric).encodes_texts and not set(tables).isdisjoint(models):
                text = "measures encoders only. Measure models with a source separately"
                yield (table, i, "metric"), f"{entry.metric} {text}"
