"""Self-contained HTML pages from the Jinja templates of a package; all texts in them are escaped.

A page may be mailed, and loads nothing from the network: its policy allows embedded pictures and styles alone.
"""

from __future__ import annotations

import base64
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from data.files import replacing

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup


def render(package: str, template: str, **values: object) -> str:
    """Return a template of a package, filled in; a missing value is an error."""
    return environment(package).get_template(template).render(values)


@lru_cache(maxsize=4)
def environment(*packages: str) -> Environment:
    """Return the templates of some packages, the first ones first, and of this one."""
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined  # not at the start of every command

    loader = ChoiceLoader([PackageLoader(package) for package in (*packages, "data")])
    return Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        keep_trailing_newline=True,
    )  # fmt: skip


def write_page(path: Path, package: str, template: str, **values: object) -> None:
    """Write a template of a package piece by piece; its values may be generators, and functions to call after them."""
    with replacing(path) as file, file.open("w", encoding="utf-8", errors="replace") as out:
        out.writelines(environment(package).get_template(template).generate(values))


def element(html: str, *values: object) -> Markup:
    """Return an element with values in place of `{}`, escaped."""
    from markupsafe import Markup

    return Markup(html).format(*values)


def embedded(jpeg: bytes, **attributes: object) -> Markup:
    """Return an `img` element that holds a JPEG."""
    from markupsafe import Markup

    given = Markup("").join(Markup(' {}="{}"').format(name, value) for name, value in attributes.items())
    return Markup('<img{} src="data:image/jpeg;base64,{}">').format(given, base64.b64encode(jpeg).decode())
