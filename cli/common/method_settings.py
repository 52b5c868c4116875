"""Settings of methods: constants and ablations without an option, by table of `fieldmark.toml`.

The fields of a frozen dataclass of the library are the keys of its table: name, type, default, and the docstring below
the field.
"""

from __future__ import annotations

import json
import types
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin, get_type_hints

TABLES: Final[dict[str, str]] = {
    "build": "kb.pipeline.settings:BuildSettings",
    "identify": "recognize.settings:IdentifySettings",
    "eval.answers": "rerank.answers.settings:AnswerSettings",
    "eval.species": "recognize.settings:EvaluationSettings",
    "rerank": "rerank.settings:JobSettings",
    "rerank.decompose": "rerank.decompose.settings:DecomposeSettings",
    "rerank.vision": "rerank.judges.settings:VisionSettings",
    "rerank.cotrr": "rerank.cotrr.settings:CotrrSettings",
    "rerank.captions": "rerank.captions.settings:CaptionSettings",
    "rerank.visret": "rerank.visret.settings:VisretSettings",
    "feedback": "rerank.feedback.settings:FeedbackSettings",
    "eval.feedback": "rerank.feedback.settings:FeedbackSettings",
}
"""Table -> module and class of its settings. A verb owns the table of its name and those below: `rerank.decompose`.

The modules are loaded by `--help`, so they load no heavy library.
"""
BORROWED: Final[dict[str, tuple[str, ...]]] = {
    "find": ("rerank.visret", "rerank.captions"),
    "eval.answers": ("rerank.visret",),
}
"""Verb -> tables of another verb that it reads too; `--set` takes their keys with or without that verb's name."""


def method_hints() -> dict[str, Any]:
    """Return key -> type hint of every setting: `rerank.decompose.chain`."""
    return {f"{table}.{name}": hint for table in TABLES for name, hint in hints_of(settings_class(table)).items()}


def hints_of(kind: type[Any]) -> dict[str, Any]:
    """Return field -> type hint of a dataclass."""
    return get_type_hints(kind, include_extras=True)


def settings_class(table: str) -> type[Any]:
    """Return the dataclass of a table's settings."""
    module, _, name = TABLES[table].partition(":")
    kind: type[Any] = getattr(import_module(module), name)
    return kind


def keys_of(verb: str) -> tuple[str, ...]:
    """Return the keys that `--set` takes for a verb: `chain`, or `decompose.chain` for the table `rerank.decompose`."""
    return tuple(key.removeprefix(f"{verb}.") for key in method_hints() if key.startswith(f"{verb}."))


def borrowed_keys(verb: str) -> dict[str, str]:
    """Return key as `--set` takes it -> full key, for the tables of other verbs: `visret.images`."""
    full = [key for key in method_hints() if key.rpartition(".")[0] in BORROWED.get(verb, ())]
    return {key: key for key in full} | {key.partition(".")[2]: key for key in full}


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


def parse_value(hint: Any, value: object, *, is_text: bool) -> object:  # noqa: ANN401  # a type hint can be any object
    """Return a value as its field has it.

    Args:
        hint: type hint of the field.
        value: a value of TOML; with `is_text` the text of `--set` or of an environment variable, where a list is
            separated by commas and `none` is None.
        is_text: whether `value` is such a text.

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
