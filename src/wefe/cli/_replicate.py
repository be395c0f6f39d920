"""`wefe replicate`: compute the tables and figures of a paper for your models."""

from __future__ import annotations

from pathlib import Path

from wefe._output import as_text, say, tell
from wefe.cli import _options as opt
from wefe.replication import list_replications
from wefe.replication import replicate as run


@opt.command
def replicate(
    name: str = "",
    *,
    models: opt.Models,
    list_: bool = False,
    out: Path | None = None,
    n_jobs: int = 1,
    seed: int = 0,
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
    if list_ or not name:
        _print_list()
        return
    declared = models.declared() if models.model or models.encoder else []
    named = opt.by_name(declared) or None
    folder = Path(f"replicate-{name}") if out is None else out
    found = run(name, named, folder=folder, n_jobs=n_jobs, random_state=seed)
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
    for name, paper in list_replications().iterrows():
        say(f"{name}: {paper['title']}", "bold")
        minutes = f"{paper['minutes']:g} minute{'' if paper['minutes'] == 1 else 's'}"
        tell(f"  {paper['reference']}\n  Shows {paper['shows']}.")
        tell(f"  Takes about {minutes} on the packaged vectors.")
        for model, where in paper["models"].items():
            tell(f"  Original model {model}: {where}")
    tell("\nNext: wefe replicate NAME, or wefe replicate NAME --model NAME_OF_MODEL=FILE.")
