"""Packages: public names, examples, start-up without heavy libraries or torch, and modules that hide a package."""

import doctest
import importlib
import inspect
import json
import os
import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest

import fieldmark
from fieldmark import fieldmark_version
from tests.guards.sources import PACKAGES, ROOT, sources

# The Python API of DESIGN section 2.
PROMISED = {
    "data": set[str](),
    "kb": {"build", "context", "open"},
    "recognize": {"Recognizer", "evaluate", "load_encoders"},
    "rerank": {"evaluate", "rerank"},
}
HEAVY = {"torch", "chromadb", "onnxruntime", "pandas", "pyarrow", "pydantic", "httpx", "numpy", "bs4", "PIL"}
LIMIT_S = 0.3  # DESIGN section 2
HELP = "import sys; sys.argv = {arguments}\nfrom cli.main import main\ntry: main()\nexcept SystemExit: pass\n"
LOADED = "import json, sys\nprint(); print(json.dumps(sorted(sys.modules)))"
EXTRA = {"torch", "open_clip", "timm", "sentence_transformers", "transformers", "diffusers"}
WITHOUT_EXTRA = """
import importlib, pkgutil, sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {extra}:
            raise ModuleNotFoundError(f"{{name}} is blocked", name=name)

sys.meta_path.insert(0, Blocked())
failed = []
for package in ("data", "kb", "recognize", "rerank", "cli"):
    module = importlib.import_module(package)
    for found in pkgutil.walk_packages(module.__path__, package + "."):
        if found.name.endswith("__main__"):  # runs when it is imported
            continue
        try:
            importlib.import_module(found.name)
        except ModuleNotFoundError as error:
            failed.append(f"{{found.name}}: {{error}}")
import recognize
recognize.load_encoders("starter").sentence.encode_texts(["a red crest"])
from data.errors import MissingDependency
for profile in ("paper", "best"):
    try:
        recognize.load_encoders(profile).spaces
        failed.append(f"{{profile}}: loads without its packages")
    except MissingDependency as error:
        if error.hint != "In Fieldmark's folder: pip install '.[models]'":
            failed.append(f"{{profile}}: {{error}} {{error.hint}}")
print("\\n".join(failed))
"""


def python(code: str, path: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run code in a new process in `path`, which comes before this tree."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(path), str(ROOT)])}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # users have compiled modules
    return subprocess.run(
        [sys.executable, "-c", code], env=environment, cwd=path, capture_output=True, text=True, timeout=120
    )


@pytest.mark.parametrize("package", PROMISED)
def test_public_names_are_sorted_documented_and_hide_no_module(package: str) -> None:
    module = importlib.import_module(package)
    names = list(getattr(module, "__all__", []))
    assert package == "data" or getattr(fieldmark, package) is module
    assert fieldmark.__version__ == fieldmark_version() and not hasattr(fieldmark, "nothing")
    # As ruff sorts them: constants, then classes, then the rest.
    assert names == sorted(set(names), key=lambda name: (not name.isupper(), not name[0].isupper(), name))
    assert set(names) <= set(dir(module))
    assert PROMISED[package] <= set(names)
    assert [name for name in names if callable(value := getattr(module, name)) and not inspect.getdoc(value)] == []
    # Importing a module of the same name would replace the function.
    modules = {path.stem for path in [*(ROOT / package).glob("*.py"), *(ROOT / package).glob("*/__init__.py/..")]}
    assert modules & set(names) == set()


@pytest.mark.parametrize("with_encoders", [False, pytest.param(True, marks=pytest.mark.integration)])
def test_examples_are_correct(
    with_encoders: bool, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = []
    for source in sources(*PACKAGES):
        is_slow = bool(re.search(r">>> .*(load_encoders|kb\.open|StarterSource)", source.text))
        if ">>> " not in source.text or is_slow != with_encoders:
            continue
        (tmp_path / source.module).mkdir()
        monkeypatch.chdir(tmp_path / source.module)
        module = importlib.import_module(source.module)
        result = doctest.testmod(module, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
        if result.failed or not result.attempted:
            failed.append(f"{source.module}: {capsys.readouterr().out or 'the examples are not found'}")
    assert failed == []


def test_help_takes_little_time() -> None:
    """The minimum of alternating runs: other processes can only slow a run down."""
    bare, ours = [], []
    for _ in range(20):
        for code, seconds in (("", bare), (HELP.format(arguments=["kb", "--help"]), ours)):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            python(code)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        if min(ours) - min(bare) <= LIMIT_S:
            break
    assert 0 < min(bare) < min(ours) <= min(bare) + LIMIT_S


def test_starting_loads_no_heavy_library() -> None:
    def loaded_after(code: str) -> set[str]:
        return set(json.loads(python(code + LOADED).stdout.splitlines()[-1]))

    helped = loaded_after(HELP.format(arguments=["kb", "--help"]))
    assert "cli.main" in helped
    assert [name for name in helped if name.startswith("cli.verbs.")] == []
    assert helped & HEAVY == set()
    every_verb = (
        "from cli.main import VERBS, commands\nfrom cli.common.settings import TABLES, keys_in\n"
        "keys_in(TABLES)\nfor verb in VERBS: commands.get_command(None, verb)\n"
    )
    assert loaded_after(every_verb) & (HEAVY - {"numpy"}) == set()
    assert "numpy" not in loaded_after(HELP.format(arguments=["kb", "find", "--help"]))
    imported = loaded_after("import fieldmark, kb, recognize, rerank, data\n")
    assert imported & {"torch", "chromadb", "onnxruntime", "pandas"} == set()


@pytest.mark.integration
def test_every_module_imports_without_torch() -> None:
    """Without the extra packages the starter encoders work, and the other profiles name what to install."""
    done = python(WITHOUT_EXTRA.format(extra=EXTRA))
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "", "")


def test_a_module_that_hides_a_package_is_named(tmp_path: Path) -> None:
    """But not a folder without modules."""
    for package, file in (("kb", "data.py"), ("recognize", "data/__init__.py")):
        folder = tmp_path / package
        (folder / file).parent.mkdir(parents=True)
        (folder / file).write_text("")
        hidden = Path(file).parts[0].removesuffix(".py")
        message = f"Another module named {hidden} hides the one of Fieldmark: {folder / file}. Rename it"
        ended = python(f"import {package}", folder)
        assert ended.returncode == 1
        assert ended.stderr.strip().splitlines()[-1].startswith(f"ImportError: {message}")
        assert message in python("import fieldmark; fieldmark.kb", folder).stderr
        ended = python("import fieldmark; fieldmark.main()", folder)
        assert (ended.returncode, ended.stdout, ended.stderr.startswith(f"error: {message}")) == (3, "", True)
    (tmp_path / "data").mkdir()
    assert python(f"import {', '.join(fieldmark.PACKAGES)}", tmp_path).returncode == 0
