"""`kb export`: a bundle with or without vectors, which `kb import` reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def test_an_exported_bundle_is_imported_with_the_same_digest(cli: Any, folder_kb: str) -> None:
    exported = json.loads(cli.call("export", "--kb", folder_kb, "out", "--format", "json", check=True).stdout)
    assert (exported["species"], exported["images"]) == (2, 0)
    assert "digest   " in cli.call("export", "--kb", folder_kb, "again", check=True).stdout
    imported = json.loads(cli.call("import", "out", "--kb", "copy.kb", "--format", "json", check=True).stdout)
    assert (imported["species"], imported["digest"]) == (2, exported["digest"])
    assert exported["digest"] in cli.call("verify", "--kb", "copy.kb", check=True).stdout
    assert cli.call("export", "--kb", folder_kb, "out").exit_code == 2


def test_vectors_are_exported_on_request(cli: Any, folder_kb: str, tmp_path: Path) -> None:
    cli.call("export", "--kb", folder_kb, "with", "--vectors", check=True)
    cli.call("export", "--kb", folder_kb, "without", "--no-vectors", check=True)
    assert (tmp_path / "with" / "vectors").is_dir()
    assert not (tmp_path / "without" / "vectors").exists()
