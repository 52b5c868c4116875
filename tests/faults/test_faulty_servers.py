"""Wikis and models that are faulty at random: each failure is counted, and a later run gives the clean result."""

import gzip
import json
import random
import shutil
from pathlib import Path

import kb
from data.contracts import ChatModel
from data.errors import FieldmarkError
from data.event_loop import wait_for
from data.records import Taxon
from kb.checklist.avilist import load_checklist
from kb.distill.model import ModelDistiller
from kb.endpoints.chat import Connection
from kb.endpoints.endpoint import Endpoint
from kb.http import RetryPolicy
from kb.sources.mediawiki.wiki_source import WikipediaSource
from recognize.reader.reader import Reader
from tests.faults.bench import write_pages
from tests.faults.draw import Draw
from tests.kb.distill.test_model import GOOD, WREN, article
from tests.recognize.reader.test_reader import CANDIDATES, JPEG
from tests.servers.faulty_wiki import Fault, FaultyWiki, busy, html_page, lagging
from tests.servers.kinds import KINDS, as_kind
from tests.servers.openai_server import Answer, Call, Cut, OpenAIServer, Raw, Reaction, Status, Trickle
from tests.servers.own_wiki import BIRDS
from tests.toy.encoders import toy_encoders

JSON = {"Content-Type": "application/json"}
TWICE = gzip.compress(gzip.compress(b"0" * 10**6))
WIKI_FAULTS = (
    busy(), busy("0"), busy("9" * 400), busy(status=503), html_page(), lagging(), Fault(status=500, body=b"error"),
    Fault(status=404, body=b"gone"), Fault(status=302, headers={"Location": "http://10.0.0.7/"}), Fault(cut_at=30),
    Fault(body=b" ", headers=JSON), Fault(body=b"[]", headers=JSON), Fault(body=b"[" * 5_000, headers=JSON),
    Fault(body=b'{"error": {"code": 7}}', headers=JSON), Fault(body=b'{"query": 0}', headers=JSON),
    Fault(body=TWICE, headers={"Content-Encoding": "gzip, gzip"}), Fault(stall_s=0.05),
    Fault(body=b"x", headers={"Content-Encoding": "gzip"}),
)  # fmt: skip
MODEL_FAULTS: tuple[Reaction, ...] = (
    Status(status=429, headers={"retry-after": "0"}), Status(status=429, headers={"retry-after-ms": "9" * 400}),
    Status(status=500, error="oops"), Status(status=503, error={"message": "busy"}), Status(status=400, error={}),
    Status(status=401, error={"message": "no key"}), Raw(body=b"<html>"),
    Raw(body=b"[]", media_type="application/json"),
    Raw(body=b"[" * 5_000, media_type="application/json"), Cut(after_bytes=0), Cut(after_bytes=20),
    Trickle(every_s=0.001, n_bytes=30), Answer(text=None), Answer(text="A", refusal="I will not"), Answer(text=""),
    Answer(text='{"answer": "A', finish="length"), Answer(text="\ud83d"), Answer(text="[" * 5_000),
    Answer(text="A", more={"choices": []}), Answer(text="A", more={"usage": {"prompt_tokens": -1}}),
    Answer(text="A", logprobs=(("A", -(10.0**300), (("A", -(10.0**300)),)),)),
)  # fmt: skip


def taxa() -> list[Taxon]:
    found = [load_checklist().find(binomial) for _, binomial, _, _ in BIRDS]
    return [taxon for taxon in found if taxon is not None]


def source_of(wiki: FaultyWiki) -> WikipediaSource:
    policy = RetryPolicy(tries=2, tries_at_first=2, first_wait_s=0.001, longest_wait_s=0.05, total_s=1.0)
    return wiki.source(retry=policy)


def test_a_build_from_a_faulty_wiki_counts_what_it_lacks_and_is_completed_later(draw: Draw, tmp_path: Path) -> None:
    encoders, path = toy_encoders(), tmp_path / "a.kb"

    def build(seed: int) -> str:
        at_random = random.Random(seed)
        shutil.rmtree(path, ignore_errors=True)
        share = at_random.choice((0.1, 0.3, 0.7))
        for faults in (wiki.faults, wiki.photo_faults):
            faults[:] = [at_random.choice(WIKI_FAULTS) if at_random.random() < share else Fault() for _ in range(40)]
        try:
            status = kb.build(path, taxa(), source_of(wiki), encoders)
            outcome = "with failures" if status.failures else "complete"
            assert status.species == len(BIRDS) or status.failures or status.left_out, "species lack without a reason"
        except FieldmarkError as error:
            assert str(error)
            outcome = f"stopped with exit code {error.exit_code}"
        wiki.faults[:], wiki.photo_faults[:] = [], []
        later = kb.build(path, taxa(), source_of(wiki), encoders)
        found = kb.verify(path)
        assert found.problems == ()
        if later.skipped_photos:  # a file that is no image stays skipped until it changes
            assert later.anchors + sum(later.skipped_photos.values()) == len(BIRDS)
            return f"{outcome}, then without some photos"
        assert found.digest == digest
        return outcome

    with FaultyWiki().running() as wiki:
        write_pages(wiki)
        kb.build(tmp_path / "clean.kb", taxa(), source_of(wiki), encoders)
        digest = kb.verify(tmp_path / "clean.kb").digest
        draw.each(4, 300, build)


def test_replies_of_faulty_models_are_used_or_counted(draw: Draw) -> None:
    at_random, kind = random.Random(), KINDS[0]

    def react(call: Call) -> Reaction:
        if at_random.random() < 0.5:
            return at_random.choice(MODEL_FAULTS)
        return GOOD if "<<<" in call.text else Answer(text=json.dumps({"reason": "a crest", "answer": "A"}))

    def ask(chat: ChatModel, seed: int) -> str:
        if seed % 2:
            return "distilled" if wait_for(ModelDistiller(chat).distil_async(article(), WREN)).summary else "no summary"
        reading = wait_for(Reader(chat).read(JPEG, CANDIDATES))
        return "read" if reading is not None else "no reading"

    policy = RetryPolicy(tries=2, first_wait_s=0.001, longest_wait_s=0.05, total_s=0.01)
    with OpenAIServer(lambda call: as_kind(react, kind)(call)) as server:
        endpoint = Endpoint(model="m", base_url=server.base_url, price_in=1, price_out=1, timeout=20)

        def asked(seed: int) -> str:
            nonlocal kind
            at_random.seed(seed)
            kind = at_random.choice(KINDS)
            with Connection(endpoint, retry=policy) as chat:
                try:
                    return ask(chat, seed)
                except FieldmarkError as error:
                    assert str(error)
                    return f"exit code {error.exit_code}"

        draw.each(30, 2_000, asked)
