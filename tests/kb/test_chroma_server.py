"""A knowledge base whose collections live on a Chroma server, as teams share them."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

import kb
import recognize
from data.errors import SourceUnavailable
from kb.layout import Layout
from tests.pages import PageSource, made_up_taxa

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real `chroma run` on loopback."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    folder = tmp_path_factory.mktemp("server")
    chroma = Path(sys.executable).with_name("chroma")
    command = [str(chroma), "run", "--host", "127.0.0.1", "--port", str(port), "--path", str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(150):
            try:
                urllib.request.urlopen(f"{address}/api/v2/heartbeat", timeout=2).read()
                break
            except (urllib.error.URLError, OSError):
                time.sleep(0.2)
        else:
            pytest.fail(f"the Chroma server at {address} did not answer within 30 s")
        yield address
    finally:
        process.terminate()
        process.wait(timeout=20)


def move_to_server(path: Path, address: str) -> None:
    toml = Layout(path).toml
    toml.write_text(toml.read_text().replace('chroma = ""', f'chroma = "{address}"'))


def test_a_shared_server_holds_two_knowledge_bases_apart(tmp_path: Path, server: str) -> None:
    encoders = recognize.load_encoders("starter")
    for name, n in (("a.kb", 4), ("b.kb", 7)):
        kb.build(tmp_path / name, made_up_taxa(n), PageSource(), encoders, only="resolve")
        move_to_server(tmp_path / name, server)
        kb.build(tmp_path / name, made_up_taxa(n), PageSource(), encoders)
        assert not (tmp_path / name / "chroma").exists()
    kb.build(tmp_path / "folder.kb", made_up_taxa(7), PageSource(), encoders)
    shared, own = kb.verify(tmp_path / "b.kb"), kb.verify(tmp_path / "folder.kb")
    assert shared.ok
    assert shared.digest == own.digest
    store = kb.open(tmp_path / "a.kb")
    [vector] = encoders.sentence.encode_texts([store.summary_texts()[0]])
    assert len(store.query_species(vector, 10)) == 4
    store.close()


def test_a_server_that_is_down_is_named(tmp_path: Path) -> None:
    encoders = recognize.load_encoders("starter")
    kb.build(tmp_path / "a.kb", made_up_taxa(2), PageSource(), encoders)
    move_to_server(tmp_path / "a.kb", "http://127.0.0.1:9")
    with pytest.raises(SourceUnavailable, match=r"127\.0\.0\.1:9"):
        kb.verify(tmp_path / "a.kb")
