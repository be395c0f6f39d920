"""`wefe replicate`: compute the tables and figures of a paper for your models."""

from __future__ import annotations

from pathlib import Path

from wefe._output import as_text, say, tell
from wefe.cli import _options as opt
from wefe.cli._inputs import declared_models


@opt.command
def replicate(
    name: str = "",
    *,
    list_: bool = False,
    model: list[str] = [],
    encoder: list[str] = [],
    out: Path | None = None,
    n_jobs: int = 1,
    seed: int = 0,
    vocab_prefix: str = "",
    trust_pickle: bool = False,
    layer: int = -1,
    pooling: opt.Pooling = "auto",
    template: list[str] = [],
    prompt: str = "",
    dim: int | None = None,
) -> None:
    """Recompute a paper's tables and figures for your models.

    Prints the tables, and compares your values with the printed ones. They agree, differ (with the
    reason, if known) or cannot be compared. To compare a model, name it as in the paper
    (GloVe=FILE). Without models, the command uses packaged vectors and a shuffled control, to show
    you the output.

    Example: wefe replicate --list

    Example: wefe replicate weat --model GloVe=glove.840B.300d.txt

    Parameters
    ----------
    name : NAME
        The replication; see --list. 'wefe init --template NAME' writes its study file.
    list_
        List the replications, the original models, and where to find them.
    out : FOLDER
        Folder for the report (report.html), tables and results. To continue an interrupted run, run
        the same command again. Default: replicate-NAME.
    seed : N >= 0
        Seed of everything random.
    """
    from wefe.replication import replicate as run

    opt.check_used(replicate, locals(), {opt.OF_ENCODERS: (encoder, "--encoder")})
    if list_ or not name:
        _print_list()
        return
    of_tables = {"vocab_prefix": vocab_prefix or None, "trust_pickle": trust_pickle or None}
    models = None
    if model or encoder:
        declared = declared_models(model, encoder, of_tables, locals())
        models = {
            each["name"] or Path(each.get("source", each.get("encoder", ""))).stem: each
            for each in declared
        }
        if len(models) < len(declared):
            raise ValueError("two models have the same name. Give each its own: --model NAME=FILE.")
    folder = Path(f"replicate-{name}") if out is None else out
    found = run(name, models, folder=folder, n_jobs=n_jobs, random_state=seed)
    say(f"{found.paper['title']} ({found.paper['reference']})", "bold")
    for note in found.notes:
        tell(f"Note: {note}")
    for title, table in found.tables.items():
        tell(f"\n{title}")
        print(as_text(table.reset_index()))
    counted = ", ".join(f"{verdict} {n}" for verdict, n in found.verdicts().items())
    tell(f"\nPrinted values: {counted}.")
    differs = found.comparison.query("verdict == 'differs'")
    if len(differs):
        print(as_text(differs[["item", "score", "model", "printed", "value", "reason"]]))
    tell(f"\n{', '.join(found.write(folder))}: {folder}")


def _print_list() -> None:
    from wefe.replication import list_replications

    for name, paper in list_replications().iterrows():
        say(f"{name}: {paper['title']}", "bold")
        minutes = f"{paper['minutes']:g} minute{'' if paper['minutes'] == 1 else 's'}"
        tell(f"  {paper['reference']}\n  Shows {paper['shows']}.")
        tell(f"  Takes about {minutes} on the packaged vectors.")
        for model, where in paper["models"].items():
            tell(f"  Original model {model}: {where}")
    tell("\nNext: wefe replicate NAME, or wefe replicate NAME --model NAME_OF_MODEL=FILE.")
