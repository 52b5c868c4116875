"""Configuration of the documentation site: `sphinx-build -W docs build/docs`."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from docs.generate import write_reference  # noqa: E402  # its folder is on the path only now

write_reference(HERE / "reference" / "generated")

project = "Fieldmark"
author = "The Fieldmark authors"
copyright = "The Fieldmark authors, Apache-2.0"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["Thumbs.db", ".DS_Store"]
default_role = "literal"  # docstrings mark code with single backticks

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4

autodoc_default_options = {"members": True, "undoc-members": False}
autodoc_member_order = "groupwise"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
napoleon_custom_sections = [("Source", "notes_style"), ("Source", "Source")]

html_theme = "furo"
html_title = "Fieldmark"
html_static_path = []
pygments_style = "friendly"
pygments_dark_style = "monokai"
