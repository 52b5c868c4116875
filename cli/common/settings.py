"""Settings: flag > `--set` > `--settings FILE` > environment (`FIELDMARK_*`) > `fieldmark.toml` > default.

A setting is a field of a frozen dataclass: name, type, default, and the docstring below the field. `TABLES` has the
dataclass of each table of TOML; pydantic checks the values. Keys have points for the tables: `contact`,
`llm.text.model`, `rerank.decompose.chain`. Library code reads none of them.
"""

from __future__ import annotations

import json
import os
import tomllib
import types
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from annotated_types import Ge

from data.errors import ConfigError, did_you_mean
from data.files import user_folder
from kb.addresses import PAUSE_S, PageSettings
from kb.distill import DistillerName
from kb.endpoints.endpoint import Endpoint

if TYPE_CHECKING:
    from kb.endpoints.endpoint import Budget

FILE_NAME = "fieldmark.toml"
PREFIX = "FIELDMARK_"
WIKI_PASSWORD = "FIELDMARK_WIKI_PASSWORD"
OWN = "own.kb"
"""Knowledge base in Fieldmark's own folder that `kb learn` makes of the shipped one, and that is used from then on."""
TOKEN = "FIELDMARK_TOKEN"
"""Variable with the token of `kb serve`."""
# Variables for tests and CI, not settings of the product, and secrets, which no file may hold.
NOT_SETTINGS = ("FIELDMARK_SHARED", "FIELDMARK_TEST_", WIKI_PASSWORD, TOKEN)
ENDPOINTS: tuple[Literal["text", "vision", "search", "image"], ...] = ("text", "vision", "search", "image")
GENERAL: Final[dict[str, str]] = {
    "": "cli.common.settings:Settings",
    "context": "kb.lookup.context_settings:ContextSettings",
    **{f"llm.{kind}": "kb.endpoints.endpoint:Endpoint" for kind in ENDPOINTS},
}
"""Table of several verbs -> module and class of its settings; the environment sets these alone."""
TABLES: Final[dict[str, str]] = {
    "build": "kb.pipeline.settings:BuildSettings",
    "identify": "recognize.settings:IdentifySettings",
    "eval.species": "recognize.settings:EvaluationSettings",
    "rerank": "rerank.settings:JobSettings",
    "rerank.decompose": "rerank.settings:DecomposeSettings",
    "rerank.vision": "rerank.settings:VisionSettings",
    "rerank.cotrr": "rerank.settings:CotrrSettings",
    "rerank.captions": "rerank.settings:CaptionSettings",
    "rerank.visret": "rerank.settings:VisretSettings",
    "feedback": "rerank.settings:FeedbackSettings",
}
"""Table of one verb -> module and class of its settings. A verb owns the table of its name and those below.

A module is loaded when a key of its table is given or listed, also by `--help`, so it loads no heavy library.
"""
BORROWED: Final[dict[str, tuple[str, ...]]] = {
    "find": ("rerank.visret", "rerank.captions"),
    "answers": ("rerank.visret",),  # of papers/
}
"""Verb -> tables of another verb that it reads too; `--set` takes their keys with or without that verb's name."""

SettingsT = TypeVar("SettingsT")


@dataclass
class Invocation:
    """Values of the options that all verbs share; the object of the click context."""

    arguments: list[str] = field(default_factory=list)
    """The command line, without the name of the program."""
    set: dict[str, str] = field(default_factory=dict)
    """Key -> value, as text, of `--set key=value`; keys with the name of the verb's table."""
    settings: Path | None = None
    """The file of `--settings`."""
    quiet: bool = False
    debug: bool = False
    fresh: bool = False
    """Whether models are asked again, whatever replies are cached."""
    budgets: list[Budget] = field(default_factory=list)
    """Costs of the models that the verb has called."""

    @cached_property
    def values(self) -> dict[str, object]:
        """Key -> value of all settings that are given anywhere but in a flag, read once."""
        return read_values(file=self.settings, sets=self.set)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """General settings; the fields are the keys of `fieldmark.toml`."""

    kb: Path | None = None
    """Default of `--kb`; without it, the knowledge base that `kb learn` made, else the shipped one."""
    api_url: str | None = None
    """Address of the wiki's api.php; Wikipedia's by default."""
    contact: str | None = None
    """Your address for the User-Agent; Wikimedia requires one."""
    wiki_user: str | None = None
    """User name of a bot password of a private wiki; the password stands in FIELDMARK_WIKI_PASSWORD."""
    profile: str | None = None
    """Encoders of new knowledge bases; `starter` by default."""
    home: Path = field(default_factory=user_folder)
    """Folder of Fieldmark's own files: shipped knowledge, caches, journals of long runs."""
    language: str | None = None
    """Language code of the names that come first and of the Wikipedia to read; by default the knowledge base's."""
    licences: Literal["free", "any"] = "free"
    """Licences of photos to take: `free`, or `any`, for private use only."""
    page_pause_s: Annotated[float, Ge(0)] = PAUSE_S
    """Seconds between two requests for web pages to a host; its robots.txt may ask for more."""
    private_addresses: bool = False
    """Whether web pages may be on this machine or its network."""
    distiller: DistillerName | None = None
    """Writer of the summaries; by default extractive, until a build chooses another."""
    keep_names: bool = False
    """Leave the names of species in the refined summaries of a model. VR-RAG, figures 5 to 7."""
    prompts: Path | None = None
    """Folder of prompts that replace ours, by file name."""
    engine: Literal["local", "ray"] = "local"
    """Where photos and texts are encoded: on this machine (`local`), or on the nodes of a Ray cluster (`ray`)."""
    ray_address: str | None = None
    """HOST:PORT of the Ray cluster, or `auto` for the one on this machine; by default one is started for the run."""
    log: Literal["debug", "info", "warning", "error"] = "warning"
    """Least level of the log on stderr: `info` shows requests, waits and stages of a build. Also `--log-level`."""
    llm: Mapping[str, Endpoint] = field(default_factory=dict)
    """Endpoints of models: the tables `[llm.text]`, `[llm.vision]`, `[llm.search]`, `[llm.image]`."""

    @property
    def pages(self) -> PageSettings:
        """Settings of web pages."""
        return PageSettings(pause_s=self.page_pause_s, private_addresses=self.private_addresses)


@cache
def hints_of(kind: type[Any]) -> dict[str, Any]:
    """Return field -> type hint of a dataclass."""
    return get_type_hints(kind, include_extras=True)


def settings_class(table: str) -> type:
    """Return the dataclass of a table."""
    module, _, name = (GENERAL | TABLES)[table].partition(":")
    kind: type = getattr(import_module(module), name)
    return kind


def hint_of(key: str) -> Any:  # noqa: ANN401  # a type hint can be any object
    """Return the type hint of a key such as `contact` or `rerank.decompose.chain`; None for an unknown one."""
    table, _, name = key.rpartition(".")
    if key == "llm" or table not in GENERAL | TABLES:
        return None
    return hints_of(settings_class(table)).get(name)


def keys_in(tables: Iterable[str]) -> list[str]:
    """Return the whole keys of these tables."""
    named = ((table, name) for table in tables for name in hints_of(settings_class(table)))
    return [f"{table}.{name}" if table else name for table, name in named if (table, name) != ("", "llm")]


def keys_of(verb: str) -> tuple[str, ...]:
    """Return the keys of a verb's own tables: `chain`, or `decompose.chain` for the table `rerank.decompose`."""
    own = keys_in(table for table in TABLES if f"{table}.".startswith(f"{verb}."))
    return tuple(key.removeprefix(f"{verb}.") for key in own)


def set_keys(verb: str) -> dict[str, str]:
    """Return key as `--set` takes it -> whole key: `chain` -> `rerank.chain`; general keys, and borrowed ones."""
    borrowed = keys_in(BORROWED.get(verb, ()))
    found = {key: f"{verb}.{key}" for key in keys_of(verb)}
    found |= {key: key for key in borrowed} | {key.partition(".")[2]: key for key in borrowed}
    return found | {key: key for key in keys_in(GENERAL)}


def read_values(
    *,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    file: Path | None = None,
    sets: Mapping[str, str] | None = None,
) -> dict[str, object]:
    """Return key -> value of all settings that are given anywhere but in a flag.

    By default the environment is that of this process; `fieldmark.toml` is searched from the working folder upwards,
    `file` is that of `--settings`, `sets` are whole key -> text of `--set`.

    Raises:
        ConfigError: for an unknown key, with the nearest one, and for a value of the wrong type.
    """
    folder = (folder or Path.cwd()).absolute()
    found = next((path for each in (folder, *folder.parents) if (path := each / FILE_NAME).is_file()), None)
    values = {} if found is None else _from_file(found)
    values |= _from_environment(os.environ if environment is None else environment)
    values |= {} if file is None else _from_file(file)
    return values | {key: _checked(key, text, "--set", is_text=True) for key, text in (sets or {}).items()}


def resolve(flags: Mapping[str, object] | None = None, values: Mapping[str, object] | None = None) -> Settings:
    """Return the general settings in force; `flags` that are not None win over the `values` of `read_values`."""
    values = read_values() if values is None else values
    given = [kind for kind in ENDPOINTS if any(key.startswith(f"llm.{kind}.") for key in values)]
    llm: dict[str, Endpoint] = {kind: _endpoint(kind, values) for kind in given}
    settings = of_table("", Settings(llm=llm), values, flags or {})
    own = settings.home / OWN
    return replace(settings, kb=own) if settings.kb is None and (own / "kb.toml").is_file() else settings


def of_table(
    table: str, base: SettingsT, values: Mapping[str, object], flags: Mapping[str, object] | None = None
) -> SettingsT:
    """Return `base` with the values of a table, and with the flags that are not None.

    Raises:
        ConfigError: for a value out of range.
    """
    own = {key.rpartition(".")[2]: value for key, value in values.items() if key.rpartition(".")[0] == table}
    own |= {key: value for key, value in (flags or {}).items() if value is not None}
    try:
        return replace(base, **own)  # type: ignore[type-var]  # a dataclass
    except ConfigError as error:
        raise ConfigError(f"[{table}]: {error}", hint=error.hint) from error
    except ValueError as error:
        raise ConfigError(f"[{table}]: {error}") from error


def _endpoint(kind: str, values: Mapping[str, object]) -> Endpoint:
    model = values.get(f"llm.{kind}.model")
    if model is None:
        raise ConfigError(f"The table [llm.{kind}] has no model.", hint=f'Add model = "NAME" to [llm.{kind}].')
    return of_table(f"llm.{kind}", Endpoint(model="?"), values)


def _from_file(file: Path) -> dict[str, object]:
    """Return the values of a TOML file; paths are relative to its folder."""
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file} is not TOML: {error}") from error
    found: dict[str, object] = {}

    def read(above: str, table: Mapping[str, object]) -> None:
        for name, value in table.items():
            key = above + name
            if isinstance(value, Mapping) and hint_of(key) is None:
                read(f"{key}.", value)
                continue
            parsed = _checked(key, value, str(file), is_text=False)
            found[key] = file.parent / parsed if isinstance(parsed, Path) else parsed

    read("", content)
    return found


def _from_environment(environment: Mapping[str, str]) -> dict[str, object]:
    given = {
        variable: text
        for variable, text in environment.items()
        if variable.startswith(PREFIX) and not variable.startswith(NOT_SETTINGS) and text
    }
    keys: dict[str, str] = {}
    found = {}
    for tables in ([""], GENERAL):  # of the others only if one is named
        if not given.keys() <= keys.keys():
            keys = {PREFIX + key.replace(".", "_").upper(): key for key in keys_in(tables)}
    for variable, text in given.items():
        if variable not in keys:
            is_endpoint = variable.startswith(f"{PREFIX}LLM_")
            hint = did_you_mean(variable, [key for key in keys if key.startswith(f"{PREFIX}LLM_") == is_endpoint])
            raise ConfigError(f'Unknown setting "{variable}" in the environment.', hint=hint)
        found[keys[variable]] = _checked(keys[variable], text, f"the environment ({variable})", is_text=True)
    return found


def _checked(key: str, value: object, place: str, *, is_text: bool) -> object:
    is_endpoint, name = key.startswith("llm."), key.rpartition(".")[2]
    hint_of_key = hint_of(key)
    if hint_of_key is None:
        if is_endpoint and name in ("api_key", "key", "token"):
            raise ConfigError(
                f"{key} in {place}: API keys are not stored in settings.",
                hint="Put the key into an environment variable and name that variable in api_key_env.",
            )
        table = key.rpartition(".")[0]
        tables = GENERAL | TABLES
        hint = did_you_mean(key, keys_in([table] if table in tables else tables))
        if table not in tables and hint.startswith("Known"):  # some 90 keys
            hint = f"Known tables: {', '.join(f'[{each}]' for each in tables if each)}."
        raise ConfigError(f'Unknown setting "{key}" in {place}.', hint=hint)
    try:
        parsed = parse_value(hint_of_key, value, is_text=is_text)
    except ValueError:
        got = "" if is_endpoint else f", got {value!r}"  # it may be a secret
        raise ConfigError(f'Setting "{key}" in {place}: expected {type_in_words(hint_of_key)}{got}.') from None
    return parsed.expanduser() if isinstance(parsed, Path) else parsed


def parse_value(hint: Any, value: object, *, is_text: bool) -> object:  # noqa: ANN401  # a type hint can be any object
    """Return a value of TOML as its field has it; with `is_text` that of `--set` or of an environment variable.

    In a text, a list is separated by commas and `none` is None.

    Raises:
        ValueError: for a value of the wrong type.
    """
    from pydantic import TypeAdapter

    adapter: TypeAdapter[object] = TypeAdapter(hint, config={"allow_inf_nan": False})
    if not is_text:
        return adapter.validate_json(json.dumps(value, default=str), strict=True)
    text = str(value)
    if get_origin(hint) is Mapping:
        return adapter.validate_json(text)
    if text.lower() == "none" and type(None) in get_args(hint):
        return None
    is_list = any(get_origin(each) in (tuple, list) for each in (hint, *get_args(hint)))
    return adapter.validate_python([part.strip() for part in text.split(",")] if is_list else text)


def type_in_words(hint: Any) -> str:  # noqa: ANN401  # a type hint can be any object
    """Return a type hint in words: `a number from 0 to 1`; None, the default of many, is left out."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        bounds = [(word, getattr(each, name)) for each in arguments[1:]
                  for name, word in (("ge", "from"), ("gt", "above"), ("le", "to"), ("lt", "below"))
                  if getattr(each, name, None) is not None]  # fmt: skip
        joint = " and " if "below" in dict(bounds) else " "  # from 0 to 1, above 0 and below 1
        return f"{type_in_words(arguments[0])} {joint.join(f'{word} {bound}' for word, bound in bounds)}"
    if origin in (Union, types.UnionType):
        return " or ".join(type_in_words(each) for each in arguments if each is not type(None))
    if origin is Literal:
        return "one of " + ", ".join(map(str, arguments))
    if origin in (tuple, list):
        return "a list, each " + type_in_words(arguments[0])
    if origin is Mapping:
        return "a table; as text, a JSON object"
    plain: dict[object, str] = {
        int: "a whole number", float: "a number", bool: "true or false", str: "text", Path: "a path",
    }  # fmt: skip
    return plain.get(hint, str(hint))
