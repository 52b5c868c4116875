"""Forbidden in the repository: paths of one machine, photos, pickles and large files."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# Absolute folders of a person's or a build machine. Split, so that this file does not name them itself.
PERSONAL = re.compile(r"/(?:ro" + r"ot|wo" + r"rk|ho" + r"me/\w+|Us" + r"ers/\w+)/")
MAX_BYTES = 32 * 2**20  # the photo tower is at most 33 MB


def committed() -> list[Path]:
    try:
        listed = subprocess.run(
            ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True, timeout=30
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout")
    return [path for name in listed.split("\0") if name and (path := ROOT / name).is_file()]


def test_no_file_contains_a_personal_path() -> None:
    named = []
    for path in committed():
        content = path.read_bytes()
        if b"\0" in content[:8000]:
            continue  # binary
        for number, line in enumerate(content.decode("utf-8", "replace").splitlines(), 1):
            if PERSONAL.search(line):
                named.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}")
    assert named == []


def test_no_file_is_a_pickle_or_too_large() -> None:
    """Loading a pickle can run any code."""
    refused = {".pkl", ".pickle", ".pt", ".pth", ".joblib"}
    assert [str(path) for path in committed() if path.suffix in refused or path.stat().st_size > MAX_BYTES] == []


def test_no_photo_is_committed() -> None:
    """Committed pictures are drawings made by code."""
    assert [str(path) for path in committed() if path.suffix.lower() in {".jpg", ".jpeg", ".heic"}] == []


def test_the_packages_are_not_ignored() -> None:
    """With `data/` in .gitignore the package would silently be missing from the wheel."""
    for package in ("data", "kb", "recognize", "rerank", "cli"):
        inside = f"{package}/a_new_module.py"
        ignored = subprocess.run(["git", "check-ignore", "-q", inside], cwd=ROOT, check=False, timeout=30).returncode
        assert ignored != 0, f"{inside} would be ignored"
