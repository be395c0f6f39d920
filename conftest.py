"""Which modules run as doctests: adapters whose tools are installed."""

from importlib.util import find_spec

_TOOLS = ("mlflow", "mteb", "sentence_transformers")

collect_ignore = [f"src/wefe/integrations/{tool}.py" for tool in _TOOLS if not find_spec(tool)]
