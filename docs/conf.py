"""How Sphinx makes the site of these pages. Nothing here needs a network."""

import inspect
import json
import os
import sys
import tomllib
from datetime import date
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))
# Encoders of examples are taken from the environment, never fetched.
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TQDM_DISABLE"] = "1"

from docutils import nodes  # noqa: E402
from numpydoc.xref import DEFAULT_LINKS  # noqa: E402
from public_names import public_objects  # noqa: E402

import wefe  # noqa: E402

project = "wefe"
author = "The wefe developers"
project_copyright = f"{date.today().year}, {author}"
version = release = wefe.__version__
# Where the site and the repository are, once `[project.urls]` says it: see CONTRIBUTING.md.
PROJECT = tomllib.loads((HERE.parent / "pyproject.toml").read_text("utf-8"))["project"]
URLS = PROJECT.get("urls", {})

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "browser_math",
    "live_figures",
    "gallery_figures",
    "example_report",
    "replications",
    "command_line",
    "api_reference",
]
exclude_patterns = [
    "_build",
    "_gallery",  # the sources of gallery/
    # Parts of reference/index.rst.
    "reference/generated/rooms.rst",
    "reference/generated/top_level.rst",
]
nitpicky = True
smartquotes = False  # what is copied into a shell stays as it is
# Their pages are elsewhere, and a build needs no network.
nitpick_ignore_regex = [("py:.*", r"(numpy|scipy|pandas|sklearn|plotly|joblib|torch)\..*")]

# Pages
myst_enable_extensions = ["attrs_block", "attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
html_math_renderer = "browser"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# Gallery
sphinx_gallery_conf = {
    "examples_dirs": "_gallery",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py",
    "image_scrapers": ("gallery_figures.scrape",),
    "reset_modules": (),
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
    "write_computation_times": False,
    "min_reported_time": 3600,  # readers do not mind seconds
}

# Reference
autosummary_generate = False  # api_reference writes the pages
autodoc_typehints = "none"
autodoc_member_order = "groupwise"
default_role = "literal"
numpydoc_show_class_members = False
# Types that are classes of ours become links.
numpydoc_xref_param_type = True
numpydoc_xref_ignore = "all"
DEFAULT_LINKS.clear()  # to the pages of Python and numpy
numpydoc_xref_aliases = {
    name.rpartition(".")[2]: name for name, thing in public_objects() if inspect.isclass(thing)
}

# Looks
html_theme = "pydata_sphinx_theme"
html_title = f"wefe {release}"
html_static_path = ["_static"]
html_favicon = "_static/logo.svg"
html_css_files = ["wefe.css"]
html_show_sourcelink = False
html_context = {"default_mode": "auto"}  # else the theme logs an error at the first visit
html_sidebars = {"index": [], "quickstart": []}
html_theme_options = {
    "logo": {
        "text": "wefe",
        "image_light": "_static/logo.svg",
        "image_dark": "_static/logo-dark.svg",
    },
    "show_prev_next": True,
    "navigation_with_keys": False,
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
if "Repository" in URLS:
    html_theme_options["github_url"] = URLS["Repository"]
if "Documentation" in URLS:
    html_baseurl = URLS["Documentation"].rstrip("/") + "/"
    html_theme_options |= {
        "navbar_start": ["navbar-logo", "version-switcher"],
        "switcher": {"json_url": f"{html_baseurl}versions.json", "version_match": release},
        "check_switcher": False,  # a build needs no network
    }


def _trim_blocks(_app, doctree):
    # Doctests want an empty line after the last output; readers do not.
    for block in doctree.findall(nodes.literal_block):
        text = block.astext().rstrip("\n")
        block[:] = [nodes.Text(text)]
        block.rawsource = text  # else it would not be coloured


def _write_versions(app, error):
    if error is None and app.config.html_baseurl and app.builder.format == "html":
        versions = json.loads((HERE / "versions.json").read_text("utf-8"))
        for each in versions:
            each["url"] = app.config.html_baseurl + each["url"]
        (app.outdir / "versions.json").write_text(json.dumps(versions), "utf-8")


def setup(app):
    """Connect what is too small for an extension of its own."""
    app.connect("doctree-read", _trim_blocks)
    app.connect("build-finished", _write_versions)
