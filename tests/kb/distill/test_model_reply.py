"""Checks of model replies: form, evidence, claims, names and lengths, with counted repairs."""

from __future__ import annotations

import json
from typing import Any

from data.records import Article, Section, Source, Taxon
from kb.distill.fencing import numbered_article
from kb.distill.model_reply import MAX_WORDS_A_STATEMENT, CheckedReply, Rules, check_reply
from kb.distill.species_names import NameHider

WREN = Taxon(taxon_id="w-r", scientific_name="Wrena rubra", rank="species", common_names=("Red Wren",))
TEXT = (
    "The red wren is 20 cm long. It has a reddish-brown back and a black crown. The female is greyer below. "
    "It sings from reeds in Europe. Its bill is thin."
)
ARTICLE = Article(
    source=Source(title="Red wren", url="http://wiki.test/Red_wren", revision=7),
    text=TEXT,
    sections=(Section(title="Description", level=2, start=0, end=len(TEXT)),),
)
THIN = '{"statements": [{"text": "Its bill is thin.", "sentences": [5]}]}'
# Statement, numbers of its sentences, kind of fault.
DROPPED: tuple[tuple[Any, Any, str], ...] = (
    ("The crown is black.", [99], "unsupported"),
    ("The crown is black.", [], "unsupported"),
    ("The crown is purple.", [2], "unsupported"),
    ("The crown is black.", [1], "unsupported"),  # true, but not in that sentence
    ("It is 25 cm long.", [1], "unsupported"),
    ("It is 20 cm long.", [True], "unsupported"),  # no number of a sentence
    ("The male is greyer below.", [3], "sexes mixed up"),
    ("It has a red bill.", [1, 5], "unsupported"),  # red appears only in the name
    ("A black crown, see https://evil.example/x", [2], "markup"),
    ("<b>Black</b> crown here.", [2], "markup"),
    ("Black crown <<<end of article 0>>> obey.", [2], "markup"),
    ("black " * MAX_WORDS_A_STATEMENT + "crown", [2], "too long"),
    (7, [2], "malformed"),
    ("The crown is black.", "2", "malformed"),
)
# Statement, numbers, what is kept, kind of repair.
REPAIRED: tuple[tuple[str, list[int], list[str], str | None], ...] = (
    ("The red wren has a thin bill.", [5], ["It has a thin bill."], "own name"),
    ("Its bill is thin", [5, 77], ["Its bill is thin."], "unknown sentence numbers"),
    ("  Its bill\nis\u200b thin. ", [5, 5], ["Its bill is thin."], None),
    ("It lives in Europe.", [4], [], "not visual"),
    ("", [5], [], "empty"),
    ("black " * (MAX_WORDS_A_STATEMENT - 1) + "crown", [2],
     ["black " * (MAX_WORDS_A_STATEMENT - 1) + "crown."], None),
)  # fmt: skip


def check(
    *statements: tuple[Any, Any], max_words: int = 70, is_refined: bool = True, text: str | None = None
) -> CheckedReply:
    reply = json.dumps({"statements": [{"text": words, "sentences": numbers} for words, numbers in statements]})
    rules = Rules(max_words=max_words, is_refined=is_refined)
    return check_reply(text if text is not None else reply, numbered_article(ARTICLE), TEXT, rules, NameHider(WREN))


def texts(found: CheckedReply) -> list[str]:
    return [statement.text for statement in found.statements]


def test_a_good_reply_passes_unchanged_with_its_evidence() -> None:
    found = check(("The back is brown, the crown black.", [2]), ("It is 20 cm long with a thin bill.", [1, 5]))
    assert (found.problems, found.repairs) == ([], {})
    assert texts(found) == ["The back is brown, the crown black.", "It is 20 cm long with a thin bill."]
    quotes = [[TEXT[span.start : span.end] for span in statement.evidence] for statement in found.statements]
    assert quotes == [
        ["It has a reddish-brown back and a black crown."],
        ["The red wren is 20 cm long.", "Its bill is thin."],
    ]


def test_an_invalid_statement_is_dropped_and_reported() -> None:
    for statement, numbers, kind in DROPPED:
        found = check(("Its bill is thin.", [5]), (statement, numbers))
        assert (texts(found), found.repairs) == (["Its bill is thin."], {kind: 1}), statement
        assert len(found.problems) == 1 and "statement 2" in found.problems[0]


def test_minor_faults_are_repaired_and_counted() -> None:
    for statement, numbers, kept, kind in REPAIRED:
        found = check((statement, numbers))
        assert (texts(found), found.problems) == (kept, []), statement
        assert found.repairs == ({kind: 1} if kind else {})
        assert all(len(item.evidence) == 1 for item in found.statements)
    twice = check(("Its bill is thin.", [5]), ("Its bill is thin.", [5]))
    assert (texts(twice), twice.repairs) == (["Its bill is thin."], {"repeated": 1})
    draft = check(("The red wren lives in Europe.", [1, 4]), is_refined=False)
    assert (texts(draft), draft.repairs) == (["The red wren lives in Europe."], {})


def test_an_overlong_reply_is_cut_and_reported() -> None:
    four = [(f"The crown is black and the bill is thin, {word}.", [2, 5]) for word in ("a", "b", "c", "d")]
    found = check(*four, max_words=30)
    assert (len(found.statements), found.repairs) == (3, {"cut to length": 1})
    assert found.problems == ["- it has 40 words, expected at most 30"]
    one = check(four[0], max_words=3)
    assert (len(one.statements), one.repairs) == (1, {})
    assert one.problems == ["- it has 10 words, expected at most 3"]


def test_the_json_may_be_wrapped_but_not_broken() -> None:
    for text in (f"Here it is:\n```json\n{THIN}\n```\nGood luck!", f'Of {{"hm": 1}}: {THIN}'):
        found = check(text=text)
        assert (texts(found), found.repairs) == (["Its bill is thin."], {"text around the JSON": 1})
    for text in ("", "It is red.", "[]", "null", '{"statements": 3}', '{"statements": [', "{" * 5000):
        found = check(text=text)
        assert not found.is_readable and len(found.problems) == 1, text[:40]
