"""Options that several verbs share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import TypeVar

import click

from cli.common import config
from cli.common.config import Invocation, Settings
from cli.common.method_settings import keys_of, merge_settings
from data.errors import ConfigError, did_you_mean

CommandT = TypeVar("CommandT", bound=Callable[..., object])
SettingsT = TypeVar("SettingsT")


def kb_option(text: str = "Knowledge base.", *, needed: bool = False) -> Callable[[CommandT], CommandT]:
    """Return the option `--kb DIR`; `needed` is for verbs that write, which never touch the shipped knowledge."""
    default = "FIELDMARK_KB" if needed else "FIELDMARK_KB, else the shipped one"
    help_text = f"{text}  [default: {default}]"
    return click.option("--kb", type=click.Path(path_type=Path), metavar="DIR", help=help_text)


def format_option(*choices: str, default: str | None = None) -> Callable[[CommandT], CommandT]:
    """Return the option `--format` with the first choice as its default."""
    default = default or choices[0]
    return click.option(
        "--format", "form", type=click.Choice(choices), default=default, show_default=True, help="Output format."
    )


def words_argument(name: str) -> Callable[[CommandT], CommandT]:
    """Return an argument of one or more words, so that a name of two words needs no quotes."""

    def join(_ctx: click.Context, _parameter: click.Parameter, words: tuple[str, ...]) -> str:
        return " ".join(words)

    return click.argument(name, nargs=-1, required=True, callback=join, metavar=name.upper())


def settings(**flags: object) -> Settings:
    """Return the settings of this run: options of the verb over `--set`, `--settings`, environment, file, defaults."""
    given = invocation()
    return config.resolve(flags, file=given.settings, sets=given.set)


def method_settings(table: str, kind: type[SettingsT], *, base: SettingsT | None = None, **flags: object) -> SettingsT:
    """Return the settings of a method in this run, as an instance of the library's dataclass `kind`.

    Args:
        table: its table in `fieldmark.toml`, registered in `cli.common.method_settings.TABLES`.
        kind: its dataclass.
        base: what holds where nothing is given, such as a preset; without it, the defaults of `kind`.
        flags: field -> value of an option of the verb that sets the same; None is not given.
    """
    given, verb = invocation(), verb_of(click.get_current_context())
    sets = {}
    for key, text in given.set.items():
        owner, _, name = f"{verb}.{key}".rpartition(".")
        if owner == table and not config.is_general(key):
            sets[name] = text
    files = config.method_files(file=given.settings)
    return merge_settings(table, kind, base=base, files=files, sets=sets, flags=flags)


def verb_of(ctx: click.Context) -> str:
    """Return the verb of a context, the verbs of a group with a point between: `identify`, `eval.species`."""
    names: list[str] = []
    while ctx.parent is not None:
        names.insert(0, ctx.info_name or "")
        ctx = ctx.parent
    return ".".join(names)


class SetOption(click.Option):
    """`--set KEY=VALUE`; its help lists the settings of the verb."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return the option and its help, with the keys of this verb."""
        record = super().get_help_record(ctx)
        keys = keys_of(verb_of(ctx))
        return record and (record[0], f"{record[1]} Settings: {', '.join(keys)}." if keys else record[1])


def read_set(ctx: click.Context, _parameter: click.Parameter, pairs: tuple[str, ...]) -> None:
    """Check the pairs of `--set` and put them into the invocation; the last of one key holds."""
    known = [field.name for field in fields(Settings) if field.name != "llm"]
    keys = keys_of(verb_of(ctx)) if pairs else ()
    for pair in pairs:
        key, equals, value = pair.partition("=")
        key = key.strip()
        if not equals:
            raise ConfigError(f'Expected --set KEY=VALUE, got "{pair}".')
        if not config.is_general(key) and key not in keys:
            raise ConfigError(f'Unknown setting "{key}" in --set.', hint=did_you_mean(key, [*keys, *known]))
        ctx.ensure_object(Invocation).set[key] = value.strip()


def invocation() -> Invocation:
    """Return the values of the options that all verbs share."""
    return click.get_current_context().ensure_object(Invocation)
