"""`kb import`: forged bundles, and bundles of another profile."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.toy.encoders import toy_encoders


def test_a_forged_bundle_exits_with_5_and_leaves_no_files(cli: Any, folder_kb: str, tmp_path: Path) -> None:
    cli.call("export", "--kb", folder_kb, "out", check=True)
    (tmp_path / "out" / "species.parquet").write_bytes(b"x")
    before = sorted(path.name for path in tmp_path.iterdir())
    outcome = cli.call("import", "out", "--kb", "copy.kb")
    assert outcome.exit_code == 5
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_a_bundle_of_another_profile_needs_re_encode(cli: Any, built_folder: Path) -> None:
    import kb

    kb.import_bundle(bundle_of(built_folder), "other.kb", toy_encoders(), re_encode=True)
    kb.export_bundle("other.kb", "out")
    order = ("import", "out", "--kb", "copy.kb", "--profile", "starter")
    outcome = cli.call(*order)
    assert outcome.exit_code == 3
    assert "hint: --re-encode " in outcome.stderr
    assert not Path("copy.kb").exists()
    assert "encoded now" in cli.call(*order, "--re-encode", check=True).stdout


def bundle_of(folder: Path) -> Path:
    """Return a bundle of the knowledge base in a folder, exported on first use."""
    import kb

    if not (folder / "bundle").exists():
        kb.export_bundle(folder / "my.kb", folder / "bundle")
    return folder / "bundle"
