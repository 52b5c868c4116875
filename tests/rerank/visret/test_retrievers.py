import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from data.cache_file import CacheFile
from data.errors import BadImage, BadRequest, MalformedAnswer, NoEvidence, Refused, SourceError, SourceUnavailable
from data.records import ChatReply, Job, RankedImage
from kb.endpoints.images import Drawings
from recognize import load_encoders
from rerank import METHODS, RerankResources, find, job_of_folder, make_reranker, open_collection
from rerank.captions import LocalCaptioner, PhotoText, SentenceScorer, VisionCaptioner, bounded
from rerank.methods import RETRIEVERS, make_retriever
from rerank.settings import CaptionSettings, RerankSettings, VisretSettings
from rerank.visret import InstructionWriter, PromptGenerator
from tests.rerank.scripted import ScriptedChat

COLOURS = ("red", "blue", "yellow", "green", "black", "white", "orange")
ENCODERS = load_encoders("starter")


class ByName:
    """A captioner that reads the name of the file; a refused photo has none."""

    name = "by name"

    def __init__(self, error: Exception | None = None, *, failing: tuple[str, ...] = ("white",)) -> None:
        self.error, self.failing = error or Refused("declined"), failing

    async def caption(self, path: Path) -> PhotoText:
        if path.stem in self.failing:
            raise self.error
        if path.stem == "broken":
            raise BadImage("damaged")
        return PhotoText(text=f"a {path.stem} bird", cost_usd=0.01)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    photos = tmp_path / "photos"
    photos.mkdir()
    for colour in COLOURS:
        Image.new("RGB", (40, 40), colour).save(photos / f"{colour}.png")
    (photos / "broken.png").write_bytes(b"no photo")
    return photos


def resources(folder: Path, draw: Any = None, **settings: Any) -> RerankResources:
    async def drawn(_prompt: str, n: int) -> Drawings:
        return Drawings(paths=tuple(folder / f"{name}.png" for name in ("orange", "red", "yellow")[:n]))

    return RerankResources(
        encoders=ENCODERS.text_image,
        text=ScriptedChat(lambda _request: "a yellow bird"),
        generator=PromptGenerator(draw or drawn),
        captioner=ByName(),
        scorer=SentenceScorer(ENCODERS.sentence),
        settings=RerankSettings(
            visret=VisretSettings(**settings), captions=CaptionSettings(first_stage=False)
        ),
    )  # fmt: skip


@pytest.fixture
def collection(folder: Path) -> Iterator[Any]:
    with open_collection(folder, ENCODERS.text_image[0], home=folder.parent) as opened:
        yield opened


def found(method: str, collection: Any, given: RerankResources, text: str = "a red bird", k: int = 9) -> Any:
    retriever: Any = make_retriever(method, collection, given)
    return asyncio.run(retriever.find(Job(query_id="q", text=text, candidates=()), k)), retriever


def bare(rows: list[RankedImage]) -> list[tuple[str, float]]:
    return [(row.image_id, row.score) for row in rows if row.status == "ok"]


@pytest.mark.parametrize("method", [name for name in RETRIEVERS if name in METHODS])
def test_a_retriever_ranks_as_the_re_ranker_of_the_whole_folder(method: str, folder: Path, collection: Any) -> None:
    rows, _ = found(method, collection, resources(folder))
    job = replace(job_of_folder(folder, "a red bird"), query_id="q")
    assert bare(rows) == bare(asyncio.run(make_reranker(method, resources(folder)).rank(job)))
    assert [row.rank for row in rows] == list(range(1, len(rows) + 1)) and "broken.png" not in dict(bare(rows))
    assert bare(found(method, collection, resources(folder), k=2)[0]) == bare(rows)[:2]


def test_a_query_that_is_not_drawn_is_searched_by_its_text_or_refused(
    folder: Path, collection: Any, caplog: pytest.LogCaptureFixture
) -> None:
    async def refuse(_prompt: str, _n: int) -> Drawings:
        raise Refused("declined")

    rows, retriever = found("visret", collection, resources(folder, refuse))
    assert bare(rows) == bare(found("similarity", collection, resources(folder))[0])
    assert all("ranked by text similarity" in (row.evaluation or "") for row in rows)
    assert retriever.tally.examples == {"by_text": ["q"]} and not retriever.tally.is_complete
    find("a red bird", collection, resources(folder, refuse), method="visret")
    assert "could not be drawn and ranked by text similarity" in caplog.text
    with pytest.raises(NoEvidence, match=r"The query was not drawn\. .* can see nothing"):
        found("visret", collection, resources(folder, refuse), text="наполовину")

    async def down(_prompt: str, _n: int) -> Drawings:
        raise SourceUnavailable("down")

    with pytest.raises(SourceUnavailable):
        found("visret", collection, resources(folder, down))


def test_an_empty_caption_is_an_error_and_never_stored(folder: Path) -> None:
    class Model:
        name = "local"
        text = " \n"

        def caption_images(self, images: Any) -> list[str]:
            return [self.text for _ in images]

    model = Model()
    with CacheFile(folder.parent / "captions.sqlite") as cache:
        captioner = LocalCaptioner(model, cache)
        with pytest.raises(MalformedAnswer, match="local: an empty caption"):
            asyncio.run(captioner.caption(folder / "red.png"))
        model.text = "a red bird"
        assert asyncio.run(captioner.caption(folder / "red.png")).text == "a red bird"
    chat = ScriptedChat(lambda _request: "a red bird")
    asyncio.run(VisionCaptioner(chat).caption(folder / "red.png"))
    asyncio.run(InstructionWriter(chat).write(Job(query_id="q", text="a red bird", candidates=())))
    for text, usable in ((" \n", [False, False]), ("' '", [True, False]), ("a bird", [True, True])):
        assert [asked.usable(ChatReply(text=text, model="m")) for asked in chat.requests] == usable, text


@pytest.mark.parametrize("error", [Refused("no"), MalformedAnswer("no"), BadRequest("no")])
def test_a_photo_that_is_not_captioned_is_no_row_and_counted(folder: Path, collection: Any, error: SourceError) -> None:
    seen: list[tuple[int, int, int]] = []
    given = replace(resources(folder), captioner=ByName(error), on_progress=lambda *counts: seen.append(counts))
    rows, retriever = found("captions", collection, given)
    assert len(seen) == len(COLOURS) and seen[-1] == (7, 7, 1)
    assert rows[0].evaluation == "caption: a red bird" and "white.png" not in dict(bare(rows))
    assert [str(error) for error in retriever.tally.failures] == ["no"]
    for stops in (ByName(SourceUnavailable("down")), ByName(error, failing=COLOURS)):
        with pytest.raises(type(stops.error)):
            found("captions", collection, replace(given, captioner=stops))


def test_scores_are_scaled() -> None:
    assert [bounded(each).tolist() for each in ([2.0, -4.0], [0.5, -0.5])] == [[0.5, -1.0], [0.5, -0.5]]
