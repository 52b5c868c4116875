"""Settings: flag > `--set` > `--settings FILE` > environment (`FIELDMARK_*`) > `fieldmark.toml` > default.

Library code reads none of them.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, get_args

from cli.common import method_settings
from cli.common.endpoints import Tables, endpoints_of, from_variable, tables_of_file
from cli.common.method_settings import SettingsFile
from data.errors import ConfigError, did_you_mean
from data.files import user_folder
from kb.endpoints.endpoint import Endpoint

FILE_NAME = "fieldmark.toml"
PREFIX = "FIELDMARK_"
# Variables for tests and CI, not settings of the product.
NOT_SETTINGS = ("FIELDMARK_SHARED", "FIELDMARK_TEST_")
PATHS = ("kb", "home", "prompts")

Licences = Literal["free", "any"]
PROFILES = ("starter", "plain", "paper", "best")
DISTILLERS = ("extractive", "model", "model-two-pass", "model-summary", "article", "chunks")


@dataclass(slots=True)
class Invocation:
    """Values of the options that all verbs share; the object of the click context."""

    set: dict[str, str] = field(default_factory=dict)
    """Key -> value, as text, of `--set key=value`."""
    settings: Path | None = None
    """The file of `--settings`."""
    quiet: bool = False
    debug: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """General settings; the fields are the keys of `fieldmark.toml`."""

    kb: Path | None = None
    """Default of `--kb`."""
    api_url: str | None = None
    """Address of the wiki's api.php; Wikipedia's by default."""
    contact: str | None = None
    """Your address for the User-Agent; Wikimedia requires one."""
    profile: str | None = None
    """Encoders of new knowledge bases; `starter` by default."""
    home: Path = field(default_factory=user_folder)
    """Folder of Fieldmark's own files: shipped knowledge, caches, journals of long runs."""
    language: str = "en"
    """Language code of the Wikipedia to read."""
    licences: Licences = "free"
    """Licences of photos to take: `free`, or `any`, for private use only."""
    distiller: str | None = None
    """Writer of the summaries; by default as in the last build, at first extractive."""
    prompts: Path | None = None
    """Folder with prompts that replace those of the model distillers."""
    llm: Mapping[str, Endpoint] = field(default_factory=dict)
    """Endpoints of models: the tables `[llm.text]`, `[llm.vision]`, `[llm.search]`, `[llm.image]`."""


def resolve(
    flags: Mapping[str, object] | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    file: Path | None = None,
    sets: Mapping[str, str] | None = None,
) -> Settings:
    """Return the settings in force: `flags` that are not None, then `sets`, `file`, environment, `fieldmark.toml`.

    Args:
        flags: setting -> value of the command line; None where an option was not given.
        environment: without it, that of this process.
        folder: where the search for `fieldmark.toml` begins, upwards; without it, the working folder.
        file: the file of `--settings`.
        sets: setting -> text of `--set`.

    Raises:
        ConfigError: for an unknown key or a value of the wrong kind, with the place and the nearest known key.
    """
    tables: Tables = {}
    found = _find_file(folder or Path.cwd())
    values = _from_file(found, tables) if found is not None else {}
    values |= _from_environment(os.environ if environment is None else environment, tables)
    values |= _from_file(file, tables) if file is not None else {}
    values |= _from_sets(sets or {}, tables)
    values["llm"] = endpoints_of(tables)
    given = {name: value for name, value in (flags or {}).items() if value is not None}
    values |= {name: _checked(name, value, where="the command line", folder=None) for name, value in given.items()}
    return Settings(**values)  # type: ignore[arg-type]  # checked one by one above


def is_general(key: str) -> bool:
    """Return whether a key of `--set` is one of `Settings`, not of a method."""
    return key in (setting.name for setting in fields(Settings)) or key.startswith("llm.")


def method_files(*, folder: Path | None = None, file: Path | None = None) -> list[SettingsFile]:
    """Return the method settings of `fieldmark.toml` and of the file of `--settings`, the weakest first."""
    found = (_find_file(folder or Path.cwd()), file)
    return [method_settings.tables_of_file(_split(_parsed(path))[1], path) for path in found if path is not None]


def _find_file(folder: Path) -> Path | None:
    for parent in (folder, *folder.absolute().parents):
        if (parent / FILE_NAME).is_file():
            return parent / FILE_NAME
    return None


def _parsed(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file} is not TOML: {error}") from error


def _split(table: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the general settings and the tables of methods."""
    methods = {key: value for key, value in table.items() if isinstance(value, dict) and not is_general(key)}
    return {key: value for key, value in table.items() if key not in methods}, methods


def _from_file(file: Path, tables: Tables) -> dict[str, object]:
    general, methods = _split(_parsed(file))
    method_settings.tables_of_file(methods, file)  # fails for an unknown table
    for kind, table in tables_of_file(general.pop("llm", {}), where=str(file)).items():
        tables.setdefault(kind, {}).update(table)
    return {key: _checked(key, value, where=str(file), folder=file.parent) for key, value in general.items()}


def _from_sets(sets: Mapping[str, str], tables: Tables) -> dict[str, object]:
    values = {}
    for key, value in sets.items():
        if key.startswith("llm."):
            kind, _, name = key.removeprefix("llm.").partition(".")
            checked = tables_of_file({kind: {name: value}}, where="--set")
            tables.setdefault(kind, {}).update(checked[kind])
        elif is_general(key):
            values[key] = _checked(key, value, where="--set", folder=None)
    return values


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
        hint = did_you_mean(_spelt(key, prefix), [_spelt(name, prefix) for name in known])
        raise ConfigError(f'Unknown setting "{_spelt(key, prefix)}" in {where}.', hint=hint)
    if key in PATHS and isinstance(value, str | Path):
        path = Path(value).expanduser()
        return path if folder is None else folder / path
    choices = {"licences": get_args(Licences), "distiller": DISTILLERS, "profile": PROFILES}.get(key)
    if not isinstance(value, str):
        raise ConfigError(f'Setting "{key}" in {where}: expected text, got {value!r}.')
    if choices is not None and value not in choices:
        raise ConfigError(f'Setting "{key}" in {where}: expected one of {", ".join(choices)}, got "{value}".')
    return value


def _spelt(key: str, prefix: str) -> str:
    return prefix + key.upper() if prefix else key
