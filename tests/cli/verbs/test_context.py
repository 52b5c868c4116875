"""`kb context`: single queries, files of queries, a wiki, a web search and a model."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.servers.faulty_wiki import FaultyWiki
from tests.servers.openai_server import Answer, Call, OpenAIServer

NOTHING = "Nothing found.\nNot explained: frog, zorblin\n"
ZORB = "<p>A <b>zorblin</b> is a gland of frogs that swells in spring.</p><h2>Description</h2><p>It is a red knob.</p>"


@pytest.fixture
def own_kb(built_kb: Path, tmp_path: Path) -> Path:
    return shutil.copytree(built_kb, tmp_path / "own.kb")


def test_each_query_of_a_file_gets_one_output_line(cli: Any, built_kb: Path, tmp_path: Path) -> None:
    for name, content, ids in (
        ("q.txt", "frogs in amplexus\n\na table\n", [None, None]),
        ("q.jsonl", '{"query_id": "7", "text": "frogs in amplexus", "candidates": []}\n{"text": "a table"}\n',
         ["7", None]),
    ):  # fmt: skip
        (tmp_path / name).write_text(content)
        found = cli.call("context", "--kb", built_kb, "--file", name, check=True).stdout.splitlines()
        rows = [json.loads(line) for line in found]
        assert [(row.get("query_id"), row["query"], row["found"]) for row in rows] == [
            (ids[0], "frogs in amplexus", True), (ids[1], "a table", False),
        ]  # fmt: skip


def test_finding_nothing_is_no_error_and_a_misspelt_name_gets_a_suggestion(cli: Any, built_kb: Path) -> None:
    for query, text in (
        ("xqzzt vbrrk", "Nothing found.\nNot explained: xqzzt vbrrk\n"),
        ("frogs in amplxus", 'Nothing found. Did you mean "amplexus"?\n'),
    ):
        assert cli.call("context", query, "--kb", built_kb, check=True).stdout == text


def test_a_wiki_page_is_fetched_once_and_stored(cli: Any, own_kb: Path) -> None:
    with FaultyWiki().running() as wiki:
        wiki.pages["Zorblin"] = wiki.wikitext["Zorblin"] = ZORB
        command = ("context", "frog with a zorblin", "--kb", own_kb)
        assert cli.call(*command, check=True).stdout == NOTHING
        assert wiki.requests == []
        not_stored = cli.call(*command, "--api-url", wiki.api_url, "--no-store", check=True).stdout
        assert "Zorblin: A zorblin is a gland of frogs that swells in spring." in not_stored
        assert cli.call(*command, check=True).stdout == NOTHING
        first = cli.call(*command, "--api-url", wiki.api_url, check=True).stdout
        assert first == not_stored
        n_requests = len(wiki.requests)
        assert cli.call(*command, "--api-url", wiki.api_url, "--no-wiki", check=True).stdout == first
        assert cli.call(*command, check=True).stdout == first
        assert len(wiki.requests) == n_requests


def test_an_optional_source_that_fails_costs_only_itself(cli: Any, own_kb: Path, tmp_path: Path) -> None:
    """The rest of the passage comes, with exit code 7; where the search is to be asked always, the query fails."""
    with OpenAIServer(Answer(text="A zorblin is a", finish="error")) as server:
        (tmp_path / "fieldmark.toml").write_text(f'[llm.search]\nmodel = "s"\nbase_url = "{server.base_url}"\n')
        query = ("context", "frogs in amplexus with a zorblin", "--kb", own_kb)
        found = cli.call(*query)
        assert found.exit_code == 7
        assert "amplexus" in found.stdout.lower() and "Not explained: zorblin" in found.stdout
        assert cli.call(*query, "--web").exit_code == 6
        offline = cli.call(*query, "--offline")
        assert offline.exit_code == 7 and "amplexus" in offline.stdout.lower() and "No cached reply" in offline.stderr
        assert cli.call(*query, "--offline", "--web").exit_code == 3
        server.script = lambda _: Answer(text="A zorblin is a gland.", more={"citations": ["https://a.example/z"]})
        assert "A zorblin is a gland." in cli.call(*query, check=True).stdout, "half an answer was not kept"


def test_wiki_options_override_the_settings(cli: Any, own_kb: Path, tmp_path: Path) -> None:
    with FaultyWiki().running() as wiki:
        wiki.pages["Zorblin"] = wiki.wikitext["Zorblin"] = ZORB
        (tmp_path / "fieldmark.toml").write_text(f'api_url = "{wiki.api_url}"\ncontact = "file@example.org"\n')
        query = ("context", "frog with a zorblin", "--kb", own_kb)
        assert cli.call(*query, "--no-wiki", check=True).stdout == NOTHING
        known = ("context", "frogs in amplexus", "--kb", own_kb)
        cli.call(*known, check=True)
        cli.call(*known, "--set", "context.wiki=always", "--no-wiki", check=True)
        assert wiki.requests == []
        cli.call(*known, "--set", "context.wiki=always", check=True)
        assert wiki.requests
        found = cli.call(*query, "--wiki", "--contact", "flag@example.org", "--store", check=True).stdout
        assert "A zorblin is a gland" in found
        assert "flag@example.org" in wiki.headers[-1]["User-Agent"]
        assert cli.call(*query, "--no-wiki", check=True).stdout == found


def settings(server: OpenAIServer, *kinds: str) -> str:
    return "".join(
        f'[llm.{kind}]\nmodel = "m"\nbase_url = "{server.base_url}"\nprice_in = 1.0\nprice_out = 1.0\n'
        for kind in kinds
    )


def test_unsupported_sentences_of_the_model_are_dropped(cli: Any, built_kb: Path, tmp_path: Path) -> None:
    def script(call: Call) -> str:
        assert "The embrace of frogs and toads" in call.text
        made = [
            {"text": "In amplexus the male frog clasps the female from behind.", "sources": [1]},
            {"text": "It lasts 12 hours.", "sources": [1]},
        ]
        return json.dumps({"sentences": made})

    with OpenAIServer(script) as server:
        (tmp_path / "fieldmark.toml").write_text(settings(server, "text"))
        found = cli.call("context", "frogs in amplexus", "--kb", built_kb, "--max-cost", "1", check=True).stdout
        assert "In amplexus the male frog clasps the female from behind. [1]" in found
        assert "12 hours" not in found
        plain = cli.call("context", "frogs in amplexus", "--kb", built_kb, "--no-model", check=True).stdout
        assert plain.startswith("Amplexus: The embrace") and "without a model" not in plain
        again = cli.call("context", "frogs in amplexus", "--kb", built_kb, "--offline", check=True).stdout
        other = cli.call("context", "toads in amplexus", "--kb", built_kb, "--offline", check=True)
        assert (again, server.n_calls, "No cached reply of m@" in other.stderr) == (found, 1, True)


def test_a_required_model_without_a_usable_reply_is_an_error_after_the_passage(
    cli: Any, built_kb: Path, tmp_path: Path
) -> None:
    command = ("context", "--kb", built_kb)
    made = {"text": "In amplexus the male frog clasps the female from behind.", "sources": [1]}
    with OpenAIServer('{"sentences": []}') as server:
        (tmp_path / "fieldmark.toml").write_text(settings(server, "text"))
        relaxed = cli.call(*command, "frogs in amplexus", check=True)
        strict = cli.call(*command, "frogs in amplexus", "--model")
        assert (strict.exit_code, strict.stdout) == (6, relaxed.stdout)
        assert "(assembled from the sources, without a model)" in strict.stdout
        assert "is put together without the model" in strict.stderr

        # One of two passages is written; a query that nothing explains has none.
        refusal = Answer(text=None, refusal="No.")
        server.script = lambda call: json.dumps({"sentences": [made]}) if "embrace" in call.text else refusal
        (tmp_path / "q.txt").write_text("toads in amplexus\na hawk with a yellow cere\na zorblin\n")
        some = cli.call(*command, "--file", "q.txt", "--format", "text", "--model")
        assert (some.exit_code, "clasps the female from behind. [1]" in some.stdout) == (7, True)


def test_a_web_search_is_cited_whole_and_stored_and_its_cost_is_limited(cli: Any, own_kb: Path, tmp_path: Path) -> None:
    text = "An albino robin is white all over. Its eyes are pink [2].\n\nA leucistic one keeps dark eyes [1][3]."
    pages = [f"https://web.example/{i}" for i in (1, 2, 3)]
    answer = Answer(text=text, more={"citations": pages}, input_tokens=3000, output_tokens=3000)
    command = ("context", "albino zorb robin", "--kb", own_kb)
    with OpenAIServer(answer) as server:
        (tmp_path / "fieldmark.toml").write_text(settings(server, "search"))
        assert cli.call(*command, "--no-web", check=True).stdout != (first := cli.call(*command, check=True).stdout)
        assert first.startswith(text.split("\n")[0]) and "\n(answer of m, 20" in first
        assert "  [1] https://web.example/1\n" in first
        assert cli.call(*command, "--no-web", check=True).stdout == first
        (tmp_path / "fieldmark.toml").write_text(settings(server, "search", "text"))
        found = json.loads(cli.call(*command, "--format", "json", "--set", "context.kb=never", check=True).stdout)
        assert (found["passage"], [source["url"] for source in found["sources"]]) == (text, pages)
        assert (found["written_by"], found["unexplained"], server.n_calls) == ("m", ["zorb"], 1)
        # The estimate of the search is $0.0045 and its cost $0.006; the rest of $0.007 is too little for the model.
        (tmp_path / "q.txt").write_text("frog with a zorblin\nfrogs in amplexus\n")
        outcome = cli.call("context", "--file", "q.txt", "--kb", own_kb, "--max-cost", "0.007")
        assert (outcome.exit_code, server.n_calls) == (7, 2)
        assert "$0.0060 of $0.007 are spent" in outcome.stderr and "1 call, cost $0.0060" in outcome.stderr


def test_settings_and_flags_choose_when_the_web_is_searched(
    cli: Any, own_kb: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with OpenAIServer("Amplexus is an embrace.") as server:
        for number, (table, more, n_calls) in enumerate((
            ("", (), 0),
            ("", ("--web",), 1),
            ("", ("--set", "context.web=always", "--no-web"), 0),
            ("", ("--set", "context.order=web,kb,wiki"), 1),
            ("[context]\nweb = 'always'\n", (), 1),
        )):  # fmt: skip
            monkeypatch.setenv("FIELDMARK_HOME", str(tmp_path / f"home{number}"))  # without kept replies
            (tmp_path / "fieldmark.toml").write_text(settings(server, "search") + table)
            n_before = server.n_calls
            cli.call("context", "frogs in amplexus", "--kb", own_kb, "--no-store", *more, check=True)
            assert server.n_calls - n_before == n_calls, (table, more)


def test_what_cannot_be_done_is_refused_with_a_reason(cli: Any, built_kb: Path, tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_text("a,b\n1,2\n")
    for arguments, code, message in (
        ((), 2, "Expected either a QUERY or --file FILE"),
        (("amplexus", "--file", "q.csv"), 2, "Expected either a QUERY or --file FILE"),
        (("amplexus", "--set", "context.web=often"), 2, "one of always, if-needed, never"),
        (("amplexus", "--set", "context.order=kb,web"), 2, "each once, got kb, web"),
        (("--file", "q.csv"), 5, "q.csv"),
        (("amplexus", "--model"), 3, "[llm.text]"),
        (("amplexus", "--web"), 3, "[llm.search]"),
        (("a zorblin", "--api-url", "http://127.0.0.1:9/api.php"), 7, "127.0.0.1"),
    ):
        outcome = cli.call("context", *arguments, "--kb", built_kb)
        assert (outcome.exit_code, message in outcome.stderr) == (code, True), (arguments, outcome.stderr)
