"""The tables `[llm.text]`, `[llm.vision]`, `[llm.search]` and `[llm.image]`: read and checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import get_args

from data.errors import ConfigError, MissingRequirement, did_you_mean
from kb.endpoints.endpoint import Endpoint, JsonMode

KINDS = ("text", "vision", "search", "image")
KEYS = tuple(field.name for field in fields(Endpoint))
NUMBERS = ("price_in", "price_out", "price_per_request", "timeout_s")
WHOLE_NUMBERS = ("max_concurrent", "image_tokens", "image_px")

Tables = dict[str, dict[str, object]]


def tables_of_file(value: object, *, where: str) -> Tables:
    """Return kind -> key -> value of the table `llm` of a settings file.

    Raises:
        ConfigError: for an unknown kind or key, or a value of the wrong type; the value is never repeated, since
            it may be a secret.
    """
    if not isinstance(value, Mapping):
        raise ConfigError(f"Setting llm in {where}: expected tables such as [llm.text].")
    tables: Tables = {}
    for kind, table in value.items():
        if kind not in KINDS:
            raise ConfigError(f"Unknown table [llm.{kind}] in {where}.", hint=did_you_mean(str(kind), KINDS))
        if not isinstance(table, Mapping):
            raise ConfigError(f"Setting llm.{kind} in {where}: expected a table [llm.{kind}].")
        place = f"[llm.{kind}] in {where}"
        tables[kind] = {key: _checked(key, item, place) for key, item in table.items()}
    return tables


def from_variable(key: str, value: str, *, variable: str) -> tuple[str, str, object]:
    """Return (kind, key, value) of an environment variable like `FIELDMARK_LLM_TEXT_MODEL`.

    Args:
        key: its name in lower case without `fieldmark_llm_`: `text_model`.
        value: its value.
        variable: its whole name.

    Raises:
        ConfigError: for an unknown setting, or a value of the wrong type.
    """
    kind, _, name = key.partition("_")
    known = [f"{kind}_{name}" for kind in KINDS for name in KEYS]
    if key not in known:
        prefix = variable[: len(variable) - len(key)]
        hint = did_you_mean(variable, [prefix + name.upper() for name in known])
        raise ConfigError(f'Unknown setting "{variable}" in the environment.', hint=hint)
    return kind, name, _checked(name, value, f"the environment ({variable})")


def endpoints_of(tables: Tables) -> dict[str, Endpoint]:
    """Return kind -> endpoint.

    Raises:
        ConfigError: if a table lacks the model, or its values do not fit together.
    """
    found = {}
    for kind, table in tables.items():
        if "model" not in table:
            raise ConfigError(f"The table [llm.{kind}] has no model.", hint=f'Add model = "NAME" to [llm.{kind}].')
        try:
            found[kind] = Endpoint(**table)  # type: ignore[arg-type]  # checked one by one
        except ConfigError as error:
            raise ConfigError(f"[llm.{kind}]: {error}", hint=error.hint) from error
    return found


def key_of(endpoint: Endpoint, environment: Mapping[str, str], *, kind: str) -> str:
    """Return the API key of an endpoint, empty where it needs none.

    Raises:
        MissingRequirement: if the variable that should hold it is not set, or cannot hold a key.
    """
    if endpoint.api_key_env is None:
        return ""
    key = environment.get(endpoint.api_key_env, "").strip()
    if not key:
        raise MissingRequirement(
            f"The API key of [llm.{kind}] is read from {endpoint.api_key_env}, which is not set.",
            hint=f"export {endpoint.api_key_env}=... (or remove api_key_env if the server needs no key)",
        )
    if not all("!" <= sign <= "~" for sign in key):
        raise MissingRequirement(
            f"{endpoint.api_key_env} of [llm.{kind}] contains spaces or characters that no API key has.",
            hint="Copy the key again, without quotation marks or an ellipsis.",
        )
    return key


def _checked(key: str, value: object, where: str) -> object:
    if key not in KEYS:
        if key in ("api_key", "key", "token"):
            raise ConfigError(
                f"{where}: API keys are not stored in settings.",
                hint="Put the key into an environment variable and name that variable in api_key_env.",
            )
        raise ConfigError(f'Unknown key "{key}" in {where}.', hint=did_you_mean(key, KEYS))
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
            raise ConfigError(f'Key "{key}" in {where}: expected {noun}.') from None
    if not isinstance(value, str):
        raise ConfigError(f'Key "{key}" in {where}: expected text.')
    if key == "json" and value not in get_args(JsonMode):
        raise ConfigError(f'Key "json" in {where}: expected one of {", ".join(get_args(JsonMode))}.')
    return value
