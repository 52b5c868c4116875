"""Configuration of the documentation site: `sphinx-build -W docs build/docs`."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from docs.generate import write_reference, write_reproduction  # noqa: E402  # its folder is on the path only now

write_reference(HERE / "reference" / "generated")
write_reproduction(HERE / "reproduce" / "generated")

project = "Fieldmark"
author = "The Fieldmark authors"
copyright = "The Fieldmark authors, Apache-2.0"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["Thumbs.db", ".DS_Store"]
smartquotes = False  # options begin with two hyphens
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


def setup(app: Sphinx) -> None:
    """Let docstrings put a plural behind code, as in `Photo`s, which reStructuredText does not read."""
    app.connect("autodoc-process-docstring", split_plurals)


def split_plurals(*arguments: object) -> None:
    """Separate code from a letter behind it, in the lines of a docstring: the last argument of Sphinx's event."""
    lines = arguments[-1]
    assert isinstance(lines, list)
    lines[:] = [re.sub(r"(`[^`]+`)(\w?)", _separated, line) for line in lines]


def _separated(found: re.Match[str]) -> str:
    return f"{found[1]}\\ {found[2]}" if found[2] else found[1]
