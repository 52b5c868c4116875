"""Options that several verbs share."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from cli.common import output
from cli.common.settings import Invocation, Settings, keys_of, of_table, resolve, set_keys
from data.errors import ConfigError, did_you_mean
from data.files import sha256_hex, write_atomic
from recognize.settings import PROFILES, own_profiles

if TYPE_CHECKING:
    from kb.lookup.context_settings import ContextSettings

CommandT = TypeVar("CommandT", bound=Callable[..., object])
SettingsT = TypeVar("SettingsT")


def kb_option(text: str = "Knowledge base.", *, needed: bool = False) -> Callable[[CommandT], CommandT]:
    """Return the option `--kb DIR`; `needed` is for verbs that write, which never touch the shipped knowledge."""
    default = "FIELDMARK_KB" if needed else "FIELDMARK_KB, else the shipped one"
    help_text = f"{text}  [default: {default}]"
    return click.option("--kb", type=click.Path(path_type=Path), metavar="DIR", help=help_text)


def checklist_option(command: CommandT) -> CommandT:
    """Add the option `--checklist NAME|FILE|wiki`."""
    default = "that of the knowledge base, else avilist"
    text = (
        "Checklist of the names: one of kb checklist list, a file, which is added, or wiki, the taxoboxes of the "
        f"pages themselves.  [default: {default}]"
    )
    return click.option("--checklist", metavar="NAME|FILE|wiki", help=text)(command)


def format_option(*choices: str, default: str | None = None) -> Callable[[CommandT], CommandT]:
    """Return the option `--format` with the first choice as its default."""
    default = default or choices[0]
    return click.option(
        "--format", "form", type=click.Choice(choices), default=default, show_default=True, help="Output format."
    )


class Number(click.FloatRange):
    """A number in a range; the error gives an example."""

    def convert(
        self,
        value: Any,  # noqa: ANN401  # click's own signature
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> float:
        """Return the number, or fail with the range in words."""
        try:
            return float(super().convert(value, param, ctx))
        except click.BadParameter:
            bounds = f"of at least {self.min:g}" if self.max is None else f"from {self.min:g} to {self.max:g}"
            self.fail(f"expected a number {bounds}, such as 0.5, got {str(value)!r}.", param, ctx)


FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


class ProfileType(click.Choice[str]):
    """A profile: one of Fieldmark's, or of an installed package."""

    def __init__(self) -> None:
        super().__init__(PROFILES)

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name of the profile."""
        if value not in self.choices and value in own_profiles().names:
            return value
        return str(super().convert(value, param, ctx))


def profile_option(command: CommandT) -> CommandT:
    """Add `--profile`, for verbs that make a knowledge base."""
    text = "Encoders of a new knowledge base.  [default: starter for birds, general for other groups]"
    return click.option("--profile", type=ProfileType(), help=text)(command)


def cost_options(command: CommandT) -> CommandT:
    """Add `--max-cost`, `--offline` and `--no-cache`, for verbs that call models."""

    def check(ctx: click.Context, parameter: click.Parameter, value: bool) -> bool:
        invocation().fresh |= value and parameter.name == "no_cache"
        if invocation().fresh and (value if parameter.name == "offline" else ctx.params.get("offline")):
            raise click.UsageError("--no-cache asks the models again and --offline asks none. Choose one of them.")
        return value

    anew = "Ask the models again; their replies replace the cached ones."
    command = click.option("--no-cache", is_flag=True, expose_value=False, callback=check, help=anew)(command)
    command = click.option("--offline", is_flag=True, callback=check, help="Use cached model replies only.")(command)
    cost = Number(min=0)
    return click.option("--max-cost", type=cost, metavar="USD", help="Maximum cost of the models.")(command)


def wiki_options(command: CommandT) -> CommandT:
    """Add `--api-url` and `--contact`, for verbs that read a wiki."""
    contact = "Your address for the User-Agent; Wikimedia requires one."
    command = click.option("--contact", metavar="ADDRESS", help=contact)(command)
    return click.option("--api-url", metavar="URL", help="The wiki's api.php.  [default: Wikipedia's]")(command)


def words_argument(name: str) -> Callable[[CommandT], CommandT]:
    """Return an argument of one or more words, so that a name of two words needs no quotes."""

    def join(_ctx: click.Context, _parameter: click.Parameter, words: tuple[str, ...]) -> str:
        joined = " ".join(words).strip()
        if not joined:
            raise click.BadParameter("expected words, got an empty text.")
        return joined

    return click.argument(name, nargs=-1, required=True, callback=join, metavar=name.upper())


def settings(**flags: object) -> Settings:
    """Return the settings of this run: options of the verb over `--set`, `--settings`, environment, file, defaults.

    The log follows them from here on.
    """
    found = resolve(flags, invocation().values)
    output.set_log_level(found.log)
    return found


def method_settings(table: str, kind: type[SettingsT], *, base: SettingsT | None = None, **flags: object) -> SettingsT:
    """Return the settings of a method in this run, as an instance of the library's dataclass `kind`.

    `table` is one of `cli.common.settings.TABLES`, `base` its defaults such as a preset, and `flags` are field -> value
    of an option of the verb that sets the same, if it is given.

    Raises:
        ConfigError: for a value out of range.
    """
    return of_table(table, kind() if base is None else base, invocation().values, flags)


def context_settings(*, preset: str = "default", wiki: bool | None = None, web: bool | None = None) -> ContextSettings:
    """Return the sources of context in this run; the flags mean always or never."""
    from kb.lookup.context_settings import CONTEXT_PRESETS, ContextSettings

    flags = {name: "always" if flag else "never" for name, flag in (("wiki", wiki), ("web", web)) if flag is not None}
    base = CONTEXT_PRESETS.get(preset, CONTEXT_PRESETS["default"])
    return method_settings("context", ContextSettings, base=base, **flags)


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
    if not pairs:
        return
    verb = verb_of(ctx)
    known = set_keys(verb)
    for pair in pairs:
        key, equals, value = pair.partition("=")
        key = key.strip()
        if not equals:
            raise ConfigError(f'Expected --set KEY=VALUE, got "{pair}".')
        whole = known.get(key) or known.get(key.removeprefix(f"{verb}."))  # as in fieldmark.toml: rerank.first_stage
        if whole is None:
            near = [name for name in known if name.startswith("llm.") == key.startswith("llm.")]
            raise ConfigError(f'Unknown setting "{key}" in --set.', hint=did_you_mean(key, near))
        ctx.ensure_object(Invocation).set[whole] = value.strip()


def given_options(ctx: click.Context, names: Sequence[str]) -> list[str]:
    """Return the options among these parameters that stand on the command line, as a user writes them."""
    found = [name for name in names if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE]
    return [f"--{name.replace('_', '-')}" for name in found]


def invocation() -> Invocation:
    """Return the values of the options that all verbs share; the defaults outside a command."""
    context = click.get_current_context(silent=True)
    return Invocation() if context is None else context.ensure_object(Invocation)


def keep_command(path: Path, home: Path) -> None:
    """Keep the command of a build, which the page of `kb serve` can run again; none with a password in an address."""
    file, given = _command_file(path, home), invocation().arguments
    content = "" if any("://" in each and "@" in each for each in given) else json.dumps([str(Path.cwd()), *given])
    with suppress(OSError):  # then the page offers no repetition
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(file, content.encode())


def kept_command(path: Path, home: Path) -> list[str]:
    """Return working folder and arguments of the last build or update of a knowledge base; empty if not known."""
    try:
        folder, *given = json.loads(_command_file(path, home).read_bytes())
    except (OSError, ValueError):
        return []
    return [folder, *given] if Path(folder).is_dir() else []


def _command_file(path: Path, home: Path) -> Path:
    return home / "builds" / f"{sha256_hex(str(path.resolve()))[:32]}.json"
