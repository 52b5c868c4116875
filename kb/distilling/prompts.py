"""The prompts of the model distillers: text files with `$placeholders`, ours or those of a folder of the user's."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from string import Template

from data.errors import ConfigError
from data.files import sha256_hex

PLACEHOLDERS = {
    "distil": ("common_name", "scientific_name", "open", "close", "target_words", "max_words"),
    "summarise": ("common_name", "scientific_name", "open", "close", "target_words", "max_words"),
    "refine": ("common_name", "scientific_name", "open", "close", "target_words", "max_words"),
    "repair": ("problems",),
}


class DistilPrompts:
    """The prompts by name, each replaced by `NAME.md` of `folder` where there is one.

    Raises:
        ConfigError: if the folder has none of them, one that nobody asks for, or one with an unknown placeholder.

    Example:
        >>> "cannot be used" in DistilPrompts().fill("repair", problems="- no JSON")
        True
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._templates = {
            name: Template(files("kb").joinpath("prompts", f"{name}.md").read_text(encoding="utf-8"))
            for name in PLACEHOLDERS
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
        """Return a hash of these prompts as they are in force, 12 hex digits."""
        return sha256_hex("\0".join(self._templates[name].template for name in names))[:12]

    def _replace(self, folder: Path) -> None:
        if not folder.is_dir():
            raise ConfigError(f"there is no folder of prompts at {folder}")
        found = sorted(folder.glob("*.md"))
        known = ", ".join(f"{name}.md" for name in PLACEHOLDERS)
        if not found:
            raise ConfigError(f"{folder} holds no prompt", hint=f"there may be: {known}")
        for path in found:
            if path.stem not in PLACEHOLDERS:
                raise ConfigError(f"{path}: no such prompt", hint=f"there may be: {known}")
            template = Template(path.read_text(encoding="utf-8"))
            try:
                template.substitute(dict.fromkeys(PLACEHOLDERS[path.stem], ""))
            except (KeyError, ValueError) as error:
                hint = ", ".join(f"${name}" for name in PLACEHOLDERS[path.stem])
                raise ConfigError(
                    f"{path}: a placeholder that cannot be filled: {error}",
                    hint=f"there are: {hint}; a dollar sign is written $$",
                ) from error
            self._templates[path.stem] = template
