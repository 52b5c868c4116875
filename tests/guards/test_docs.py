"""Documentation: consistent with the code, and limited in length."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import fields
from pathlib import Path

import click
import pytest

from cli.common.config import Settings
from cli.common.method_settings import keys_of
from cli.main import commands
from cli.verbs.identify.table import TABLE_STAGES
from docs import generate

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
GOLDEN = ROOT / "tests" / "cli" / "golden"
WRITTEN = sorted(page for page in DOCS.rglob("*.md") if "generated" not in page.parts)
TABLES = DOCS / "results"  # long tables, each made by a command
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]+")
# Options of other programs that the pages name.
FOREIGN = {"--host", "--port", "--path", "--epochs", "--head", "--address"}


def words(page: Path) -> int:
    return len([word for word in page.read_text(encoding="utf-8").split() if re.search(r"\w", word)])


def options_of(command: click.Command) -> set[str]:
    """Return the options of a command and of the commands below it."""
    own = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
    children = command.commands.values() if isinstance(command, click.Group) else ()
    return own.union(*map(options_of, children))


def verbs() -> dict[str, click.Command]:
    context = click.Context(commands, info_name="kb")
    found = {name: commands.get_command(context, name) for name in commands.list_commands(context)}
    return {name: command for name, command in found.items() if command is not None}


def test_the_readme_has_at_most_150_lines() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 150


def test_the_results_page_has_at_most_1500_words() -> None:
    assert words(DOCS / "results.md") <= 1500


def test_handwritten_pages_have_at_most_15000_words() -> None:
    assert sum(words(page) for page in [ROOT / "README.md", *WRITTEN] if TABLES not in page.parents) <= 15_000


@pytest.mark.parametrize("page", sorted(TABLES.glob("*.md")), ids=lambda page: page.name)
def test_a_page_of_tables_names_its_command(page: Path) -> None:
    assert "python -m " in page.read_text(encoding="utf-8") or "kb eval" in page.read_text(encoding="utf-8")


def test_ci_treats_sphinx_warnings_as_errors() -> None:
    run = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert set(re.findall(r'^step "[^"]+" ([a-z_]+)$', run, flags=re.MULTILINE)) <= set(
        re.findall(r"^([a-z_]+)\(\) \{", run, flags=re.MULTILINE)
    )
    assert "sphinx-build -q -W" in run


def test_the_reference_has_every_command_with_every_option() -> None:
    page = generate.commands()
    shared = page.partition("\n## Options of every command\n")[2].partition("\n## kb ")[0]
    for name, command in verbs().items():
        section = page.partition(f"\n## kb {name}\n")[2].partition("\n## kb ")[0]
        assert section != "", name
        options = {option for option in options_of(command) if option.startswith("-")}
        assert {option for option in options if option not in section + shared} == set()


@pytest.mark.parametrize(("options", "name"), [("", "identify"), (" --rows candidates", "identify-candidates")])
def test_the_reference_lists_the_csv_columns_of_identify(options: str, name: str) -> None:
    section = generate.wire_formats().partition(f"## kb identify --format csv{options}\n")[2].partition("\n## ")[0]
    with (GOLDEN / f"{name}.csv").open(encoding="utf-8") as file:
        assert re.findall(r"^\| `(\w+)` \|", section, flags=re.MULTILINE) == next(csv.reader(file))


def test_every_key_of_the_wire_formats_is_explained() -> None:
    assert re.findall(r"^\| `\w+` \| [^|]+ \|  \|$", generate.wire_formats(), flags=re.MULTILINE) == []


def test_keys_of_the_wire_formats_equal_the_golden_file() -> None:
    """A difference is a mistake or a visible change, which also changes the golden file and CHANGELOG.md.

    `python -m docs.generate > tests/cli/golden/names.json` writes the golden file.
    """
    assert generate.names_on_the_wire() == json.loads((GOLDEN / "names.json").read_text(encoding="utf-8"))


def test_the_how_to_explains_every_score_column() -> None:
    page = (DOCS / "howto" / "identify.md").read_text(encoding="utf-8")
    assert [stage for stage in TABLE_STAGES if f"`{stage}`" not in page] == []


@pytest.mark.parametrize("page", [ROOT / "README.md", *WRITTEN], ids=lambda page: page.relative_to(ROOT).as_posix())
def test_options_and_settings_in_a_page_exist(page: Path) -> None:
    """Options in code blocks are checked against their own command, options in prose against all commands."""
    known = verbs()
    text = page.read_text(encoding="utf-8")
    prose = re.findall(r"`[^`\n]+`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    everywhere = set().union(*map(options_of, known.values())) | FOREIGN | {"--help", "--version"}
    ours = " ".join(code for code in prose if not code.startswith(("`python", "`pip", "`sphinx")))
    unknown = {option for option in OPTION.findall(ours) if option not in everywhere}
    settings = {field.name for field in fields(Settings)}
    settings |= {key for verb in [*known, "eval.species", "eval.rerank", "eval.answers"] for key in keys_of(verb)}
    unknown |= {f"--set {key}" for key in re.findall(r"--set ([\w.]+)=", text) if key not in {*settings, "KEY"}}
    for line in text.replace("\\\n", " ").splitlines():
        for verb, rest in re.findall(r"(?:^|[$`] ?|bin/)kb ([a-z]+)([^|;&>#`]*)", line):
            options = options_of(known[verb]) | {"--help"} if verb in known else set()
            unknown |= {f"kb {verb} {option}" for option in OPTION.findall(rest) if option not in options}
    assert unknown == set()
