import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import kb
from data.contracts import Encoders
from data.errors import ConfigError, SourceUnavailable
from data.records import Progress, Verification
from kb.pipeline.settings import BuildSettings
from kb.store.chroma import Chroma
from kb.store.layout import Layout
from tests.pages import PageSource, made_up_taxa
from tests.servers.chroma_server import ChromaServer

pytestmark = pytest.mark.integration

TERMS = [("Amplexus", None)]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ChromaServer]:
    running = ChromaServer(tmp_path_factory.mktemp("chroma") / "data")
    running.start()
    try:
        yield running
    finally:
        running.stop()


@pytest.fixture(scope="module")
def in_folder(tmp_path_factory: pytest.TempPathFactory, encoders: Encoders) -> Verification:
    path = tmp_path_factory.mktemp("in_folder") / "a.kb"
    kb.build(path, made_up_taxa(7), PageSource(), encoders, terms=TERMS)
    return kb.verify(path)


def test_a_shared_server_keeps_knowledge_bases_separate(
    tmp_path: Path, server: ChromaServer, encoders: Encoders, in_folder: Verification
) -> None:
    """One is built there, the other moved there and back."""
    settings = BuildSettings(chroma=server.address)
    kb.build(tmp_path / "a.kb", made_up_taxa(4), PageSource(), encoders, terms=TERMS, settings=settings)
    path = tmp_path / "b.kb"
    for place in ("folder", server.address, "folder"):
        kb.build(path, made_up_taxa(7), PageSource(), encoders, terms=TERMS, settings=BuildSettings(chroma=place))
        assert len([*path.glob("vectors/*/chroma")]) == (place == "folder")
        assert kb.verify(path) == in_folder
    with Chroma(replace(Layout(path).require(), chroma=server.address), path, path) as on_server:
        assert [on_server.count(name) for name in on_server.names] == [0] * len(on_server.names)
    with kb.open(tmp_path / "a.kb") as store:
        [vector] = encoders.sentence.encode_texts([store.summary_texts()[0]])
        assert len(store.query_species(vector, 10)) == 4
    kb.build(tmp_path / "c.kb", made_up_taxa(1), PageSource(), encoders, settings=settings)
    assert kb.verify(tmp_path / "c.kb").ok, "without terms"
    kb.remove(tmp_path / "c.kb", ["Avis 000"])
    assert kb.verify(tmp_path / "c.kb").ok, "without rows"


def test_a_server_of_another_state_or_without_its_data_costs_no_species(
    tmp_path: Path, encoders: Encoders, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    server, path = ChromaServer(tmp_path / "data"), tmp_path / "a.kb"
    settings = BuildSettings(chroma=server.address)
    [vector] = encoders.sentence.encode_texts(["red crown"])
    asked, nearest = list[str](), Chroma.nearest

    def counted(chroma: Chroma, *arguments: Any) -> list[list[str]]:
        asked.append("once")
        return nearest(chroma, *arguments)

    monkeypatch.setattr(Chroma, "nearest", counted)
    server.start()
    try:
        kb.build(path, made_up_taxa(7), PageSource(), encoders, terms=TERMS, settings=settings)
        monkeypatch.setattr("kb.store.knowledge_base.TIES", 0)
        with kb.open(path) as reader:
            right = reader.query_species(vector, 3)
            kb.build(path, made_up_taxa(40), PageSource(revision=2), encoders, terms=TERMS, settings=settings)
            kb.remove(path, ["Avis 001", "Avis 002"])
            assert caplog.text == ""
            assert [reader.query_species(vector, 3) for _ in range(3)] == [right] * 3
        assert len(asked) == 2 and caplog.text.count("holds another state") == 1
        with kb.open(path) as reader:
            right = reader.query_species(vector, 9)
        server.stop()
        server.forget()
        server.start()
        with kb.open(path) as reader:
            assert reader.query_species(vector, 9) == right
        toml, fact = Layout(path).toml, "chroma ="
        toml.write_text("\n".join(line for line in toml.read_text().splitlines() if not line.startswith(fact)))
        with socket.create_server(("127.0.0.1", 0)) as silent:  # accepts, and never answers
            toml.write_text(f'{toml.read_text()}\nchroma = "http://127.0.0.1:{silent.getsockname()[1]}"\n')
            monkeypatch.setattr("kb.store.chroma.PROBE_TIMEOUT_S", 0.2)
            with pytest.raises(SourceUnavailable, match="does not answer"):
                Chroma(Layout(path).require(), path, path)
            with kb.open(path) as reader:
                assert reader.query_species(vector, 9) == right
    finally:
        server.stop()


def test_verify_fills_a_server_address_written_into_kb_toml(
    tmp_path: Path, server: ChromaServer, encoders: Encoders, in_folder: Verification
) -> None:
    path = tmp_path / "a.kb"
    kb.build(path, made_up_taxa(7), PageSource(), encoders, terms=TERMS)
    toml = Layout(path).toml
    toml.write_text(toml.read_text().replace('chroma = ""', f'chroma = "{server.address}"'))
    assert len(kb.verify(path).mended) > 0
    assert kb.verify(path) == in_folder


def test_an_unreachable_server_is_named(tmp_path: Path, encoders: Encoders) -> None:
    path, source = tmp_path / "a.kb", PageSource()
    with pytest.raises(SourceUnavailable, match=r"127\.0\.0\.1:9"):
        kb.build(path, made_up_taxa(2), source, encoders, settings=BuildSettings(chroma="http://127.0.0.1:9"))
    assert source.n_bodies == 0  # before anything was fetched
    kb.build(path, made_up_taxa(2), source, encoders)
    toml = Layout(path).toml
    toml.write_text(toml.read_text().replace('chroma = ""', 'chroma = "http://127.0.0.1:9"'))
    with pytest.raises(SourceUnavailable, match=r"127\.0\.0\.1:9"):
        kb.verify(path)
    toml.write_text(toml.read_text().replace("http://127", "ftp://127"))
    with pytest.raises(ConfigError, match="expected http"):
        kb.verify(path)


def test_a_server_killed_under_a_writer_loses_nothing(
    tmp_path: Path, encoders: Encoders, in_folder: Verification, caplog: pytest.LogCaptureFixture
) -> None:
    """The writer fails with the server's address; a reader says so and keeps answering from its matrices."""
    server, path = ChromaServer(tmp_path / "data"), tmp_path / "a.kb"
    settings = BuildSettings(chroma=server.address)
    server.start()
    try:
        kb.build(path, made_up_taxa(4), PageSource(), encoders, terms=TERMS, settings=settings)

        def kill(progress: Progress) -> None:
            if progress.stage == "index" and progress.done == 0:
                server.stop()

        with kb.open(path) as reader:
            before = kb.search(reader, "red crown and blue back", encoders.sentence, n=5)
            with pytest.raises(SourceUnavailable, match=server.address.removeprefix("http://")):
                kb.build(path, made_up_taxa(7), PageSource(), encoders, terms=TERMS, settings=settings, progress=kill)
            assert kb.search(reader, "red crown and blue back", encoders.sentence, n=5) == before
        with kb.open(path) as reader:
            [vector] = encoders.sentence.encode_texts(["red crown"])
            assert len(reader.query_species(vector, 9)) == len(reader.taxon_ids) == 4
        assert "does not answer" in caplog.text
        server.start()
        kb.build(path, made_up_taxa(7), PageSource(), encoders, terms=TERMS, settings=settings)
        assert kb.verify(path) == in_folder
    finally:
        server.stop()
