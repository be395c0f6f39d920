"""Options that several commands have, with the same name and the same help."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

Lowercase: TypeAlias = Annotated[
    bool,
    typer.Option(help="Look up the lower-case form of words that are not found as they are."),
]
VocabPrefix: TypeAlias = Annotated[
    str, typer.Option(help="Put before each word, '/c/en/' for ConceptNet.")
]
Offline: TypeAlias = Annotated[
    bool, typer.Option(help="Only what ships with the package; no download.")
]
OfflineQueries: TypeAlias = Annotated[
    bool, typer.Option(help="Only queries whose words ship with the package; no download.")
]
TrustPickle: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--trust-pickle",
        help="Open gensim's own files, which can run any code their author put there.",
    ),
]
