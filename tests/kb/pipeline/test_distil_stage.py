import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import kb
from data.contracts import Encoders
from data.errors import CostStop, MissingRequirement, UsageError
from data.records import Status
from kb.endpoints.cache import ReplyCache
from kb.endpoints.chat import Connection
from kb.endpoints.endpoint import Budget, Endpoint
from kb.http import RetryPolicy
from kb.store.ledger import Ledger
from kb.store.stage_outputs import DistilOutput
from tests.pages import PageSource, made_up_taxa
from tests.servers.openai_server import Answer, Call, OpenAIServer, Reaction
from tests.servers.openai_server import Status as HttpStatus
from tests.servers.scripted_distiller import distil, slowly

QUICK = RetryPolicy(tries=2, first_wait_s=0.01)


def connection(server: OpenAIServer, cache: Path, **more: Any) -> Connection:
    endpoint = Endpoint(model="m", base_url=server.base_url, price_in=10.0, price_out=10.0, max_concurrent=4)
    return Connection(endpoint, cache=ReplyCache(cache), retry=QUICK, **more)


def build(path: Path, n: int, encoders: Encoders, server: OpenAIServer, **more: Any) -> tuple[Status, Connection]:
    given = {name: more.pop(name) for name in ("budget", "offline") if name in more}
    with connection(server, path.with_suffix(".sqlite"), **given) as chat:
        return kb.build(path, made_up_taxa(n), PageSource(), encoders, chat=chat, **more), chat


def outputs(path: Path) -> dict[str, DistilOutput]:
    with closing(Ledger(path / "ledger.sqlite", read_only=True)) as ledger:
        return ledger.outputs("distil", DistilOutput)


def summaries(path: Path) -> dict[str, str]:
    return {key: output.summary.text for key, output in outputs(path).items() if output.summary is not None}


def test_a_second_build_makes_no_model_calls(tmp_path: Path, encoders: Encoders) -> None:
    path = tmp_path / "a.kb"
    with OpenAIServer(distil) as server:
        status, chat = build(path, 6, encoders, server)
        assert (status.summaries, status.failures) == (6, ())
        assert server.n_calls == chat.budget.meter.calls == 6
        assert server.most_at_once <= 4
        first = kb.verify(path)
        build(path, 6, encoders, server)
        assert server.n_calls == 6
        with connection(server, tmp_path / "a.sqlite", offline=True) as chat:
            offline = kb.build(tmp_path / "b.kb", made_up_taxa(7), PageSource(), encoders, chat=chat)
        assert (server.n_calls, offline.summaries) == (6, 6)
        assert ["No cached reply" in failure.reason for failure in offline.failures] == [True]
    assert first.ok
    assert kb.verify(path).digest == first.digest
    made = outputs(path)["avis-003"]
    assert made.summary is not None
    assert made.draft is None
    assert made.summary.stage == "refined"
    assert made.summary.distiller.startswith("model/1 m@127.0.0.1")
    assert len(made.summary.prompt_hash or "") == 12
    with kb.open(path) as store:
        text = store.article_text("avis-003") or ""
    statements = [(each.text, [text[span.start : span.end] for span in each.evidence])
                  for each in made.summary.statements]  # fmt: skip
    assert len(statements) == 2
    assert all(quotes == [words] for words, quotes in statements)


def test_two_pass_distilling_stores_both_summaries_and_shares_the_first_pass(
    tmp_path: Path, encoders: Encoders
) -> None:
    """Distillers share cached replies to identical requests, and a knowledge base remembers its distiller."""
    path, taxa = tmp_path / "a.kb", made_up_taxa(3)
    with OpenAIServer(distil) as server, connection(server, tmp_path / "r.sqlite") as chat:
        kb.build(path, taxa, PageSource(), encoders, chat=chat, distiller="model-two-pass")
        kb.build(tmp_path / "b.kb", taxa, PageSource(), encoders, chat=chat, distiller="model-summary")
        assert server.n_calls == 6
        drafts = {key: output.draft.text for key, output in outputs(path).items() if output.draft}
        assert len(drafts) == 3 and summaries(tmp_path / "b.kb") == drafts
        made = outputs(path)["avis-002"]
        assert made.summary is not None and made.draft is not None
        assert (made.draft.stage, made.summary.stage) == ("summary", "refined")
        assert {s.evidence for s in made.summary.statements} <= {s.evidence for s in made.draft.statements}
        with pytest.raises(MissingRequirement, match="model-two-pass needs a language model"):
            kb.build(path, taxa, PageSource(), encoders)
        kb.build(path, made_up_taxa(4), PageSource(), encoders, chat=chat)
        assert server.n_calls == 8
        kb.build(path, made_up_taxa(4), PageSource(), encoders, distiller="extractive")
        assert {each.summary.distiller.split("/")[0] for each in outputs(path).values() if each.summary} == {
            "extractive"
        }


def test_a_failed_page_is_recorded_and_the_build_continues(tmp_path: Path, encoders: Encoders) -> None:
    reactions: dict[str, tuple[Reaction, str]] = {
        "Bird 001": (Answer(text=None, refusal="I do not speak of birds."), "I do not speak of birds"),
        "Bird 002": ("The bird is red.", "not in the requested form"),
        "Bird 003": (
            '{"statements": [{"text": "It has a purple crown.", "sentences": [99]}]}',
            "no part of the reply can be used",
        ),
        "Bird 004": (HttpStatus(status=400, error={"message": "too long"}), "400: too long"),
    }

    def script(call: Call) -> Reaction:
        return next((reaction for name, (reaction, _) in reactions.items() if name in call.text), None) or distil(call)

    path = tmp_path / "a.kb"
    with OpenAIServer(script) as server:
        status, _ = build(path, 7, encoders, server)
    failures = [(failure.taxon, failure.stage) for failure in status.failures]
    assert failures == [(f"Avis 00{number}", "distil") for number in (1, 2, 3, 4)]
    for failure, (_, words) in zip(status.failures, reactions.values(), strict=True):
        assert words in failure.reason
    assert (status.species, status.summaries, status.marks) == (7, 3, {"no-summary": 4})
    kb.build(path, made_up_taxa(7), PageSource(), encoders, distiller="extractive")
    before = summaries(path)
    path.with_suffix(".sqlite").unlink()  # the cached replies
    with OpenAIServer(Answer(text=None, refusal="No.")) as server:
        status, _ = build(path, 7, encoders, server, distiller="model")
    assert (len(status.failures), summaries(path)) == (7, before), "they keep the earlier summaries"


def test_a_rejected_api_key_stops_the_build_at_once(tmp_path: Path, encoders: Encoders) -> None:
    with OpenAIServer(distil, key="sk-right") as server:
        with pytest.raises(MissingRequirement, match="401"):
            build(tmp_path / "a.kb", 60, encoders, server)
        assert server.n_calls <= 32


def test_the_cost_limit_stops_the_build_and_keeps_paid_replies(tmp_path: Path, encoders: Encoders) -> None:
    path = tmp_path / "a.kb"

    def script(call: Call) -> Reaction:
        return slowly((call.number % 3) / 100, call)

    with OpenAIServer(script) as server:
        budget = Budget(0.1)
        with pytest.raises(CostStop, match=r"of \$0\.1 are spent"):
            build(path, 16, encoders, server, budget=budget)
        assert 0 < budget.counted_usd <= 0.1
        n_first = server.n_calls
        done = summaries(path)
        assert 0 < len(done) == n_first < 16
        store = kb.open(path)
        assert len(store.taxon_ids) == n_first  # all paid replies can be used
        store.close()
        assert json.loads(sorted((path / "runs").iterdir())[-1].read_text())["model"]["calls"] == n_first
        status, _ = build(path, 16, encoders, server, budget=Budget(5.0))
        assert server.n_calls == 16
        assert (status.summaries, status.failures) == (16, ())
        build(tmp_path / "whole.kb", 16, encoders, server)
    assert kb.verify(path).digest == kb.verify(tmp_path / "whole.kb").digest


def test_raw_text_distillers_need_no_model_and_an_unknown_one_is_refused(tmp_path: Path, encoders: Encoders) -> None:
    names: tuple[Any, ...] = ("article", "chunks")
    for name in names:
        kb.build(tmp_path / name, made_up_taxa(1), PageSource(), encoders, distiller=name)
        assert all("The song is a loud whistle." in text for text in summaries(tmp_path / name).values())
    with pytest.raises(UsageError, match="Unknown distiller 'magic'"):
        kb.build(tmp_path / "a.kb", made_up_taxa(1), PageSource(), encoders, distiller="magic")  # type: ignore[arg-type]
