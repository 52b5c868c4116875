"""Exit codes, error messages, closed pipes, interrupts and global options of `kb`."""

import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from cli.main import VERBS, commands
from data import errors
from data.errors import FieldmarkError
from kb.http import user_agent

ROOT = Path(__file__).resolve().parents[2]
x = errors
PLAIN = {
    1: [x.StoreError], 2: [x.UsageError, x.ConfigError, x.MissingContents],
    3: [x.MissingContact, x.KnowledgeBaseLocked, x.NoEvidence, x.KeyRejected, x.NotCached, x.PrivateWiki],
    5: [x.UnknownTaxon, x.BadImage, x.NothingReadable],
    6: [
        x.SourceUnavailable, x.RateLimited, x.MalformedAnswer, x.TooLarge, x.PageNotFound, x.Disallowed,
        x.PrivateAddress, x.TooManyUnscored, x.CutOff, x.BadRequest, x.Refused, x.ConnectionRefused, x.ReplyLost,
        x.TooFewTokens, x.TooManyTokens, x.StillLoading,
    ],
    7: [x.CostStop],
}  # fmt: skip
EXIT_CODES: dict[FieldmarkError, int] = {kind("x"): code for code, kinds in PLAIN.items() for kind in kinds} | {
    errors.MissingDependency("torch", extra="models"): 3,
    errors.MissingKnowledgeBase(Path("x.kb")): 3,
    errors.SpaceMismatch(expected=["a"], given=["b"]): 3,
    errors.AmbiguousTaxon("x", choices=["a", "b"], where="a list"): 5,
}


def run_with(failure: BaseException, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> Any:
    """Run `kb taxa` with a library function that raises `failure`."""
    from click.testing import CliRunner

    from kb.checklist import selection

    def fail(*_: object, **__: object) -> None:
        raise failure

    monkeypatch.setattr(selection, "find_taxon", fail)
    return CliRunner().invoke(commands, [*arguments, "taxa", "wren"], prog_name="kb")


def test_an_error_gives_its_documented_exit_code_a_hint_and_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    for error, code in EXIT_CODES.items():
        result = run_with(error, monkeypatch)
        assert (result.exit_code, result.stdout) == (code, ""), error
        hint = f"hint: {error.hint}\n" if error.hint else ""
        assert result.stderr == f"error: {error}\n{hint}"


def test_every_error_class_has_a_documented_exit_code_and_stands_in_data_errors() -> None:
    known = {name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, FieldmarkError)}
    bases = {kind.__base__.__name__ for name in known if (kind := getattr(errors, name)).__base__ is not None}
    assert known - bases - {type(error).__name__ for error in EXIT_CODES} == set()
    derived = re.compile(rf"^class \w+\((?:{'|'.join(known)})\b", re.MULTILINE)
    packages = ("data", "kb", "recognize", "rerank", "cli")
    files = [path for package in packages for path in (ROOT / package).rglob("*.py")]
    assert [path.name for path in files if derived.search(path.read_text("utf-8"))] == ["errors.py"]


def test_other_failures_have_exit_codes_too(monkeypatch: pytest.MonkeyPatch) -> None:
    for failure, code, start in (
        (ZeroDivisionError("division by zero"), 70, "error: ZeroDivisionError: division by zero\nhint: This is a bug"),
        (PermissionError(13, "Permission denied", "birds.kb/kb.toml"), 3,
         "error: Permission denied: birds.kb/kb.toml\nhint: Allow access, or use another folder.\n"),
        (OSError(28, "No space left on device"), 3, "error: [Errno 28] No space left on device\nhint: "),
        (KeyboardInterrupt(), 130, "\nerror: Stopped.\nhint: Finished work is kept; run the same command again"),
    ):  # fmt: skip
        result = run_with(failure, monkeypatch)
        assert result.exit_code == code
        assert result.stderr.startswith(start)


def test_debug_shows_the_traceback_before_and_after_the_command(monkeypatch: pytest.MonkeyPatch, cli: Any) -> None:
    result = run_with(errors.StoreError("broken"), monkeypatch, "--debug")
    assert "Traceback" in result.stderr
    assert result.stderr.rstrip().endswith("error: broken")
    short, long = (cli.call("status", "--kb", "nowhere.kb", *more).stderr for more in ((), ("--debug",)))
    assert short.startswith("error: ") and long.startswith("Traceback") and long.endswith(short)


def test_unknown_words_are_usage_errors_with_the_nearest_known_one(cli: Any) -> None:
    for arguments, message in (
        (("identfy", "a.jpg"), 'error: Unknown command "identfy". Did you mean "identify"?\nhint: kb [OPTIONS]'),
        (("zzzzzzzz",), 'error: Unknown command "zzzzzzzz".\n'),
        (("status", "--kbb", "x"), "error: No such option '--kbb'. Did you mean '--kb'?\nhint: kb status [OPTIONS]"),
        (("eval", "--set", "species.texts=names", "species", "."), "error: No such option '--set'"),
    ):
        outcome = cli.call(*arguments)
        assert (outcome.exit_code, outcome.stderr.startswith(message)) == (2, True), outcome.stderr


def test_help_lists_all_commands_and_the_version_is_printed(cli: Any) -> None:
    outcome = cli.call("--help", check=True)
    lines = [" ".join(line.split()) for line in outcome.stdout.splitlines()]
    assert [verb for verb, does in VERBS.items() if f"{verb} {does}" not in lines] == []
    bare = cli.call()
    assert (bare.exit_code, "Usage: kb" in bare.stderr) == (2, True)
    assert cli.call("--version", check=True).stdout.startswith("kb, fieldmark ")


def test_a_checkout_that_is_not_installed_says_so(cli: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    find = metadata.Distribution.from_name

    def hide(name: str) -> metadata.Distribution:
        if name == "fieldmark":
            raise metadata.PackageNotFoundError(name)
        return find(name)

    monkeypatch.setattr(metadata.Distribution, "from_name", hide)
    assert cli.call("--version", check=True).stdout == "kb, fieldmark (not installed)\n"
    assert re.search("^fieldmark +not installed$", cli.call("doctor", check=True).stdout, re.MULTILINE)
    assert user_agent("a@example.org") == "fieldmark/0 (a@example.org)"


def test_a_settings_file_applies_to_one_run(cli: Any, tmp_path: Path) -> None:
    (tmp_path / "other.toml").write_text('kb = "nowhere.kb"')
    outcome = cli.call("status", "--settings", tmp_path / "other.toml")
    assert (outcome.exit_code, str(tmp_path / "nowhere.kb") in outcome.stderr) == (3, True)


def test_a_closed_output_pipe_is_silent(cli: Any) -> None:
    """`kb ... | head -1` prints nothing on stderr, even with much output left."""
    code = (
        "from cli.main import commands\nfrom cli.common import output\nfrom cli.verbs import taxa\n"
        "def many(**_):\n    for number in range(100_000): output.write(str(number))\n"
        "taxa.taxa.callback = many\ncommands.main(['taxa', 'x'])"
    )
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", code], stdout=pipe, stderr=pipe, env=cli.environment()) as ours:
        assert ours.stdout is not None and ours.stderr is not None
        assert ours.stdout.readline() == b"0\n"
        ours.stdout.close()
        assert ours.stderr.read() == b""
        assert ours.wait(timeout=30) == 141
