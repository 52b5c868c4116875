"""Settings: flag > environment (`FIELDMARK_*`) > `fieldmark.toml` > default. Library code never reads any of them."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Literal, get_args

from cli.common.endpoints import Tables, endpoints_of, from_variable, tables_of_file
from data.errors import ConfigError
from kb.endpoints.endpoint import Endpoint

FILE_NAME = "fieldmark.toml"
PREFIX = "FIELDMARK_"
# Variables that tests and CI read; they are no settings of the product.
NOT_SETTINGS = ("FIELDMARK_SHARED", "FIELDMARK_TEST_")
PATHS = ("kb", "home", "prompts")

Licences = Literal["free", "any"]
PROFILES = ("starter", "plain", "paper", "best")
DISTILLERS = ("extractive", "model", "model-two-pass", "model-summary", "article", "chunks")


@dataclass(slots=True)
class Invocation:
    """What the options that all verbs have said; the object of the click context."""

    config: Path | None = None
    quiet: bool = False
    debug: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What can be set once for all runs; the fields are the keys of `fieldmark.toml`."""

    kb: Path | None = None
    """The knowledge base that verbs read when `--kb` is not given."""
    api_url: str | None = None
    """The wiki's api.php; None is Wikipedia."""
    contact: str | None = None
    """An address for the User-Agent, which Wikimedia asks for."""
    profile: str | None = None
    """The models to build with; None goes on with those that a knowledge base has, and begins with `starter`."""
    home: Path = field(default_factory=lambda: Path("~/.local/share/fieldmark").expanduser())
    """Where Fieldmark keeps files of its own: the unpacked starter knowledge, journals of long runs."""
    language: str = "en"
    licences: Licences = "free"
    """`any` takes photos of every licence; what comes out must then not be published."""
    distiller: str | None = None
    """What makes summaries; None keeps what the knowledge base was built with, at first the extractive one."""
    prompts: Path | None = None
    """A folder whose prompts replace those of the model distillers."""
    llm: Mapping[str, Endpoint] = field(default_factory=dict)
    """Models behind endpoints: `text`, `vision`, `search`, `image`; in the file the tables `[llm.text]`, ..."""


def resolve(
    flags: Mapping[str, object] | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    file: Path | None = None,
) -> Settings:
    """Return the settings that hold here: `flags` that are not None, then the environment, the file, the defaults.

    Args:
        flags: setting -> value of the command line; None where an option was not given.
        environment: without it, that of this process.
        folder: where the search for `fieldmark.toml` begins, upwards; without it, the working folder.
        file: the settings file itself, which ends the search.

    Raises:
        ConfigError: for an unknown key or a value of the wrong kind, with the place and the nearest known key.
    """
    environment = os.environ if environment is None else environment
    file = file or _find_file(folder or Path.cwd())
    values: dict[str, object] = {}
    tables: Tables = {}
    if file is not None:
        values |= _from_file(file, tables)
    values |= _from_environment(environment, tables)
    values["llm"] = endpoints_of(tables)
    given = {name: value for name, value in (flags or {}).items() if value is not None}
    values |= {name: _checked(name, value, where="the command line", folder=None) for name, value in given.items()}
    return Settings(**values)  # type: ignore[arg-type]  # checked one by one above


def _find_file(folder: Path) -> Path | None:
    for parent in (folder, *folder.absolute().parents):
        if (parent / FILE_NAME).is_file():
            return parent / FILE_NAME
    return None


def _from_file(file: Path, tables: Tables) -> dict[str, object]:
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file} is not TOML: {error}") from error
    tables |= tables_of_file(table.pop("llm", {}), where=str(file))
    return {key: _checked(key, value, where=str(file), folder=file.parent) for key, value in table.items()}


def _from_environment(environment: Mapping[str, str], tables: Tables) -> dict[str, object]:
    values = {}
    for variable, value in environment.items():
        if not variable.startswith(PREFIX) or variable.startswith(NOT_SETTINGS) or not value:
            continue
        key = variable.removeprefix(PREFIX).lower()
        if key.startswith("llm_"):
            kind, name, setting = from_variable(key.removeprefix("llm_"), value, variable=variable)
            tables.setdefault(kind, {})[name] = setting
            continue
        values[key] = _checked(key, value, where=f"the environment ({variable})", folder=None, prefix=PREFIX)
    return values


def _checked(key: str, value: object, *, where: str, folder: Path | None, prefix: str = "") -> object:
    """Return the value as `Settings` holds it; paths of a file are relative to the file's folder."""
    known = [setting.name for setting in fields(Settings) if setting.name != "llm"]
    if key not in known:
        near = get_close_matches(key, known, n=1)
        nearest = f"did you mean {_spelt(near[0], prefix)}?" if near else None
        listed = ", ".join(_spelt(name, prefix) for name in known)
        raise ConfigError(f"unknown setting {_spelt(key, prefix)} in {where}", hint=nearest or f"settings: {listed}")
    if key in PATHS and isinstance(value, str | Path):
        path = Path(value).expanduser()
        return path if folder is None else folder / path
    if not isinstance(value, str):
        raise ConfigError(f"{key} in {where}: expected a text, got {value!r}")
    if key == "licences" and value not in get_args(Licences):
        raise ConfigError(f"licences in {where}: expected one of {', '.join(get_args(Licences))}, got {value!r}")
    if key == "distiller" and value not in DISTILLERS:
        raise ConfigError(f"distiller in {where}: expected one of {', '.join(DISTILLERS)}, got {value!r}")
    if key == "profile" and value not in PROFILES:
        raise ConfigError(f"profile in {where}: expected one of {', '.join(PROFILES)}, got {value!r}")
    return value


def _spelt(key: str, prefix: str) -> str:
    return prefix + key.upper() if prefix else key
