"""The tables `[llm.text]`, `[llm.vision]`, `[llm.search]` and `[llm.image]`: read, checked, and made into endpoints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from difflib import get_close_matches
from typing import get_args

from data.errors import ConfigError, MissingRequirement
from kb.endpoints.endpoint import Endpoint, JsonMode

KINDS = ("text", "vision", "search", "image")
KEYS = tuple(field.name for field in fields(Endpoint))
NUMBERS = ("price_in", "price_out", "price_per_request", "timeout_s")
WHOLE_NUMBERS = ("max_concurrent", "image_tokens", "image_px")

Tables = dict[str, dict[str, object]]


def tables_of_file(value: object, *, where: str) -> Tables:
    """Return kind -> key -> value of the table `llm` of a settings file.

    Raises:
        ConfigError: for an unknown kind or key, or a value of the wrong sort; a value is never repeated, since it may
            be a key that somebody has put there.
    """
    if not isinstance(value, Mapping):
        raise ConfigError(f"llm in {where}: expected tables like [llm.text]")
    tables: Tables = {}
    for kind, table in value.items():
        if kind not in KINDS:
            raise ConfigError(f"unknown table [llm.{kind}] in {where}", hint=_nearest(str(kind), KINDS))
        if not isinstance(table, Mapping):
            raise ConfigError(f"llm.{kind} in {where}: expected a table [llm.{kind}]")
        place = f"[llm.{kind}] in {where}"
        tables[kind] = {key: _checked(key, item, place) for key, item in table.items()}
    return tables


def from_variable(key: str, value: str, *, variable: str) -> tuple[str, str, object]:
    """Return (kind, key, value) of an environment variable like `FIELDMARK_LLM_TEXT_MODEL`.

    Args:
        key: its name in small letters without `fieldmark_llm_`: `text_model`.
        value: its value.
        variable: its whole name.

    Raises:
        ConfigError: if it names nothing that can be set, or its value is of the wrong sort.
    """
    kind, _, name = key.partition("_")
    known = [f"{kind}_{name}" for kind in KINDS for name in KEYS]
    if key not in known:
        near = get_close_matches(key, known, n=1)
        hint = f"did you mean {variable[: len(variable) - len(key)]}{near[0].upper()}?" if near else None
        raise ConfigError(f"unknown setting {variable} in the environment", hint=hint)
    return kind, name, _checked(name, value, f"the environment ({variable})")


def endpoints_of(tables: Tables) -> dict[str, Endpoint]:
    """Return kind -> endpoint.

    Raises:
        ConfigError: if a table lacks the model, or its values make no sense.
    """
    found = {}
    for kind, table in tables.items():
        if "model" not in table:
            raise ConfigError(f"[llm.{kind}]: model is missing")
        try:
            found[kind] = Endpoint(**table)  # type: ignore[arg-type]  # checked one by one
        except ConfigError as error:
            raise ConfigError(f"[llm.{kind}]: {error}", hint=error.hint) from error
    return found


def key_of(endpoint: Endpoint, environment: Mapping[str, str], *, kind: str) -> str:
    """Return the API key of an endpoint, empty where it needs none.

    Raises:
        MissingRequirement: if the variable that should hold it is not set, or holds what cannot be a key.
    """
    if endpoint.api_key_env is None:
        return ""
    key = environment.get(endpoint.api_key_env, "").strip()
    if not key:
        raise MissingRequirement(
            f"[llm.{kind}] takes its key from {endpoint.api_key_env}, which is not set",
            hint=f"export {endpoint.api_key_env}=... (or remove api_key_env for a server that wants no key)",
        )
    if not all("!" <= sign <= "~" for sign in key):
        raise MissingRequirement(
            f"{endpoint.api_key_env} of [llm.{kind}] holds blanks or signs that no key has",
            hint="copy the key again: quotation marks or an ellipsis may have come along",
        )
    return key


def _checked(key: str, value: object, where: str) -> object:
    if key not in KEYS:
        if key in ("api_key", "key", "token"):
            raise ConfigError(
                f"{where}: keys do not belong into settings",
                hint="api_key_env names the environment variable that holds the key",
            )
        raise ConfigError(f"unknown key {key} of {where}", hint=_nearest(key, KEYS))
    if key in NUMBERS or key in WHOLE_NUMBERS:
        noun = "a whole number" if key in WHOLE_NUMBERS else "a number"
        try:
            if isinstance(value, bool) or not isinstance(value, str | int | float):
                raise ValueError
            if key not in WHOLE_NUMBERS:
                return float(value)
            if isinstance(value, float):
                raise ValueError
            return int(value)
        except ValueError:
            raise ConfigError(f"{key} of {where}: expected {noun}") from None
    if not isinstance(value, str):
        raise ConfigError(f"{key} of {where}: expected a text")
    if key == "json" and value not in get_args(JsonMode):
        raise ConfigError(f"json of {where}: expected one of {', '.join(get_args(JsonMode))}")
    return value


def _nearest(word: str, known: tuple[str, ...] | list[str]) -> str:
    near = get_close_matches(word, known, n=1)
    return f"did you mean {near[0]}?" if near else f"known: {', '.join(known)}"
