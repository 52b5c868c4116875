"""Commands: each has help, its own module and a place in the README, and the README has no others."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from cli.main import commands
from cli.verb_list import VERBS

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
CONTEXT = click.Context(commands, info_name="kb")


@pytest.mark.parametrize("verb", VERBS)
def test_a_command_and_its_options_have_help(verb: str) -> None:
    command = commands.get_command(CONTEXT, verb)
    assert command is not None
    assert len(command.get_short_help_str(200)) > 15
    bare = [option.opts[0] for option in command.params if isinstance(option, click.Option) and not option.help]
    assert bare == []


@pytest.mark.parametrize("verb", VERBS)
def test_a_command_is_in_the_readme(verb: str) -> None:
    assert f"kb {verb}" in README.read_text(encoding="utf-8")


def test_commands_in_the_readme_exist() -> None:
    named = set(re.findall(r"(?:^|[`/ ])kb ([a-z]+)\b", README.read_text(encoding="utf-8"), flags=re.MULTILINE))
    # Prose may say "a kb is"; only code counts.
    code = set()
    for block in re.findall(r"```(?:console|sh|bash|shell)\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL):
        code |= set(re.findall(r"(?:^|[/ ])kb ([a-z]+)\b", block, flags=re.MULTILINE))
    assert code <= named
    assert code - set(VERBS) == set()


def test_every_command_has_its_own_module() -> None:
    verbs = ROOT / "cli" / "verbs"
    places = {file.stem.rstrip("_") for file in verbs.glob("*.py")} | {
        file.parent.name for file in verbs.glob("*/*.py")
    }
    assert sorted(places - {"__init", "__pycache__", "verbs"}) == sorted(verb.replace("-", "_") for verb in VERBS)
