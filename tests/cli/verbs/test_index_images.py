"""`kb index-images`: the summary, and what a kill leaves."""

import os
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

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


@pytest.mark.integration
def test_a_run_that_is_killed_resumes_to_the_index_of_a_whole_run(cli: CommandLine) -> None:
    """Each batch of 32 photos is kept; the index is killed when it writes the second one."""
    from recognize import load_encoders
    from rerank import open_collection

    folder, rng = cli.folder / "photos", np.random.default_rng(0)
    folder.mkdir()
    for i in range(160):
        Image.fromarray(rng.integers(0, 255, (40, 40, 3), dtype=np.uint8)).save(folder / f"{i:03}.png")
    home, encoder = Path(os.environ["FIELDMARK_HOME"]), load_encoders("starter").text_image[0]
    one_batch = 32 * encoder.dim * 4
    process = subprocess.Popen(
        [*cli.command(), "index-images", str(folder)],
        env=cli.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    while process.poll() is None and not any(path.stat().st_size > one_batch for path in home.rglob("vectors-*.f32")):
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    query = encoder.encode_texts(["a red bird with a black face"])
    with open_collection(folder, encoder) as resumed, open_collection(folder, encoder, home=cli.folder) as whole:
        assert 0 < resumed.update.n_new <= 128 and whole.update.n_new == 160
        assert resumed.ids == whole.ids and np.array_equal(resumed.scores(query), whole.scores(query))
