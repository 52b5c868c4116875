"""`kb index-images`: the summary."""

from pathlib import Path

import pytest

from tests.cli.verbs.conftest import fields
from tests.conftest import CommandLine


@pytest.mark.usefixtures("toy_paper_profile")
def test_the_summary_counts_new_removed_and_unreadable_photos_for_each_encoder(
    cli: CommandLine, drawings: Path
) -> None:
    (drawings / "broken.jpg").write_bytes(b"no photo")
    (drawings / "empty.png").write_bytes(b"")
    for name in ("notes.txt", "DSC1.CR2"):
        (drawings / name).write_bytes(b"x")
    run = cli.call("index-images", drawings, check=True)
    assert "Skipped 2 files: 1 .cr2, 1 .txt" in run.stderr and "1 RAW photo skipped" in run.stderr
    found = fields(run.stdout)
    assert (found["photos"], found["new or changed"], found["encoder"]) == ("4", "6", "starter")
    assert found["unreadable"] == "2 (1 is not an image, 1 is empty)"
    found = fields(cli.call("index-images", drawings, "--encoder", "paper", check=True).stdout)
    assert found["new or changed"] == "6" and found["encoder"] != "starter"
    (drawings / "bubo-scandiacus.png").unlink()
    found = fields(cli.call("index-images", drawings, check=True).stdout)
    assert (found["photos"], found["new or changed"], found["removed"]) == ("3", "0", "1")
