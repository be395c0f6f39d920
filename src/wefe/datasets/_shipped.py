"""The JSON files that ship with the package: word lists with their sources, and tables."""

import json
from importlib import resources
from pathlib import Path
from typing import Any


def read_shipped(name: str) -> dict[str, Any]:
    """Read ``data/NAME.json``. Word lists have the keys `name`, `source` and `word_sets`."""
    # Parsed at every call, so that callers may change their lists.
    text = resources.files("wefe.datasets").joinpath("data", f"{name}.json").read_text("utf-8")
    data: dict[str, Any] = json.loads(text)
    for alias, key in data.pop("aliases", {}).items():
        data["word_sets"][alias] = list(data["word_sets"][key])
    return data


def read_json(path: Path) -> Any:
    """Read a JSON file of the user."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path}: expected a JSON file ({error}).") from error
    except RecursionError:
        raise ValueError(f"{path}: expected a JSON file (it is nested too deeply).") from None


def shipped_word_sets(name: str) -> dict[str, Any]:
    word_sets: dict[str, Any] = read_shipped(name)["word_sets"]
    return word_sets
