"""Compare printed values on word2vec vectors, and keep the verdicts beside the docs' pages.

Usage: python scripts/compare_printed_values.py word2vec_subset.kv

The file is a pickle of gensim with 13,013 vectors of Google News. It is trusted here.
"""

from __future__ import annotations

import sys
from pathlib import Path

from wefe.replication import list_replications, replicate

PAGES = Path(__file__).parents[1] / "docs" / "replications"


def main(file: str) -> None:
    """Write NAME.csv for each replication that has something to compare."""
    for name, paper in list_replications().iterrows():
        if "word2vec" not in map(str.lower, paper["models"]) and name != "cosine":
            continue
        found = replicate(name, {"word2vec": {"source": file, "trust_pickle": True}})
        compared = found.comparison.query("verdict != 'not comparable'")
        print(name, found.verdicts())
        if len(compared):
            columns = ["table", "item", "score", "printed", "value", "verdict", "reason"]
            table = compared[columns].round({"value": 4})
            table.to_csv(PAGES / f"{name}.csv", index=False, lineterminator="\n")


if __name__ == "__main__":
    main(sys.argv[1])
