"""Documentation: consistent with the code, and limited in length."""

import csv
import json
import re
from dataclasses import fields
from pathlib import Path

import click
import pytest

from cli.common.settings import Settings, keys_of
from cli.main import commands
from docs import generate
from tests.guards.sources import ROOT

DOCS = ROOT / "docs"
GOLDEN = ROOT / "tests" / "cli" / "golden"
README = ROOT / "README.md"
WRITTEN = sorted(page for page in DOCS.rglob("*.md") if "generated" not in page.parts)
TABLES = DOCS / "results"  # long tables, each made by a command
PAPERS = DOCS / "reproduce"  # for someone who reproduces a paper
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]+")
# Options of other programs that the pages name.
FOREIGN = {"--host", "--port", "--path", "--epochs", "--head", "--address", "--help", "--version", "--split"}
MOST_WORDS = {DOCS / "results.md": 1500, DOCS / "security.md": 750, ROOT / "CHANGELOG.md": 700}


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def n_words(page: Path) -> int:
    return len([word for word in text_of(page).split() if re.search(r"\w", word)])


def options_of(command: click.Command) -> set[str]:
    own = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
    children = command.commands.values() if isinstance(command, click.Group) else ()
    return own.union(*map(options_of, children))


@pytest.fixture(scope="module")
def options() -> dict[str, set[str]]:
    context = click.Context(commands, info_name="kb")
    found = {name: commands.get_command(context, name) for name in commands.list_commands(context)}
    return {name: options_of(command) for name, command in found.items() if command is not None}


def test_pages_are_short() -> None:
    assert len(text_of(README).splitlines()) <= 150
    assert {page.name: n_words(page) for page, most in MOST_WORDS.items() if n_words(page) > most} == {}
    pages = [page for page in [README, *WRITTEN] if page.parent not in (TABLES, PAPERS)]
    assert sum(map(n_words, pages)) <= 15_500


def test_the_reference_has_every_command_with_every_option(options: dict[str, set[str]]) -> None:
    page = generate.commands()
    shared = page.partition("\n## Options of every command\n")[2].partition("\n## kb ")[0]
    for name, known in options.items():
        section = page.partition(f"\n## kb {name}\n")[2].partition("\n## kb ")[0]
        assert section != "", name
        assert {option for option in known if option.startswith("-") and option not in section + shared} == set()


def test_the_reference_has_the_wire_formats() -> None:
    """`python -m docs.generate > tests/cli/golden/names.json` writes the golden file after a visible change."""
    page = generate.wire_formats()
    for given, name in (("", "identify"), (" --rows candidates", "identify-candidates")):
        section = page.partition(f"## kb identify --format csv{given}\n")[2].partition("\n## ")[0]
        with (GOLDEN / f"{name}.csv").open(encoding="utf-8") as file:
            assert re.findall(r"^\| `(\w+)` \|", section, flags=re.MULTILINE) == next(csv.reader(file))
    assert re.findall(r"^\| `\w+` \| [^|]+ \|  \|$", page, flags=re.MULTILINE) == []  # without an explanation
    assert generate.names_on_the_wire() == json.loads(text_of(GOLDEN / "names.json"))


def test_options_and_settings_in_pages_exist(options: dict[str, set[str]]) -> None:
    """Options in code blocks are checked against their own command, options in prose against all commands."""
    everywhere = FOREIGN.union(*options.values())
    settings = {"KEY", *(field.name for field in fields(Settings))}
    settings |= {key for verb in [*options, "eval.species", "eval.rerank"] for key in keys_of(verb)}
    unknown = []
    for page in [README, *WRITTEN]:
        text = text_of(page)
        prose = re.findall(r"`[^`\n]+`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
        ours = " ".join(code for code in prose if not code.startswith(("`python", "`pip", "`sphinx")))
        found = [option for option in OPTION.findall(ours) if option not in everywhere]
        found += [f"--set {key}" for key in re.findall(r"--set ([\w.]+)=", text) if key not in settings]
        for line in text.replace("\\\n", " ").splitlines():
            for verb, rest in re.findall(r"(?:^|[$`] ?|bin/)kb ([a-z]+)([^|;&>#`]*)", line):
                known = options.get(verb, set()) | FOREIGN
                found += [f"kb {verb} {option}" for option in OPTION.findall(rest) if option not in known]
        unknown += [f"{page.name}: {each}" for each in found]
    assert unknown == []


def test_every_promise_of_security_names_tests_that_exist() -> None:
    page = text_of(DOCS / "security.md")
    table = page.partition("| promise | test |\n")[2].partition("\n\n")[0]
    rows = [line.strip("| ").split(" | ") for line in table.splitlines()[1:]]
    assert len(rows) >= 10
    for promise, cell in rows:
        folder = ROOT
        names = re.findall(r"`([^`]+\.py)`", cell)
        assert names or cell == "the same", promise
        for name in names:  # one without a folder is beside the one before
            file = ROOT / name if "/" in name else folder / name
            folder = file.parent
            assert file.is_file() and "\ndef test_" in text_of(file), f"{promise}: {name}"
    written = {file.name for file in (ROOT / "tests" / "security").glob("test_*.py")}
    assert {name for name in written if name not in page} == set()
