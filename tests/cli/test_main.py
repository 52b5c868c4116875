"""Exit codes, error messages, closed pipes, interrupts and global options of `kb`."""

from __future__ import annotations

import ast
import json
import os
import re
import signal
import subprocess
import sys
import time
from importlib import metadata
from pathlib import Path
from typing import Any

import click
import pytest

import kb
import recognize
from cli.common import exit_codes
from cli.main import VERBS, commands
from data import errors
from data.errors import FieldmarkError
from kb.bundle.manifest import MANIFEST
from kb.sources.mediawiki.client.wiki_client import user_agent
from tests.edited_pages import EditedPages
from tests.pages import made_up_taxa

ROOT = Path(__file__).resolve().parents[2]
EXIT_CODES = {
    errors.UsageError("x"): 2,
    errors.ConfigError("x"): 2,
    errors.MissingContents("x"): 2,
    errors.MissingDependency("torch", extra="models"): 3,
    errors.MissingKnowledgeBase(Path("x.kb")): 3,
    errors.MissingContact("a.wiki"): 3,
    errors.SpaceMismatch(expected=["a"], given=["b"]): 3,
    errors.KnowledgeBaseLocked("x"): 3,
    errors.UnknownTaxon("x"): 5,
    errors.AmbiguousTaxon("x", choices=["a", "b"], where="a list"): 5,
    errors.BadImage("x"): 5,
    errors.NothingReadable("x"): 5,
    errors.SourceUnavailable("x"): 6,
    errors.RateLimited("x"): 6,
    errors.MalformedAnswer("x"): 6,
    errors.TooLarge("x"): 6,
    errors.PageNotFound("x"): 6,
    errors.Disallowed("x"): 6,
    errors.PrivateAddress("x"): 6,
    errors.TooManyUnscored("x"): 6,
    errors.NoEvidence("x"): 3,
    errors.CutOff("x"): 6,
    errors.BadRequest("x"): 6,
    errors.Refused("x"): 6,
    errors.ConnectionRefused("x"): 6,
    errors.ReplyLost("x"): 6,
    errors.UnsupportedParameter("x", "seed"): 6,
    errors.NotCached("x"): 3,
    errors.CostStop("x"): 7,
    errors.ChromaDiffers("x"): 1,
}


def run_with(failure: BaseException, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> Any:
    """Run `kb taxa` with a library function that raises `failure`."""
    from click.testing import CliRunner

    from kb.checklist import selection

    def fail(*_: object, **__: object) -> None:
        raise failure

    monkeypatch.setattr(selection, "find_taxon", fail)
    return CliRunner().invoke(commands, [*arguments, "taxa", "wren"], prog_name="kb")


@pytest.mark.parametrize("error", EXIT_CODES, ids=lambda error: type(error).__name__)
def test_an_error_gives_its_documented_exit_code_and_no_traceback(
    error: FieldmarkError, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = run_with(error, monkeypatch)
    assert result.exit_code == EXIT_CODES[error]
    lines = result.stderr.splitlines()
    assert lines[0] == f"error: {error}"
    assert lines[1:] == ([f"hint: {error.hint}"] if error.hint else [])
    assert result.stdout == ""


def test_every_error_class_has_a_documented_exit_code() -> None:
    def below(kind: type[FieldmarkError]) -> set[type[FieldmarkError]]:
        return {kind}.union(*(below(child) for child in kind.__subclasses__()))

    leaves = {kind for kind in below(FieldmarkError) if not kind.__subclasses__()}
    assert leaves - {type(error) for error in EXIT_CODES} == set()


def test_every_error_class_is_defined_in_data_errors() -> None:
    """The test above would miss a class in a module that is not imported."""
    known = {name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, FieldmarkError)}
    elsewhere = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {node.name}"
        for package in ("data", "kb", "recognize", "rerank", "cli")
        for path in (ROOT / package).rglob("*.py")
        if path != ROOT / "data" / "errors.py"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef) and known & {base.id for base in node.bases if isinstance(base, ast.Name)}
    ]
    assert elsewhere == []


def test_debug_shows_the_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    result = run_with(errors.StoreError("broken"), monkeypatch, "--debug")
    assert "Traceback" in result.stderr
    assert result.stderr.rstrip().endswith("error: broken")


def test_debug_is_also_accepted_after_the_command(cli: Any) -> None:
    short, long = (cli.call("status", "--kb", "nowhere.kb", *more).stderr for more in ((), ("--debug",)))
    assert short.startswith("error: ")
    assert long.startswith("Traceback")
    assert long.endswith(short)


def test_an_unexpected_exception_exits_with_70(monkeypatch: pytest.MonkeyPatch) -> None:
    result = run_with(ZeroDivisionError("division by zero"), monkeypatch)
    assert result.exit_code == exit_codes.DEFECT == 70
    assert result.stderr.startswith("error: ZeroDivisionError: division by zero\nhint: ")


def test_an_operating_system_error_names_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    result = run_with(PermissionError(13, "Permission denied", "birds.kb/kb.toml"), monkeypatch)
    hint = "hint: Allow access, or use another folder.\n"
    assert (result.exit_code, result.stderr) == (3, f"error: Permission denied: birds.kb/kb.toml\n{hint}")


def test_an_interrupt_exits_with_130_and_a_resume_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    result = run_with(KeyboardInterrupt(), monkeypatch)
    assert result.exit_code == 130
    assert "Finished work is kept" in result.stderr


def test_an_unknown_command_gets_a_suggestion(cli: Any) -> None:
    outcome = cli.call("identfy", "a.jpg")
    assert outcome.exit_code == 2
    assert outcome.stderr.startswith('error: Unknown command "identfy". Did you mean "identify"?')


def test_an_unknown_option_is_a_usage_error(cli: Any) -> None:
    outcome = cli.call("status", "--kbb", "x")
    assert outcome.exit_code == 2
    assert outcome.stderr.startswith("error: ")
    assert "--kb" in outcome.stderr


def test_an_unknown_environment_setting_fails(cli: Any) -> None:
    outcome = cli.run("status", env={"FIELDMARK_CONTCAT": "x"})
    assert outcome.exit_code == 2
    assert 'Did you mean "FIELDMARK_CONTACT"?' in outcome.stderr


def test_help_lists_all_commands_with_or_without_the_option(cli: Any) -> None:
    outcome = cli.run("--help")
    assert outcome.exit_code == 0
    lines = [" ".join(line.split()) for line in outcome.stdout.splitlines()]
    assert [verb for verb, does in VERBS.items() if f"{verb} {does}" not in lines] == []
    bare = cli.run()
    assert bare.exit_code == 2
    assert "Usage: kb" in bare.stderr


@pytest.mark.parametrize("verb", VERBS)
def test_a_command_has_few_options(verb: str) -> None:
    """Constants of methods are settings; `identify` serves birders and batch jobs, `build` many sources."""
    context = click.Context(commands, info_name="kb")
    command = commands.get_command(context, verb)
    assert command is not None
    leaves = command.commands.values() if isinstance(command, click.Group) else [command]
    for leaf in leaves:
        own = [option for option in leaf.params if isinstance(option, click.Option) and option.expose_value]
        assert len(own) <= {"identify": 18, "build": 18}.get(verb, 16), leaf.name


def test_version_is_printed(cli: Any) -> None:
    outcome = cli.run("--version")
    assert (outcome.exit_code, outcome.stdout.split(" ")[0]) == (0, "kb,")


def test_a_checkout_that_is_not_installed_builds_and_exports(
    cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    find = metadata.Distribution.from_name

    def hide(name: str) -> metadata.Distribution:
        if name == "fieldmark":
            raise metadata.PackageNotFoundError(name)
        return find(name)

    monkeypatch.setattr(metadata.Distribution, "from_name", hide)
    assert cli.call("--version", check=True).stdout == "kb, fieldmark (not installed)\n"
    assert re.search("^fieldmark +not installed$", cli.call("doctor", check=True).stdout, re.MULTILINE)
    assert user_agent("a@example.org") == "fieldmark/0 (a@example.org)"
    kb.build(tmp_path / "a.kb", made_up_taxa(1), EditedPages(), recognize.load_encoders("starter"))
    [run] = (tmp_path / "a.kb" / "runs").glob("*.json")
    assert json.loads(run.read_text())["versions"]["fieldmark"] == "not installed"
    cli.call("export", "--kb", "a.kb", "out", check=True)
    assert json.loads((tmp_path / "out" / MANIFEST).read_text())["fieldmark"] == "not installed"


def test_a_settings_file_applies_to_one_run(cli: Any, tmp_path: Path) -> None:
    settings = tmp_path / "other.toml"
    settings.write_text('kb = "nowhere.kb"')
    outcome = cli.call("status", "--settings", settings)
    assert outcome.exit_code == 3
    assert str(tmp_path / "nowhere.kb") in outcome.stderr


def test_a_closed_output_pipe_is_silent(cli: Any, tmp_path: Path) -> None:
    """`kb ... | head -1` prints nothing on stderr, even with much output left."""
    code = (
        "import click\nfrom cli.main import commands\nfrom cli.verbs import taxa\n"
        "from cli.common import output\n"
        "def flood(**_):\n    for number in range(100_000): output.write(str(number))\n"
        "taxa.taxa.callback = flood\ncommands.main(['taxa', 'x'])"
    )
    ours = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=cli.environment(), text=True
    )
    assert ours.stdout is not None and ours.stderr is not None
    assert ours.stdout.readline() == "0\n"
    ours.stdout.close()
    assert ours.stderr.read() == ""
    ours.stderr.close()
    assert ours.wait(timeout=30) == 141


def test_sigint_exits_with_130_and_a_resume_hint(cli: Any) -> None:
    code = (
        "import time\nfrom cli.main import commands\nfrom cli.verbs import taxa\n"
        "from cli.common import output\n"
        "def wait(**_):\n    output.write('waiting')\n    time.sleep(60)\n"
        "taxa.taxa.callback = wait\ncommands.main(['taxa', 'x'])"
    )
    ours = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=cli.environment(), text=True
    )
    assert ours.stdout is not None
    assert ours.stdout.readline() == "waiting\n"
    time.sleep(0.1)
    os.kill(ours.pid, signal.SIGINT)
    _, stderr = ours.communicate(timeout=30)
    assert ours.returncode == 130
    assert stderr.strip().splitlines() == [
        "error: Stopped.",
        "hint: Finished work is kept; run the same command again to resume.",
    ]


def test_the_main_command_is_a_click_group() -> None:
    assert isinstance(commands, click.Group)


def test_set_is_not_an_option_of_a_command_group() -> None:
    from click.testing import CliRunner

    result = CliRunner().invoke(commands, ["eval", "--set", "species.texts=names", "species", "."], prog_name="kb")
    assert result.exit_code == 2
    assert "No such option" in result.stderr
