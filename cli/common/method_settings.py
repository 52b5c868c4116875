"""Settings of methods: constants and ablations that no flag carries, by table of `fieldmark.toml`.

The fields of a frozen dataclass of the library are the keys of its table: name, type, default, and the docstring below
the field. `--set key=value` > `--settings FILE` > `fieldmark.toml` > the library's default.
"""

from __future__ import annotations

import json
import types
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from data.errors import ConfigError, did_you_mean

SettingsT = TypeVar("SettingsT")

TABLES: Final[dict[str, str]] = {
    "identify": "recognize.settings:IdentifySettings",
    "eval.species": "recognize.settings:EvaluationSettings",
    "rerank.decompose": "rerank.decompose.settings:DecomposeSettings",
    "rerank.vision": "rerank.judges.settings:VisionSettings",
    "rerank.cotrr": "rerank.cotrr.settings:CotrrSettings",
}
"""Table -> module and class of its settings. A verb owns the table of its name and those below: `rerank.decompose`.

The modules are loaded by `--help`, so they load no heavy library.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsFile:
    """The method settings of one TOML file: table -> key -> value, tables spelt with points."""

    path: Path
    tables: Mapping[str, Mapping[str, object]]


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingDoc:
    """One setting for the reference: the table and key, the type in words, the default, and its docstring."""

    table: str
    key: str
    type: str
    default: object
    doc: str


def tables_of(verb: str) -> tuple[str, ...]:
    """Return the tables of a verb: that of its name and those below it. `kb eval species` is `eval.species`."""
    return tuple(table for table in TABLES if table == verb or table.startswith(f"{verb}."))


def keys_of(verb: str) -> tuple[str, ...]:
    """Return the keys that `--set` takes for a verb: `chain`, or `decompose.chain` for the table `rerank.decompose`."""
    return tuple(
        f"{table}.{field.name}".removeprefix(f"{verb}.") for table in tables_of(verb) for field in fields(_class(table))
    )


def tables_of_file(table: Mapping[str, object], path: Path) -> SettingsFile:
    """Return the tables of methods in a parsed TOML file. Keys are checked when the verb runs, table names now.

    Raises:
        ConfigError: for a table that no verb has.
    """
    found: dict[str, dict[str, object]] = {}

    def read(name: str, content: Mapping[str, object]) -> None:
        for key, value in content.items():
            below = f"{name}.{key}"
            if isinstance(value, Mapping) and any(f"{known}.".startswith(f"{below}.") for known in TABLES):
                read(below, value)
            elif name in TABLES:
                found.setdefault(name, {})[key] = value
            else:
                raise ConfigError(f"Unknown table [{below}] in {path}.", hint=did_you_mean(below, TABLES))

    for name, content in table.items():
        if not any(f"{known}.".startswith(f"{name}.") for known in TABLES) or not isinstance(content, Mapping):
            raise ConfigError(f"Unknown table [{name}] in {path}.", hint=did_you_mean(name, TABLES))
        read(name, content)
    return SettingsFile(path=path, tables=found)


def merge_settings(
    table: str,
    kind: type[SettingsT],
    *,
    base: SettingsT | None = None,
    files: Sequence[SettingsFile] = (),
    sets: Mapping[str, str] | None = None,
    flags: Mapping[str, object] | None = None,
) -> SettingsT:
    """Return the settings of a table: `base` with the values of the files (weakest first), of `--set` and of flags.

    Args:
        table: the table, for messages and `files`.
        kind: its dataclass.
        base: what holds where nothing is given, such as a preset; without it, the defaults of `kind`.
        files: files of settings, the strongest last.
        sets: key of this table -> text of `--set`.
        flags: key -> value of options of the verb; None is not given.

    Raises:
        ConfigError: for an unknown key, with the nearest one, and for a value of the wrong type or out of range.
    """
    values: dict[str, object] = {}
    for file in files:
        place = f"[{table}] of {file.path}"
        for key, value in file.tables.get(table, {}).items():
            values[key] = _parsed(kind, key, value, place=place, is_text=False)
    for key, text in (sets or {}).items():
        values[key] = _parsed(kind, key, text, place="--set", is_text=True)
    values |= {key: value for key, value in (flags or {}).items() if value is not None}
    try:
        return replace(kind() if base is None else base, **values)  # type: ignore[type-var]  # kind is a dataclass
    except ValueError as error:
        raise ConfigError(f"[{table}]: {error}") from error


def list_settings() -> list[SettingDoc]:
    """Return every setting of every table, for the generated reference."""
    return [
        SettingDoc(
            table=table,
            key=field.name,
            type=type_in_words(_hint(_class(table), field.name)),
            default=field.default if field.default_factory is MISSING else field.default_factory(),
            doc=field_docs(_class(table)).get(field.name, ""),
        )
        for table in TABLES
        for field in fields(_class(table))
    ]


def field_docs(kind: type[Any]) -> dict[str, str]:
    """Return field -> the docstring below it in the source of a dataclass."""
    import ast
    import inspect
    import textwrap

    (body,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    assert isinstance(body, ast.ClassDef)
    docs = {}
    for field, doc in zip(body.body, body.body[1:], strict=False):
        if (
            isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
            and isinstance(doc, ast.Expr) and isinstance(doc.value, ast.Constant) and isinstance(doc.value.value, str)
        ):  # fmt: skip
            docs[field.target.id] = inspect.cleandoc(doc.value.value)
    return docs


def type_in_words(hint: Any) -> str:  # noqa: ANN401  # a type hint can be any object
    """Return a type hint in words: `a number from 0 to 1`."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        bounds = [(word, getattr(each, name)) for each in arguments[1:]
                  for name, word in (("ge", "from"), ("gt", "above"), ("le", "to"), ("lt", "below"))
                  if getattr(each, name, None) is not None]  # fmt: skip
        return " ".join([type_in_words(arguments[0]), *(f"{word} {bound}" for word, bound in bounds)])
    if origin in (Union, types.UnionType):
        return " or ".join(type_in_words(each) for each in arguments)
    if origin is Literal:
        return "one of " + ", ".join(map(str, arguments))
    if origin in (tuple, list):
        return "a list, each " + type_in_words(arguments[0])
    plain: dict[object, str] = {
        int: "a whole number", float: "a number", bool: "true or false", str: "text", Path: "a path",
        type(None): "none",
    }  # fmt: skip
    return plain.get(hint, str(hint))


def _class(table: str) -> type[Any]:
    module, _, name = TABLES[table].partition(":")
    kind: type[Any] = getattr(import_module(module), name)
    return kind


def _hint(kind: type[Any], key: str) -> Any:  # noqa: ANN401  # a type hint can be any object
    return get_type_hints(kind, include_extras=True)[key]


def _parsed(kind: type[Any], key: str, value: object, *, place: str, is_text: bool) -> object:
    """Return a value as its field has it: `value` is the text of `--set`, or a value of TOML that is kept."""
    known = [field.name for field in fields(kind)]
    if key not in known:
        raise ConfigError(f'Unknown setting "{key}" in {place}.', hint=did_you_mean(key, known))
    from pydantic import TypeAdapter, ValidationError

    hint = _hint(kind, key)
    adapter: TypeAdapter[object] = TypeAdapter(hint)
    try:
        if not is_text:
            return adapter.validate_json(json.dumps(value, default=str), strict=True)
        assert isinstance(value, str)
        if value.lower() == "none" and type(None) in get_args(hint):
            return None
        is_list = any(get_origin(each) in (tuple, list) for each in (hint, *get_args(hint)))
        return adapter.validate_python([part.strip() for part in value.split(",")] if is_list else value)
    except ValidationError:
        raise ConfigError(f'Setting "{key}" in {place}: expected {type_in_words(hint)}, got {value!r}.') from None
