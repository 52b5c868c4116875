"""Several profiles in one knowledge base: only what is missing is encoded, and the first one stays what it was."""

from __future__ import annotations

import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

import kb
from data.contracts import Encoders
from data.errors import BadInput, MissingRequirement, SpaceMismatch, UsageError
from data.records import Verification
from kb import OwnText
from kb.store.chroma import Collections
from kb.store.layout import Layout, collection_name, read_info
from kb.store.ledger import Ledger
from kb.store.views import STAGE
from tests.kb.counted_encoders import CountedEncoder, large, profile, small
from tests.pages import PageSource, made_up_taxa

N = 6
TERMS = [("Amplexus", None)]
SCRIPT = Path(__file__).parents[1] / "add_large.py"


def build(path: Path, encoders: Encoders, **options: object) -> None:
    kb.build(path, made_up_taxa(N), PageSource(bare=["avis-002"], **options), encoders, terms=TERMS)


def seen(encoders: Encoders) -> int:
    """Return how many texts and pictures the encoders of a profile were given."""
    return sum(
        e.seen.total() for e in {id(e): e for e in (*encoders.text_image, encoders.visual, encoders.sentence)}.values()
    )


def verified(path: Path) -> Verification:
    found = kb.verify(path)
    assert found.problems == ()
    return found


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A knowledge base of one profile; tests must not write to it."""
    path = tmp_path_factory.mktemp("first") / "a.kb"
    build(path, small())
    return path


@pytest.fixture(scope="module")
def whole(first: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The same with another profile added, and its digest; tests must not write to it."""
    path = tmp_path_factory.mktemp("whole") / "a.kb"
    shutil.copytree(first, path)
    kb.add_profile(path, large())
    return path, verified(path).digest


@pytest.fixture
def one(first: Path, tmp_path: Path) -> Path:
    shutil.copytree(first, tmp_path / "a.kb")
    return tmp_path / "a.kb"


@pytest.fixture
def two(whole: tuple[Path, str], tmp_path: Path) -> Path:
    shutil.copytree(whole[0], tmp_path / "a.kb")
    return tmp_path / "a.kb"


def test_a_profile_is_added_by_encoding_each_text_and_photo_once(one: Path) -> None:
    encoders = large()
    status = kb.add_profile(one, encoders)
    long, short = encoders.text_image
    with kb.open(one, profile="large") as store:
        chunks = store.chunk_vectors(short.space).ids
        anchors = store.anchor_vectors(encoders.visual.space).ids
    assert isinstance(long, CountedEncoder)
    assert len(chunks) > N  # no text fits into 12 words
    assert len(anchors) == status.anchors == 10
    for encoder in (long, short):
        assert isinstance(encoder, CountedEncoder)
        assert encoder.seen.total() == len(chunks) + len(anchors)
    assert encoders.visual.seen.total() == len(anchors)  # type: ignore[attr-defined]
    assert encoders.sentence.seen.total() == N + len(TERMS)  # type: ignore[attr-defined]
    assert status.behind == {"large": 0}
    assert list(status.profiles) == ["small", "large"]


def test_added_again_it_encodes_nothing(two: Path, whole: tuple[Path, str]) -> None:
    encoders = large()
    kb.add_profile(two, encoders)
    assert seen(encoders) == 0
    assert verified(two).digest == whole[1]


def test_a_build_with_the_first_profile_finds_nothing_to_do_and_keeps_the_added_one(
    two: Path, whole: tuple[Path, str]
) -> None:
    encoders = small()
    build(two, encoders)
    assert seen(encoders) == 0
    assert verified(two).digest == whole[1]


def test_the_first_profile_sees_what_it_saw_before(first: Path, whole: tuple[Path, str]) -> None:
    with kb.open(first) as before, kb.open(whole[0]) as after:
        assert after.info.profile == "small"
        assert after.spaces == before.spaces
        assert after.species(after.taxon_ids) == before.species(before.taxon_ids)
        for space in before.spaces[:1]:
            assert after.chunk_vectors(space).ids == before.chunk_vectors(space).ids
            np.testing.assert_array_equal(after.chunk_vectors(space).vectors, before.chunk_vectors(space).vectors)
            np.testing.assert_array_equal(after.anchor_vectors(space).vectors, before.anchor_vectors(space).vectors)


def test_the_added_profile_has_the_rows_of_a_knowledge_base_built_with_it(
    whole: tuple[Path, str], tmp_path: Path
) -> None:
    build(tmp_path / "b.kb", large())
    with kb.open(tmp_path / "b.kb") as alone, kb.open(whole[0], profile="large") as beside:
        assert beside.spaces == alone.spaces
        assert beside.species(beside.taxon_ids) == alone.species(alone.taxon_ids)
        for space in alone.info.text_image:
            assert beside.chunk_vectors(space).ids == alone.chunk_vectors(space).ids
            np.testing.assert_array_equal(beside.chunk_vectors(space).vectors, alone.chunk_vectors(space).vectors)
            ids = beside.chunk_vectors(space).ids
            assert beside.chunk_texts(ids) == alone.chunk_texts(ids)
        for space in alone.info.anchor_spaces:
            np.testing.assert_array_equal(beside.anchor_vectors(space).vectors, alone.anchor_vectors(space).vectors)
        vector = large().sentence.encode_texts(["red"])[0]
        assert beside.query_species(vector, 3) == alone.query_species(vector, 3)
        assert beside.query_terms(vector, 3) == alone.query_terms(vector, 3)


def test_a_space_that_is_there_is_shared(tmp_path: Path, one: Path) -> None:
    """The sentence encoder is that of the first profile: its collections stay, and it is not asked."""
    encoders = large(sentence=CountedEncoder("words", dim=5))
    kb.add_profile(one, encoders)
    assert encoders.sentence.seen.total() == 0  # type: ignore[attr-defined]
    verified(one)
    with kb.open(one, profile="large") as store:
        assert len(store.query_species(encoders.sentence.encode_texts(["red"])[0], 100)) == N


def test_an_ensemble_is_widened_by_one_encoder(two: Path) -> None:
    """All encoders but one are there: their chunks are read, and only the new one is asked."""
    held, new = large(), CountedEncoder("new", max_tokens=40)
    wide = profile("wide", *held.text_image, new, visual=held.visual, sentence=held.sentence)  # type: ignore[arg-type]
    status = kb.add_profile(two, wide)
    assert seen(held) == 0
    assert status.behind == {"large": 0, "wide": 0}
    with kb.open(two, profile="wide") as store:
        tables = [store.chunk_vectors(space) for space in store.info.text_image]
        assert tables[0].ids == tables[1].ids == tables[2].ids
        assert new.seen.total() == len(tables[0].ids) + len(store.anchor_vectors(new.space).ids)
    verified(two)


def test_chunks_of_another_profile_that_are_too_long_for_a_new_encoder_are_failures(one: Path) -> None:
    held = small()
    blind = CountedEncoder("short", max_tokens=12)
    mixed = profile("mixed", *held.text_image, blind, visual=held.visual, sentence=held.sentence)  # type: ignore[arg-type]
    status = kb.add_profile(one, mixed)
    assert {failure.stage for failure in status.failures} == {"cut"}
    assert "longer than short reads (12)" in status.failures[0].reason
    assert status.behind == {"mixed": N}
    with kb.open(one, profile="mixed") as store:  # none of its species is shown by half of its encoders
        assert [store.chunk_vectors(space).ids for space in store.info.text_image] == [(), ()]


def test_killed_at_any_moment_it_goes_on(one: Path, whole: tuple[Path, str]) -> None:
    # Before anything, after three of seven collections, before the index, and after it: that one leaves nothing to do.
    for moment, n_behind in ((1, N + 1), (4, N + 1), (6, N + 1), (3, 0)):
        done = subprocess.run([sys.executable, str(SCRIPT), str(one), str(moment)], capture_output=True, check=False)
        assert done.returncode == -9, done.stderr.decode()[-2000:]
        with kb.open(one) as store:
            assert store.status().behind == {"large": n_behind}
    kb.add_profile(one, large())
    assert verified(one).digest == whole[1]


def test_an_update_leaves_the_added_profile_behind_until_it_is_added_again(two: Path, tmp_path: Path) -> None:
    build(two, small(), revision=2)
    problems = kb.verify(two).problems
    command = f"kb build --only encode --profile large --kb {two}"
    assert problems == (f"large: {N + 1} entries have no vectors of it; run {command}",)
    with kb.open(two, profile="large") as store:
        assert store.n_behind() == N + 1
        assert store.chunk_vectors(store.info.text_image[0]).ids == ()
    encoders = large()
    status = kb.add_profile(two, encoders)
    assert status.behind == {"large": 0}
    assert encoders.visual.seen.total() == 0  # type: ignore[attr-defined]  # the photos did not change
    build(tmp_path / "b.kb", small(), revision=2)
    kb.add_profile(tmp_path / "b.kb", large())
    assert verified(two).digest == verified(tmp_path / "b.kb").digest


def test_what_a_user_adds_is_behind_alone_and_a_removed_species_goes_from_every_profile(two: Path) -> None:
    taxa = made_up_taxa(N)
    kb.add(two, taxa[3], small(), texts=[OwnText(text="The iris is bright orange.", title="notes")])
    with kb.open(two) as store:
        assert store.status().behind == {"large": 1}
    encoders = large()
    kb.add_profile(two, encoders)
    assert 0 < seen(encoders) < 12
    kb.remove(two, ["Avis 004"])
    verified(two)
    with kb.open(two, profile="large") as store:
        assert len(store.taxon_ids) == N - 1
        tables = [store.chunk_vectors(space) for space in store.info.text_image]
        assert set(tables[0].owners) == set(range(N - 1))
    with closing(Ledger(Layout(two).ledger, read_only=True)) as ledger:
        assert "avis-004" not in ledger.steps(STAGE, "large")


def test_a_bundle_brings_all_profiles_along(two: Path, whole: tuple[Path, str], tmp_path: Path) -> None:
    kb.export_bundle(two, tmp_path / "out")
    for number, encoders in enumerate((small(), large())):
        path = tmp_path / f"{number}.kb"
        imported = kb.import_bundle(tmp_path / "out", path, encoders)
        assert (imported.digest, imported.encoded) == (whole[1], False)
        assert seen(encoders) == 0
        assert read_info(path / "kb.toml").profiles == ("small", "large")
        encoders = large()
        kb.add_profile(path, encoders)
        assert seen(encoders) == 0


def test_a_bundle_of_a_knowledge_base_whose_profile_was_stopped_brings_as_much_of_it_as_was_seen(
    one: Path, whole: tuple[Path, str], tmp_path: Path
) -> None:
    """All is encoded, and nothing shown yet."""
    done = subprocess.run([sys.executable, str(SCRIPT), str(one), "index"], capture_output=True, check=False)
    assert done.returncode == -9, done.stderr.decode()[-2000:]
    exported = kb.export_bundle(one, tmp_path / "out")
    imported = kb.import_bundle(tmp_path / "out", tmp_path / "b.kb", small())
    assert imported.digest == exported.digest
    with kb.open(tmp_path / "b.kb") as store:
        assert store.status().behind == {"large": N + 1}
    kb.add_profile(tmp_path / "b.kb", large())
    assert verified(tmp_path / "b.kb").digest == whole[1]


def test_a_bundle_whose_profiles_read_each_other_s_chunks_in_a_circle_is_refused(two: Path, tmp_path: Path) -> None:
    kb.export_bundle(two, tmp_path / "out")
    manifest = tmp_path / "out" / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"cut": "large"', '"cut": "larger"'))
    with pytest.raises(BadInput, match="expected the chunks of an earlier profile"):
        kb.import_bundle(tmp_path / "out", tmp_path / "b.kb", small())
    assert not (tmp_path / "b.kb").exists()


def test_verify_mends_an_added_profile_from_the_ledger(two: Path, whole: tuple[Path, str]) -> None:
    name = collection_name("chunks", large().text_image[1].space)
    with closing(Collections(Layout(two), read_info(two / "kb.toml"))) as collections:
        collections.drop(name)
    found = kb.verify(two)
    assert found.mended == (f"{name}: rows of {N} entries were missing, written again",)
    assert verified(two).digest == whole[1]


@pytest.mark.parametrize("damage", ["lost", "unreadable"])
def test_a_lost_cut_is_found_and_made_again_without_encoding(two: Path, whole: tuple[Path, str], damage: str) -> None:
    with closing(Ledger(Layout(two).ledger)) as ledger:
        if damage == "lost":
            ledger.drop_steps(["avis-000"], [STAGE])
        else:
            ledger._db.execute("UPDATE steps SET output = '{' WHERE stage = 'cut' AND subject_id = 'avis-000'")
    assert kb.verify(two).problems[0] == "avis-000: how its summary is cut for large was lost"
    encoders = large()
    kb.add_profile(two, encoders)
    assert seen(encoders) == 0
    assert verified(two).digest == whole[1]


def test_what_is_not_there_is_refused_with_what_is(two: Path) -> None:
    with pytest.raises(MissingRequirement, match="no vectors of the profile paper; it has those of small, large"):
        kb.open(two, profile="paper")
    with pytest.raises(UsageError, match="was built with the profile small"):
        kb.add_profile(two, small())
    with pytest.raises(SpaceMismatch):
        kb.add_profile(two, large(sentence=CountedEncoder("other")))
    with pytest.raises(SpaceMismatch):  # builds write with the first profile
        build(two, large())


def test_a_knowledge_base_of_one_profile_is_written_as_ever(first: Path) -> None:
    assert "added" not in (first / "kb.toml").read_text()
    with kb.open(first) as store:
        assert store.profiles == ("small",)
        assert store.status().behind == {}
