"""`wefe debias`: mitigate the bias of a file of vectors or an encoder."""

from __future__ import annotations

import inspect
import itertools
from pathlib import Path
from typing import Any

from wefe._checks import check_known
from wefe._files import check_writable, read_text, text_lines
from wefe._output import as_text, tell
from wefe.cli import _options as opt
from wefe.contextual import load_encoder
from wefe.datasets import Criterion
from wefe.models import load
from wefe.models.formats._write import format_of
from wefe.running import measure, scores_matrix
from wefe.study._extras import method_and_fit_params, open_criterion


@opt.command
def debias(
    *,
    model: str = "",
    encoder: str = "",
    out: Path,
    method: str = "hard-debias",
    criterion: str = "gender",
    ignore: str | None = None,
    target: Path | None = None,
    param: list[str] = [],
    vocab_prefix: str | None = None,
    offline: bool = False,
    trust_pickle: bool = False,
) -> None:
    """Mitigate the bias of a file of vectors or an encoder.

    Prints WEAT effect sizes before and after. Less association measured does not mean that the bias
    is gone: in Python, wefe.debias.compare shows what bias is left and what quality was lost.

    Files are processed in parts, so models of any size need little memory; only
    repulsion-attraction-neutralization loads all vectors. OUT appears only when it is complete.

    For an encoder, the method becomes its last layer and changes the vectors of all texts. The
    README.md in OUT reports what bias is left and what quality was lost.

    Example: wefe debias --model glove.txt --method hard-debias --criterion gender --out out.bin

    Parameters
    ----------
    model : NAME
        The vectors: anything that 'wefe measure --model' accepts.
    encoder : FOLDER
        A SentenceTransformer instead of a model: a folder, or 'org/name' on Hugging Face.
        NAME=FOLDER names it. hard-debias then needs --param equalize_pairs=[].
    out : FILE
        File to write: .txt (GloVe), .vec (word2vec text), .bin (word2vec binary), .kv (gensim) or
        .safetensors (opens at once). It may be the input file. With --encoder, a new folder.
    method : NAME
        hard-debias, multiclass-hard-debias, double-hard-debias, soft-debias,
        linear-projection, inlp, leace, oscar, half-sibling-regression or
        repulsion-attraction-neutralization.
    criterion : NAME
        gender, ethnicity, religion, or a JSON file with {"definitional_sets": [["young", "old"],
        ...]} (one word per class in each set) and optionally class_names, equalize_sets,
        specific_words and stereotyped_words.
    ignore : FILE
        A file of words that keep their vectors, one per line; 'none' for no words. Default: words
        that belong to a class by definition, such as 'mother'. Equalized words always change, and
        double-hard-debias changes all words.
    target : FILE
        A file of the only words whose vectors change, one per line.
    param : NAME=VALUE
        A parameter of the method, with its value in JSON: n_words=500, pca_args={"n_components":1}.
        Repeat for several.
    offline
        Use only packaged words; download nothing. For gender, these are 232 instead of 1,441
        gender-specific words.
    """
    from wefe.debias import debias_encoder, debias_file, get_debias_method

    # Checks all input before anything is downloaded.
    if bool(model) == bool(encoder):
        raise ValueError("give one model to mitigate: either --model FILE or --encoder FOLDER.")
    kind, params = get_debias_method(method), dict(opt.assigned(param, "NAME=VALUE"))
    mitigation, fit_params = method_and_fit_params(kind, params)
    # The other parameters of `fit` have options of their own.
    of_fit = [name for name in mitigation._known() if name not in ("criterion", "ignore")]
    check_known("--param", fit_params, [*inspect.signature(kind).parameters, *of_fit])
    if encoder:
        name, source = opt.split_name(encoder)
        words, opened = open_criterion(criterion, offline), load_encoder(source, name)
        written = debias_encoder(mitigation, opened, out, criterion=words, **fit_params)
        print(f"{out}: {written.name}; see its README.md for what was measured")
        return
    changed = None if target is None else text_lines(read_text(target))
    kept = text_lines(read_text(Path(ignore))) if ignore and ignore != "none" else []
    format_of(out, None)
    check_writable(out)
    words = open_criterion(criterion, offline)
    reading: dict[str, Any] = {"vocab_prefix": vocab_prefix, "trust_pickle": trust_pickle}
    fit_params |= {"target": changed, "ignore": kept if ignore else list(words.specific_words)}
    done = debias_file(mitigation, model, out, criterion=words, **reading, **fit_params)
    print(
        f"{done.path}: {done.name}, {done.n_changed:,} of {done.n_words:,} vectors changed, "
        f"{done.path.stat().st_size / 1e6:,.1f} MB"
    )
    if Path(model).exists() and Path(model).samefile(out):
        tell("No scores before and after, because the model was overwritten.")
    else:
        _print_scores({"before": model, "after": out}, words, reading)
        definitional = {*itertools.chain(*words.classes.values())}
        equalized = itertools.chain(*getattr(mitigation, "equalize_sets_", ()))
        n_equal = len(definitional.intersection(equalized))
        if n_equal:
            tell(
                f"{n_equal} definitional words were equalized. By construction, each pair is "
                "equally near to neutral words, which moves these scores towards 0."
            )


def _print_scores(
    files: dict[str, str | Path], criterion: Criterion, reading: dict[str, Any]
) -> None:
    """Print effect sizes before and after; read only the words of the queries."""
    queries, forms = criterion.queries(), opt.preprocessors(True)
    if not queries:
        return
    models = [load(file, name, words=queries, **reading) for name, file in files.items()]
    scores = measure("weat-es", queries, models, metric_params={"preprocessors": forms})
    table = scores_matrix(scores).T.rename_axis(index="query", columns=None).reset_index()
    tell("\nWEAT effect size, definitional words and stereotypes (0: no association measured)")
    print(as_text(table))
