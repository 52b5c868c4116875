"""Options that several verbs share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click

from cli.common import config
from cli.common.config import Invocation, Settings

CommandT = TypeVar("CommandT", bound=Callable[..., object])


def kb_option(text: str = "The knowledge base; without it FIELDMARK_KB.") -> Callable[[CommandT], CommandT]:
    """Return the option `--kb DIR`."""
    return click.option("--kb", type=click.Path(path_type=Path), metavar="DIR", help=text)


def profile_option() -> Callable[[CommandT], CommandT]:
    """Return the option `--profile NAME` of verbs that ask a knowledge base."""
    text = "Which of its profiles to ask, of several that it has.  [default: the one it was built with]"
    return click.option("--profile", metavar="NAME", help=text)


def format_option(*choices: str, default: str | None = None) -> Callable[[CommandT], CommandT]:
    """Return the option `--format` with the first choice as its default."""
    default = default or choices[0]
    return click.option(
        "--format", "form", type=click.Choice(choices), default=default, show_default=True, help="How to print."
    )


def words_argument(name: str) -> Callable[[CommandT], CommandT]:
    """Return an argument of one or more words, so that a name of two words needs no quotes."""

    def join(_ctx: click.Context, _parameter: click.Parameter, words: tuple[str, ...]) -> str:
        return " ".join(words)

    return click.argument(name, nargs=-1, required=True, callback=join, metavar=name.upper())


def settings(**flags: object) -> Settings:
    """Return the settings of this run: the options of the verb over environment, file and defaults."""
    return config.resolve(flags, file=invocation().config)


def invocation() -> Invocation:
    """Return what the options that all verbs have said."""
    return click.get_current_context().ensure_object(Invocation)
