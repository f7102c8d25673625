"""How the site is built: ``make docs``. Needs no network, and neither do its readers."""

import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_extensions"))

import precall  # the installed package: its version is the site's

project = "precall"
author = "The precall developers"
copyright = "The precall developers"  # noqa: A001 - Sphinx's own name
version = release = precall.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "myst_nb",
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "generated_text",
    "mathml",
    "repository_pages",
    "sample_report",
]
exclude_patterns = ["_build", "_extensions", "gallery", "examples/**/*.ipynb"]
suppress_warnings = ["myst.header"]  # tables of benchmarks stand under headings of the third level
templates_path = ["_templates"]
nitpicky = True
nitpick_ignore_regex = [
    # Types of other libraries, and those that only annotations name.
    ("py:.*", r"(numpy|np|matplotlib|os|collections|typing|pathlib|torch)\..*"),
    ("py:class", r"(?!precall\.[A-Z]).*"),
    ("py:obj", r"(?!precall\.[A-Z]).*"),
    ("py:data", r"typing\..*"),
]

# Pages
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "fieldlist"]
myst_heading_anchors = 4
html_math_renderer = "mathml"

# Cells that run. Whatever they print on standard error is progress.
nb_execution_mode = "cache"
nb_execution_cache_path = str(HERE / "_build" / "cells")
nb_execution_timeout = 120
nb_execution_raise_on_error = True
nb_execution_show_tb = True
nb_output_stderr = "remove"
nb_merge_streams = True
nb_render_markdown_format = "myst"  # which has tables
nb_code_prompt_show = "Show the code"
nb_code_prompt_hide = "Hide the code"
os.environ["IPYTHONDIR"] = str(HERE / "_extensions" / "ipython")  # pictures as SVG
os.environ["PYTHONWARNINGS"] = "ignore"
os.environ["TQDM_DISABLE"] = "1"

# Look up
autosummary_generate = True
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_class_signature = "mixed"
autodoc_default_options = {"inherited-members": False}
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

# Gallery
sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "examples",
    "filename_pattern": r"\.py$",
    "within_subsection_order": "FileNameSortKey",
    "backreferences_dir": "reference/backreferences",
    "doc_module": ("precall",),
    "image_srcset": ["2x"],
    "abort_on_example_error": True,
    "capture_repr": (),
    "download_all_examples": False,
    "min_reported_time": 10,
    "parallel": 2,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "subsection_order": ["gallery/plots", "gallery/failures"],
}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# Looks
html_theme = "pydata_sphinx_theme"
html_title = f"precall {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/favicon.svg"
html_copy_source = False
html_show_sourcelink = False
html_sidebars = {"index": [], "coming-from": []}
html_theme_options = {
    "logo": {"image_light": "_static/logo.svg", "image_dark": "_static/logo-dark.svg"},
    "navbar_start": ["navbar-logo", "site-version"],
    "navbar_persistent": ["search-button"],
    "header_links_before_dropdown": 6,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
if "PRECALL_DOCS_SWITCHER" in os.environ:  # see CONTRIBUTING: several versions side by side
    html_theme_options["navbar_start"] = ["navbar-logo", "version-switcher"]
    html_theme_options["switcher"] = {"json_url": "../switcher.json", "version_match": release}
    html_theme_options["check_switcher"] = False
