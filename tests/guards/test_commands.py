"""Commands: each has help, a place in the README and tests of its options, and the README has no others."""

from __future__ import annotations

import re

import click

from cli.main import VERBS, commands
from tests.dead_options import all_options, spellings, title
from tests.guards.sources import ROOT, sources

README = (ROOT / "README.md").read_text(encoding="utf-8")
CONTEXT = click.Context(commands, info_name="kb")


def test_commands_and_their_options_have_help() -> None:
    silent = []
    for verb in VERBS:
        command = commands.get_command(CONTEXT, verb)
        assert command is not None
        bare = [option.opts[0] for option in command.params if isinstance(option, click.Option) and not option.help]
        silent += [f"{verb} {name}" for name in bare]
        silent += [verb] if len(command.get_short_help_str(200)) <= 15 else []
    assert silent == []


def test_the_readme_has_all_commands_and_no_others() -> None:
    """Prose may say "a kb is"; only code counts."""
    code = re.findall(r"```(?:console|sh)\n(.*?)```", README, re.DOTALL) + re.findall("`.+?`", README)
    assert set(re.findall(r"(?<![\w.-])kb ([a-z][a-z-]+)", " ".join(code))) == set(VERBS)


def test_every_option_is_used_by_a_test() -> None:
    """`tests.dead_options` checks that a test fails without it."""
    files = [source.strings for source in sources("tests")]

    def is_used(names: tuple[str, ...], words: set[str]) -> bool:
        starts = tuple(f"{name}=" for name in names)
        found = [strings for strings in files if words <= strings]
        return any(not strings.isdisjoint(names) for strings in found) or any(
            text.startswith(starts) for strings in found for text in strings
        )

    unused = [option for option in all_options() if not is_used(spellings(option), set(title(option).split()[:-1]))]
    assert list(map(title, unused)) == []
