"""How Sphinx makes the site of these pages. Nothing here needs a network."""

import os
import sys
from datetime import date
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))
# Encoders of examples are taken from the environment, never fetched.
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TQDM_DISABLE"] = "1"

import wefe  # noqa: E402

project = "wefe"
author = "The wefe developers"
project_copyright = f"{date.today().year}, {author}"
version = release = wefe.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_design",
    "live_figures",
    "command_line",
    "api_reference",
]
exclude_patterns = [
    "_build",
    # Parts of reference/index.rst.
    "reference/generated/rooms.rst",
    "reference/generated/top_level.rst",
]
nitpicky = True

# Pages
myst_enable_extensions = ["attrs_block", "attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
# Formulas are drawn by the browser itself: no script from elsewhere.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# Reference
autosummary_generate = False  # api_reference writes the pages
autodoc_typehints = "none"
autodoc_member_order = "groupwise"
default_role = "literal"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

# Looks
html_theme = "pydata_sphinx_theme"
html_title = f"wefe {release}"
html_static_path = ["_static"]
html_css_files = ["wefe.css"]
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "wefe"},
    "show_prev_next": True,
    "navigation_with_keys": False,
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
