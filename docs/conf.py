"""The documentation site: `make docs` builds it into docs/_build/html, warnings are errors."""

from __future__ import annotations

import sys
from pathlib import Path

import tcpcc
from experiments.paper_table import STYLE

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from pages import (  # noqa: E402
    write_controllers,
    write_gallery,
    write_notebooks,
    write_papers,
    write_rules,
    write_simulators,
    write_tables,
)

for name in ("analysis", "changes", "traces", "workloads"):  # which autodoc finds as modules only
    sys.modules[f"tcpcc.{name}"] = getattr(tcpcc, name)

project = "tcpcc"
author = "The tcpcc developers"
release = version = tcpcc.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
]
exclude_patterns = ["_build", "_live", "**.ipynb_checkpoints"]
html_theme = "pydata_sphinx_theme"
html_title = "tcpcc"
html_theme_options = {
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 5,
}
WIDE = (
    "index", "gallery", "models", "scorecard", "coverage", "statements", "variants", "league",
    "bbr_cubic", "ifip25", "pam25", "cheat_sheet", "conformance_cases", "papers/*",
)  # fmt: skip
html_sidebars: dict[str, list[str]] = {page: [] for page in WIDE}  # the width is for the tables
html_theme_options["secondary_sidebar_items"] = {
    "**": ["page-toc", "sourcelink"],
    **{
        page: []
        for page in ("gallery", "league", "variants", "cheat_sheet", "scorecard", "papers/index")
    },
}
html_static_path = ["static", str(STYLE)]
html_extra_path = ["_live"]  # goes to the root of the site
html_css_files = [STYLE.name, "site.css"]
html_js_files = ["sort.js"]

nb_render_markdown_format = "gfm"  # tables in outputs
nb_execution_mode = "off"  # notebooks are committed executed, and tests execute them again
myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # signatures have them; docstrings say the units
napoleon_google_docstring = True
napoleon_numpy_docstring = False
default_role = "code"  # single backquotes in docstrings are code

write_controllers(HERE)
write_rules(HERE)
write_tables(HERE)
write_notebooks(HERE)
write_papers(HERE)
write_gallery(HERE)
write_simulators(HERE)
