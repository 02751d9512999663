"""How the site is built: ``make docs``."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path

import platypoos

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))
# The kernels that run the tutorials print nothing but what the tutorials print.
os.environ["JUPYTER_PATH"] = str(HERE / "_jupyter")
os.environ["PYTHONWARNINGS"] = "ignore"
logging.getLogger("traitlets").setLevel(logging.WARNING)

project = "platypoos"
author = "the platypoos authors"
version = release = platypoos.__version__
project_copyright = "the platypoos authors, Apache-2.0"

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
    "generated_pages",
]
exclude_patterns = ["_build", "_jupyter", "jupyter_execute"]

# Markdown
myst_enable_extensions = ["colon_fence", "deflist", "attrs_inline"]
myst_heading_anchors = 3

# Tutorials are run when the site is built. A cell that fails breaks the build.
nb_execution_mode = "force"
nb_execution_timeout = 900  # on a new machine, a cell may wait for the compiler
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_execution_show_tb = True
nb_merge_streams = True
copybutton_exclude = ".linenos, .gp, .go"  # prompts and output are not copied

# Reference from docstrings
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
maximum_signature_line_length = 70
napoleon_google_docstring = True
napoleon_use_rtype = False
napoleon_use_ivar = True

# Looks
html_theme = "furo"
html_title = "platypoos"
html_logo = "_static/logo.svg"
html_favicon = "_static/logo.svg"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "light_css_variables": {
        "color-brand-primary": "#1f5fb4",
        "color-brand-content": "#1f5fb4",
        "color-brand-visited": "#1f5fb4",
    },
    "dark_css_variables": {
        "color-brand-primary": "#7db2ff",
        "color-brand-content": "#7db2ff",
        "color-brand-visited": "#7db2ff",
    },
}
