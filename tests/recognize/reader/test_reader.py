import asyncio
import json
import re
import threading
from pathlib import Path
from typing import Any

import pytest

from data.errors import BadImage, CostStop, MissingRequirement, UsageError
from data.event_loop import wait_for
from data.records import Answer as RowAnswer
from data.records import Box, Candidate, ChatReply, Identification, TokenLogprobs
from kb.endpoints.cache import ReplyCache
from kb.endpoints.chat import Connection
from kb.endpoints.endpoint import Endpoint
from recognize.reader.reader import AHEAD, Reader, read_over
from recognize.reader.replies import read_sample
from tests.servers.openai_server import Answer, OpenAIServer, Status

DOWN = Status(status=503, error={"message": "out of memory"})
JPEG = b"\xff\xd8\xff made up"


def candidate(name: str, common_name: str, summary: str | None = "Plumage grey.") -> Candidate:
    taxon_id = name.lower().replace(" ", "-")
    return Candidate(
        taxon_id=taxon_id, scientific_name=name, common_name=common_name, score=1.0, summary=summary,
        family=f"{common_name} family", order="Passeriformes",
    )  # fmt: skip


CANDIDATES = [
    candidate("Cyanocitta cristata", "Blue Jay", "Blue above, a crest."),
    candidate("Cardinalis cardinalis", "Northern Cardinal", "Red, with a black mask."),
    candidate("Sialia sialis", "Eastern Bluebird", None),
]


def read(script: Any, *, candidates: Any = CANDIDATES, cache: Any = None, **settings: Any) -> Any:
    with (
        OpenAIServer(script) as server,
        Connection(Endpoint(model="m", base_url=server.base_url, max_wait=0), cache=cache) as chat,
    ):
        return wait_for(Reader(chat, **settings).read(JPEG, candidates)), server.calls


def label_of(name: Any, call: Any) -> Any:
    return re.search(rf"^([A-Z])\. {name}", call.text, re.MULTILINE).group(1)


def choosing(name: Any, reason: str = "Its crest.") -> Any:
    return lambda call: json.dumps({"reason": reason, "answer": label_of(name, call)})


def test_a_request_has_photo_descriptions_and_a_label_enum() -> None:
    reading, (call,) = read(choosing("Northern Cardinal", "A black mask."))
    assert (reading.choice, reading.agreement, reading.reason) == ("cardinalis-cardinalis", 1.0, "A black mask.")
    assert call.images == [JPEG]
    assert "A. Blue Jay (Cyanocitta cristata): Blue above, a crest." in call.text
    assert "C. Eastern Bluebird (Sialia sialis): no description." in call.text
    schema = call.payload["response_format"]["json_schema"]["schema"]
    assert schema["properties"]["answer"]["enum"] == ["A", "B", "C", "none"]
    assert '"none"' in call.text
    reading, (call,) = read(choosing("Blue Jay"), forced=True)
    schema = call.payload["response_format"]["json_schema"]["schema"]
    assert (reading.choice, schema["properties"]["answer"]["enum"]) == ("cyanocitta-cristata", ["A", "B", "C"])
    assert "It shows one of them" in call.text and '"none"' not in call.text
    for n in (0, 27):
        with pytest.raises(UsageError, match=f"got {n}"):
            read("?", candidates=CANDIDATES[:1] * n)


def test_replies_are_read_by_the_first_rule_that_fits_and_reasons_choose_no_species() -> None:
    for text, choice, rule in (
        ('{"reason": "r", "answer": "B"}', 1, "json"),
        ('Here you are:\n```json\n{"answer": "b."}\n```', 1, "json"),
        ('{"answer": "None"}', None, "json"),
        ("The mask is black. Answer: B", 1, "label"),
        ("This is a Northern Cardinal, it has a mask", 1, "name"),
        ("None of the candidates fits this heron", None, "none"),
        ("It could be a Blue Jay or an Eastern Bluebird", None, "unread"),
        ("", None, "unread"),
        ('{"answer": "B. Northern Cardinal"}', 1, "label"),
        ('{"answer": "A"} {"answer": "B"}', None, "unread"),
        ("Answer: A. Or B.", None, "unread"),
        ("A: no crest here.\nB: the right size and colour.\nSo it is B", 1, "label"),
        ('{"Reason": "r", "Answer": "B"}', 1, "json"),
        ('{"reason": "a "black" mask", "answer": "B"}', 1, "json"),
        ("B. Northern Cardinal, with more red than a Blue Jay", 1, "label"),
        ("A northern-cardinal, not a Blue Jay", 1, "name"),
        ("It is not a Blue Jay", None, "unread"),
        ("None of these, though it is like a Blue Jay", None, "unread"),
        ('{"reason": "Not a Blue Jay: no crest.", "answer": "none of these"}', None, "none"),
        ('{"reason": "Redder than a Blue Jay.", "answer": "Northern Cardinal"}', 1, "name"),
        ('{"reason": "It has the crest of a Blue Jay, bu', None, "unread"),
    ):
        vote = read_sample(ChatReply(text=text, model="m"), CANDIDATES)
        assert (vote.choice, vote.rule) == (choice, rule), text
    wrens = [candidate("Troglodytes troglodytes", "Wren"), candidate("Troglodytes hiemalis", "Winter Wren")]
    assert read_sample(ChatReply(text="This is a Winter Wren", model="m"), wrens).choice == 1, "inside a longer name"


def test_samples_use_different_orders_while_any_remain_and_photos_are_shuffled_differently() -> None:
    _, calls = read(choosing("Blue Jay"), n_samples=6)
    assert len({call.text for call in calls}) == 6  # all orders of three
    reading, _ = read('{"reason": "", "answer": "A"}', n_samples=6)
    assert reading.agreement == 2 / 6, "always answering A lowers the agreement"
    with OpenAIServer(choosing("Blue Jay")) as server:
        with Connection(Endpoint(model="m", base_url=server.base_url)) as chat:
            for number in range(12):
                wait_for(Reader(chat, n_samples=2).read(JPEG + bytes([number]), CANDIDATES))
        assert {label_of("Blue Jay", call) for call in server.calls} == {"A", "B", "C"}


def token(text: Any, logprob: Any, *top: Any) -> TokenLogprobs:
    return TokenLogprobs(token=text, logprob=logprob, top=((text, logprob), *top))


def test_the_margin_is_the_log_probability_gap_between_labels() -> None:
    tokens = (token("A", -2.0, ("B", -0.5)), token('": "', -0.1), token("B", -0.2, ("the", -1.0), (" C", -2.7)))
    vote = read_sample(ChatReply(text='{"reason": "A", "answer": "B"}', model="m", logprobs=tokens), CANDIDATES)
    assert vote.margin == pytest.approx(2.5)
    tokens = (token("B", -0.1, ("the", -4.0), ("x", -7.0)),)
    vote = read_sample(ChatReply(text='{"answer": "B"}', model="m", logprobs=tokens), CANDIDATES)
    assert vote.margin == pytest.approx(6.9), "without another label, to the last listed token"


def test_tied_votes_are_decided_by_the_larger_margin() -> None:
    def script(call: Any) -> Answer:
        name, logprob = ("Northern Cardinal", -0.01) if call.number % 2 else ("Blue Jay", -0.6)
        label = label_of(name, call)
        other = next(each for each in "ABC" if each != label)
        top = ((label, logprob), (other, -5.0))
        text = json.dumps({"reason": "", "answer": label})
        return Answer(text=text, logprobs=((label, logprob, top),))

    reading, _ = read(script, n_samples=2)
    assert (reading.choice, reading.agreement) == ("cardinalis-cardinalis", 0.5)
    assert reading.margin == pytest.approx(4.99)


def test_a_reading_without_votes_lists_each_failure_reason_once_and_is_not_cached(tmp_path: Path) -> None:
    cache = ReplyCache(tmp_path / "replies")
    dark = Status(status=413, error={"message": "too dark"})
    reading, _ = read(lambda call: {2: "?", 3: dark}.get(call.number, DOWN), n_samples=4)
    assert (reading.choice, reading.agreement, reading.answered, len(reading.failures)) == (None, 0.0, 0, 3)
    assert reading.reason.startswith("the reader failed: ")
    assert (reading.reason.count("out of memory"), reading.reason.count("too dark")) == (1, 1)
    for reply, forced, why in (
        ("?", False, "no choice in the reply '?'"),
        ('{"reason": "a heron", "answer": "none"}', True, "none of the candidates, where one must be chosen"),
    ):
        reading, _ = read(reply, n_samples=2, forced=forced, cache=cache)
        assert (reading.choice, reading.answered, reading.missing) == (None, 0, "reader")
        assert reading.reason == f"the reader failed: {why}"
    with cache:
        assert len(cache) == 0


def row(image: Any, **changes: Any) -> Identification:
    answer = RowAnswer(rank="genus", name="Cyanocitta", confidence=0.8, p_unknown=0.1)
    return Identification(image=image, **({"answer": answer, "candidates": tuple(CANDIDATES[:2])} | changes))


def picture_of(path: Any, box: Any) -> Any:
    return b"\xff\xd8\xff" + path.name.encode() + (b"" if box is None else f" {box.left:g}".encode())


def read_rows(rows: Any, script: Any) -> Any:
    with OpenAIServer(script) as server, Connection(Endpoint(model="m", base_url=server.base_url)) as chat:
        return list(read_over(rows, Reader(chat), picture_of)), server


def test_the_choice_becomes_the_answer_without_confidence() -> None:
    (found,), server = read_rows([row("a.jpg")], choosing("Northern Cardinal", "seen"))
    assert found.answer == RowAnswer(
        rank="species", name="Cardinalis cardinalis", common_name="Northern Cardinal", confidence=None,
        family="Northern Cardinal family", order="Passeriformes",
    )  # fmt: skip
    assert found.status == "identified"
    assert (found.reader.choice, found.reader.reason) == ("cardinalis-cardinalis", "seen")
    assert server.calls[0].images == [b"\xff\xd8\xffa.jpg"]
    (found,), _ = read_rows([row("a.jpg")], '{"reason": "a heron", "answer": "none"}')
    assert (found.answer, found.status) == (RowAnswer(rank="none", name=""), "not_sure")
    assert (found.reader.choice, found.reader.agreement) == (None, 1.0)


def test_of_several_birds_the_model_sees_the_one_of_the_row() -> None:
    birds = [row("a.jpg", bird=number, n_birds=2, box=Box(9 * number, 0, 20, 20)) for number in (1, 2)]
    _, server = read_rows([*birds, row("b.jpg", box=Box(1, 0, 20, 20))], '{"answer": "A"}')
    pictures = sorted(call.images[0].removeprefix(b"\xff\xd8\xff") for call in server.calls)
    assert pictures == [b"a.jpg 18", b"a.jpg 9", b"b.jpg"], "one bird: the whole photo"


def test_an_error_cancels_the_other_samples() -> None:
    cancelled = []

    class Rejecting:
        async def reply(self, request: Any) -> Any:
            cancelled.append(False)
            number = len(cancelled)
            if number == 1:
                raise MissingRequirement("API key required", hint="")
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                cancelled[number - 1] = True
                raise

    with pytest.raises(MissingRequirement, match="API key required"):
        wait_for(Reader(Rejecting(), n_samples=5).read(JPEG, CANDIDATES))  # type: ignore[arg-type]
    assert cancelled == [False, *[True] * 4]


def test_refused_replies_and_unreadable_photos_keep_the_answer() -> None:
    (refused,), _ = read_rows([row("a.jpg")], Answer(text=None, refusal="No."))
    assert (refused.answer, refused.status) == (row("a.jpg").answer, "identified")
    assert (refused.reader.agreement, refused.reader.answered, len(refused.reader.failures)) == (0.0, 0, 1)

    def broken(path: Any, _: Any) -> None:
        raise BadImage(f"{path} is gone")

    with OpenAIServer("?") as server, Connection(Endpoint(model="m", base_url=server.base_url)) as chat:
        (gone,) = read_over([row("a.jpg")], Reader(chat), broken)
    assert (gone.answer, gone.reader.reason) == (row("a.jpg").answer, "the reader failed: a.jpg is gone")
    assert (gone.reader.samples, gone.reader.answered, gone.reader.failures) == (0, 0, ("a.jpg is gone",))
    bad = Identification(image="x.jpg", status="error", error="truncated")
    found, server = read_rows([bad, row("y.jpg", candidates=())], "?")
    assert ([each.reader for each in found], server.n_calls) == ([None, None], 0)


def test_rows_keep_their_order_while_requests_run_in_parallel() -> None:
    together = threading.Barrier(4)

    def script(call: Any) -> Any:
        if call.number <= 4:
            together.wait(120)  # passes only if four are in flight at a time
        return choosing("Blue Jay")(call)

    images = [f"{i}.jpg" for i in range(AHEAD + 5)]
    found, _ = read_rows([row(image) for image in images], script)
    assert [each.image for each in found] == images


def test_the_cost_limit_ends_the_stream_after_finished_rows() -> None:
    replies = iter([ChatReply(text='{"answer": "A"}', model="m")])

    class Expensive:
        name = "expensive"

        async def reply(self, request: Any) -> Any:
            for reply in replies:
                return reply
            raise CostStop("the next request could pass 1 cent")

    stream = read_over([row("a.jpg"), row("b.jpg")], Reader(Expensive()), picture_of)  # type: ignore[arg-type]
    assert next(stream).reader.agreement == 1.0
    with pytest.raises(CostStop):
        next(stream)
