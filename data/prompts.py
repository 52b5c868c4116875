"""Prompts: text files with `$placeholders`, each replaceable by a file of the user, and texts of others inside them."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Final

from data.errors import ConfigError
from data.files import sha256_hex

_BLANK: Final = frozenset(("Cc", "Zl", "Zp", "Zs"))
_INVISIBLE: Final = frozenset(("Cf", "Co", "Cn", "Cs"))
# Each also carries a byte that no person sees.
_VARIATION_SELECTORS: Final = (range(0xFE00, 0xFE10), range(0xE0100, 0xE01F0))
_BRACKETS: Final = str.maketrans(dict.fromkeys("<＜﹤", "‹") | dict.fromkeys(">＞﹥", "›"))


def one_line(text: str) -> str:
    r"""Return a text in one line, without invisible characters."""
    shown = (" " if unicodedata.category(sign) in _BLANK else sign for sign in text)
    return " ".join("".join(sign for sign in shown if _is_visible(sign)).split())


def quoted(text: str) -> str:
    r"""Return a text in one line whose brackets open and close no block of a prompt."""
    return one_line(text).translate(_BRACKETS)


def _is_visible(sign: str) -> bool:
    return unicodedata.category(sign) not in _INVISIBLE and not any(ord(sign) in each for each in _VARIATION_SELECTORS)


PACKAGES = ("kb", "recognize", "rerank")  # a folder of the user may hold prompts for all of them


class Prompts:
    """The prompts of a package by name; `NAME.md` in `folder` replaces the package's own.

    Args:
        package: contains `prompts/NAME.md` for every name.
        placeholders: name -> its placeholders; a user's prompt may leave some out.
        folder: the user's prompts.

    Raises:
        ConfigError: if the folder has no prompt, one with a name of no package, or one with an unknown placeholder.
    """

    def __init__(self, package: str, placeholders: Mapping[str, Sequence[str]], folder: Path | None = None) -> None:
        self._package, self._placeholders = package, placeholders
        self._templates = {
            name: Template(files(package).joinpath("prompts", f"{name}.md").read_text(encoding="utf-8"))
            for name in placeholders
        }
        if folder is not None:
            self._replace(folder)

    def fill(self, name: str, **values: str) -> str:
        """Return a prompt with its placeholders filled."""
        return self._templates[name].substitute(values).strip()

    def text(self, name: str) -> str:
        """Return a prompt with its placeholders."""
        return self._templates[name].template

    def digest(self, *names: str) -> str:
        """Return a hash of these prompts, 12 hex digits."""
        return sha256_hex("\0".join(self.text(name) for name in names))[:12]

    def _replace(self, folder: Path) -> None:
        if not folder.is_dir():
            raise ConfigError(f"No folder of prompts at {folder}.")
        found = sorted(folder.glob("*.md"))
        names = {
            file.name for package in {*PACKAGES, self._package} for file in files(package).joinpath("prompts").iterdir()
        }
        known = ", ".join(sorted(name for name in names if name.endswith(".md")))
        if not found:
            raise ConfigError(f"{folder} contains no prompt.", hint=f"Known prompts: {known}.")
        for path in found:
            if path.name not in names:
                raise ConfigError(f"Unknown prompt {path}.", hint=f"Known prompts: {known}.")
            if path.stem in self._placeholders:
                self._templates[path.stem] = self._checked(path)

    def _checked(self, path: Path) -> Template:
        names = self._placeholders[path.stem]
        try:
            template = Template(path.read_text(encoding="utf-8"))
            template.substitute(dict.fromkeys(names, ""))
        except (KeyError, ValueError) as error:  # UnicodeDecodeError is a ValueError
            hint = ", ".join(f"${name}" for name in names)
            raise ConfigError(
                f"{path} contains an unknown placeholder: {error}.",
                hint=f"Placeholders: {hint or 'none'}. Write $$ for a dollar sign.",
            ) from error
        return template
