"""User modules that shadow Fieldmark's packages are reported; `dir` of a package lists its public names."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

import fieldmark

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("kb", "recognize", "rerank", "cli")


def imported(package: str, folder: Path, *before: str) -> subprocess.CompletedProcess[str]:
    """Import a package with `folder` before this tree on the path."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])}
    code = "\n".join([*before, f"import {package}", f"print({package}.__file__)"])
    return subprocess.run(
        [sys.executable, "-c", code], env=environment, cwd=folder, capture_output=True, text=True, timeout=60
    )


@pytest.mark.parametrize(
    ("package", "file"),
    [(package, file) for package in PACKAGES for file in ("data.py", "data/__init__.py")]
    + [("kb", "cli.py"), ("recognize", "kb.py"), ("cli", "kb.py")],
)
def test_a_module_that_shadows_a_package_is_named(package: str, file: str, tmp_path: Path) -> None:
    hidden = Path(file).parts[0].removesuffix(".py")
    (tmp_path / file).parent.mkdir(exist_ok=True)
    (tmp_path / file).write_text("")
    ended = imported(package, tmp_path)
    assert ended.returncode == 1
    last = ended.stderr.strip().splitlines()[-1]
    assert last.startswith(f"ImportError: Another module named {hidden} hides the one of Fieldmark: ")
    assert str(tmp_path / file) in last
    assert "Rename it" in last


@pytest.mark.parametrize("hidden", fieldmark.PACKAGES)
def test_the_command_reports_a_shadowing_module(hidden: str, tmp_path: Path) -> None:
    """`kb` itself starts in a module with a unique name."""
    (tmp_path / f"{hidden}.py").write_text("")
    ended = imported("fieldmark", tmp_path, "import fieldmark", "fieldmark.main()")
    assert (ended.returncode, ended.stdout) == (3, "")
    assert ended.stderr.startswith(f"error: Another module named {hidden} hides the one of Fieldmark: {tmp_path}")


def test_a_shadowing_module_imported_earlier_is_reported(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "data.py").write_text("")
    before = ("import sys", "sys.path.insert(0, 'mine')", "import data", "sys.path.pop(0)")
    assert "hides the one of Fieldmark" in imported("kb", tmp_path, *before).stderr


@pytest.mark.parametrize("package", PACKAGES)
def test_a_data_folder_without_modules_is_ignored(package: str, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "table.csv").write_text("a,b\n")
    assert imported(package, tmp_path).returncode == 0


@pytest.mark.parametrize("package", ["kb", "recognize", "rerank"])
def test_dir_lists_the_public_names(package: str) -> None:
    module = importlib.import_module(package)
    assert dir(module) == sorted(module.__all__)
