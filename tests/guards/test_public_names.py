"""Public names of each package: an exact, sorted `__all__` that hides no module."""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("data", "kb", "recognize", "rerank")
# The Python API of DESIGN section 2.
PROMISED = {
    "kb": {"build", "context", "open"},
    "recognize": {"Recognizer", "evaluate", "load_encoders"},
    "rerank": {"evaluate", "rerank"},
}


@pytest.mark.parametrize("package", PACKAGES)
def test_all_is_sorted_and_every_name_resolves(package: str) -> None:
    module = importlib.import_module(package)
    names = list(getattr(module, "__all__", []))
    # As ruff sorts them: constants, then classes, then the rest.
    assert names == sorted(set(names), key=lambda name: (not name.isupper(), not name[0].isupper(), name))
    assert [name for name in names if not hasattr(module, name)] == []


@pytest.mark.parametrize("package", PROMISED)
def test_the_promised_names_are_public(package: str) -> None:
    assert PROMISED[package] - set(importlib.import_module(package).__all__) == set()


@pytest.mark.parametrize("package", PACKAGES)
def test_no_module_has_the_name_of_a_public_function(package: str) -> None:
    """Importing the module would replace the function."""
    modules = {path.stem for path in (ROOT / package).glob("*.py")} | {
        path.name for path in (ROOT / package).iterdir() if (path / "__init__.py").exists()
    }
    assert modules & set(getattr(importlib.import_module(package), "__all__", [])) == set()


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_has_a_docstring(package: str) -> None:
    module = importlib.import_module(package)
    silent = [
        name
        for name in getattr(module, "__all__", [])
        if callable(getattr(module, name)) and not inspect.getdoc(getattr(module, name))
    ]
    assert silent == []
