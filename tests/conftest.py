"""Fixtures of all tests: an isolated environment, the shared data, a wiki, and the command line."""

import importlib.util
import os
import shutil
import signal
import ssl
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from itertools import count
from pathlib import Path

import pytest
from hypothesis import settings

from tests.each_picture_once import remember_pictures
from tests.made_once import made_once
from tests.servers.own_wiki import started
from tests.servers.ray_cluster import RayCluster

# A time limit per example would depend on the load of the machine.
settings.register_profile("steady", deadline=None)
settings.load_profile("steady")

# In the background of a shell, Ctrl-C is ignored, also by programs that tests start in order to interrupt them.
signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).resolve().parent.parent
IN_CI = os.environ.get("CI", "").lower() in {"1", "true"}
MEDIAWIKI = Path("/usr/share/mediawiki")
# Read before `isolated_environment` removes them; they locate test data and do not change the product.
SHARED = Path(os.environ.get("FIELDMARK_SHARED") or ROOT.parent / "shared")
BIRDS_SHA256 = (
    "b54c550df9a67d00a80e895e8b687ec167ad41763ace590746e420d4c1c966c2"  # of photos.csv and descriptions.jsonl
)
TEST_WIKI = os.environ.get("FIELDMARK_TEST_WIKI")
_NUMBERS = count(1)  # of the homes


def skip_or_fail(reason: str) -> None:
    """Skip on a developer's machine, fail in CI."""
    if IN_CI:
        pytest.fail(f"{reason}; in CI it must be there")
    pytest.skip(reason)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--note-options", type=Path, metavar="FOLDER", help="Note the options of kb that tests give.")
    parser.addoption("--dead-options", type=Path, metavar="FOLDER", help="Find options of kb that no test misses.")
    parser.addoption("--no-skips", action="store_true", help="Fail if a test is skipped for a missing requirement.")


def pytest_configure(config: pytest.Config) -> None:
    for option, plugin in (("--note-options", "NoteOptions"), ("--dead-options", "DeadOptions")):
        if folder := config.getoption(option):
            config.pluginmanager.register(getattr(importlib.import_module("tests.dead_options"), plugin)(folder))


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """With `--no-skips`, fail if a test was skipped, unless another environment runs it."""
    if session.config.getoption("--no-skips") and exitstatus == pytest.ExitCode.OK:
        reporter = session.config.pluginmanager.get_plugin("terminalreporter")
        elsewhere = ("is installed",)  # tests of a missing package
        if importlib.util.find_spec("torch") is None:
            elsewhere = (*elsewhere, "of the extra `models` is not installed (CI installs it)")
        skipped = reporter.stats.get("skipped", []) if reporter is not None else []
        if any(not report.longrepr[2].endswith(elsewhere) for report in skipped):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the counts of the faults, which come from all workers."""
    for reports in (terminalreporter.stats.get(outcome, []) for outcome in ("passed", "failed")):
        for report in reports:
            for name, value in report.user_properties:
                if name == "faults":
                    terminalreporter.write_line(f"{report.nodeid.partition('::')[2]}: {value}")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests that use the shared data, or the shipped knowledge unpacked, as integration tests."""
    for item in items:
        if not {"shared", "unpacked"}.isdisjoint(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.integration)


@pytest.fixture(scope="session", autouse=True)
def without_syncing() -> Iterator[None]:
    """Let nothing wait for the disk, but programs that a test starts: they may be killed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kb.store.ledger_file.SYNCHRONOUS", "OFF")
        patch.setattr(os, "fsync", lambda _: None)
        yield


@pytest.fixture(scope="session", autouse=True)
def read_once() -> None:
    """Load encoders and certificates once per process; programs that a test starts load their own."""
    from recognize.encoders.profiles import LOADERS

    LOADERS["starter"] = cache(LOADERS["starter"])
    ssl.create_default_context = cache(ssl.create_default_context)


@pytest.fixture(autouse=True)
def each_picture_once(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the photo models once for each picture, but in tests of the models."""
    if request.path.relative_to(ROOT / "tests").parts[0] not in {"recognize", "training", "benchmarks"}:
        remember_pictures(monkeypatch)


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of all homes; `mktemp` lists its folder on every call and would slow down with each test."""
    return tmp_path_factory.mktemp("homes")


@pytest.fixture(scope="session", autouse=True)
def isolated_session(homes: Path) -> Iterator[None]:
    """Remove the developer's settings; fixtures of the session, which run before those of a test, get a home too."""
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith("FIELDMARK_") and not name.startswith("FIELDMARK_TEST_"):
                patch.delenv(name)
        patch.setenv("FIELDMARK_HOME", str(homes / "session"))
        patch.setenv("NO_COLOR", "1")
        yield


@pytest.fixture(autouse=True)
def isolated_environment(monkeypatch: pytest.MonkeyPatch, homes: Path) -> Path:
    """Set FIELDMARK_HOME to a new, empty folder."""
    home = homes / str(next(_NUMBERS))
    home.mkdir()
    monkeypatch.setenv("FIELDMARK_HOME", str(home))
    return home


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of shared data: `FIELDMARK_SHARED`, else `../shared`."""
    if not SHARED.is_dir():
        skip_or_fail(f"needs the shared data at {SHARED} (set FIELDMARK_SHARED)")
    return SHARED


@pytest.fixture(scope="session")
def birds(shared: Path) -> Path:
    """The folder of shared photos, articles and descriptions, in the state that the tests expect."""
    folder = shared / "birds"
    digest = sha256(b"".join((folder / name).read_bytes() for name in ("photos.csv", "descriptions.jsonl")))
    if digest.hexdigest() != BIRDS_SHA256:
        skip_or_fail(f"other data: {folder} is not in its second state (5,604 photos), which the tests expect")
    return folder


@pytest.fixture(scope="session")
def mediawiki(shared: Path) -> Path:
    """The folder of the tools that start a MediaWiki, which is installed."""
    if not MEDIAWIKI.is_dir() or shutil.which("php") is None:
        skip_or_fail(
            "needs MediaWiki (apt-get install mediawiki php-cli php-sqlite3 php-mbstring php-xml php-intl php-gd)"
        )
    return shared / "mediawiki"


@pytest.fixture(scope="session")
def wiki_api_url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The API of a real MediaWiki with the test birds: `FIELDMARK_TEST_WIKI`, else one started for this session."""
    if TEST_WIKI:
        yield TEST_WIKI
        return
    tools, work = request.getfixturevalue("mediawiki"), tmp_path_factory.mktemp("wiki")
    command = [sys.executable, tools / "bird_pages.py", work]
    subprocess.run(command, check=True, capture_output=True, timeout=600)
    with started(tools, work) as base:
        yield f"{base}/api.php"


@pytest.fixture(scope="session")
def ray_cluster() -> Iterator[RayCluster]:
    """A Ray cluster of two nodes on this machine."""
    if importlib.util.find_spec("ray") is None:
        pytest.skip("ray of the extra `scale` is not installed (CI installs it)")
    running = RayCluster()
    yield running
    running.stop()


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """End of a run of `kb`."""

    exit_code: int
    stdout: str
    stderr: str


class CommandLine:
    """The command line: `run` in a new process, `call` in this one (faster)."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def command(self) -> list[str]:
        """Return the installed `kb`, else the same entry point of this tree."""
        script = Path(sys.executable).with_name("kb")
        if script.exists():
            return [str(script)]
        return [sys.executable, "-c", "import sys; from cli.main import main; sys.exit(main())"]

    def environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return the test's environment; this tree comes before an installed copy."""
        return {**os.environ, "PYTHONPATH": str(ROOT), **(extra or {})}

    def run(
        self,
        *arguments: str | Path,
        stdin: str | None = None,
        env: Mapping[str, str] | None = None,
        timeout_s: float = 600,
        check: bool = False,
    ) -> Outcome:
        """Run `kb` in a process; with `check`, a nonzero exit code fails the test."""
        done = subprocess.run(
            [*self.command(), *map(str, arguments)],
            input=stdin, capture_output=True, text=True, timeout=timeout_s, cwd=self.folder, env=self.environment(env),
        )  # fmt: skip
        return _checked(Outcome(exit_code=done.returncode, stdout=done.stdout, stderr=done.stderr), arguments, check)

    def call(self, *arguments: str | Path, stdin: str | None = None, check: bool = False) -> Outcome:
        """Run `kb` in this process through click's runner; settings come from the test's environment."""
        from click.testing import CliRunner

        from cli.main import commands

        result = CliRunner().invoke(commands, [str(argument) for argument in arguments], input=stdin, prog_name="kb")
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        outcome = Outcome(exit_code=result.exit_code, stdout=result.stdout, stderr=result.stderr)
        return _checked(outcome, arguments, check)


def _checked(outcome: Outcome, arguments: Sequence[object], check: bool) -> Outcome:
    if check and outcome.exit_code != 0:
        pytest.fail(
            f"kb {' '.join(map(str, arguments))} ended with {outcome.exit_code}\n{outcome.stdout}\n{outcome.stderr}"
        )
    return outcome


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    """The command line in an empty working folder (`tmp_path`)."""
    monkeypatch.chdir(tmp_path)
    return CommandLine(tmp_path)


@pytest.fixture(scope="session")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the starter knowledge; unpacking it takes seconds."""

    def unpack(home: Path) -> None:
        from kb.shipped import unpack_shipped
        from recognize import load_encoders

        unpack_shipped(home, load_encoders("starter"))

    return made_once(tmp_path_factory, "starter-home", unpack)
