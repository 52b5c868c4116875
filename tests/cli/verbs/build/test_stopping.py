"""Ctrl-C stops a build at once, even during a slow request, and the next run resumes."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from kb.sources.http_client import Timeouts
from tests.servers.faulty_wiki import Fault, FaultyWiki

NAMES = ("Northern cardinal", "Blue jay", "House sparrow", "Common raven", "Barn swallow", "Snowy owl", "Mallard")
SLOW_S = 60.0  # longer than the read timeout


@pytest.mark.integration
def test_ctrl_c_does_not_wait_for_a_slow_wiki(cli: Any, tmp_path: Path) -> None:
    (tmp_path / "names.csv").write_text("common\n" + "\n".join(NAMES), encoding="utf-8")
    with FaultyWiki().running() as wiki:
        wiki.pages |= {name: f"<p>The {name} is a bird.</p><p>Its crown is red.</p>" for name in NAMES}
        build = [*cli.command(), "build", "--names", "names.csv", "--api-url", wiki.api_url, "--kb", "a.kb"]
        process = subprocess.Popen(
            build, cwd=tmp_path, env=cli.environment(), stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        until = time.monotonic() + 240
        while sum(request.get("action") == "parse" for request in wiki.requests) < 2 and time.monotonic() < until:
            if wiki.requests:  # pages are looked up; their bodies are slow
                wiki.always = Fault(stall_s=SLOW_S)
            time.sleep(0.01)
        interrupted = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, complaint = process.communicate(timeout=120)
        assert process.returncode == 130
        assert "run the same command again to resume" in complaint
        assert time.monotonic() - interrupted < 0.9 * Timeouts().read_s  # otherwise it waited for a reply
        wiki.always = None
        assert "species           7" in cli.run(*build[1:], check=True).stdout
