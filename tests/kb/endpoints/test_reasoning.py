"""Reasoning and answer of a reply: all forms in which models send thoughts."""

import math
import time

import pytest

from data.records import TokenLogprobs
from kb.endpoints.answer import separated, tokens_of_answer


@pytest.mark.parametrize(
    ("text", "thoughts", "answer"),
    [
        ("No.", "", "No."),
        (" No.", "", " No."),
        ("<think>Yes?</think>No.", "Yes?", "No."),
        ("<THINKING>\nYes?\n</Thinking>\nNo.", "Yes?", "No."),
        ("Yes? Yes. </think>No.", "Yes? Yes.", "No."),  # a template opened the reasoning
        ("[THINK]Yes?[/THINK]No.", "Yes?", "No."),
        ("◁think▷Yes?◁/think▷No.", "Yes?", "No."),
        ("<seed:think>Yes?</seed:think>No.", "Yes?", "No."),
        ("<|channel|>analysis<|message|>Yes?<|end|><|start|>assistant<|channel|>final<|message|>No.",
         "Yes?<|end|><|start|>assistant", "No."),
        ("<think></think>\n\nNo.", "", "No."),
        ("No.<|end|>", "", "No."),
        ("<|begin_of_box|>No.<|end_of_box|>", "", "No."),
        ("<think>Yes?</think><answer>No.</answer>", "Yes?", "No."),
        ("<think>one</think>Hm.<think>two</think>No.", "oneHm.two", "No."),
        ("<think>Yes? It has a", "Yes? It has a", None),  # cut off while thinking
        ("<think>one</think>No.<think>or", "one\nor", None),
        ("", "", ""),
    ],
)  # fmt: skip
def test_the_answer_is_the_text_after_all_reasoning(text: str, thoughts: str, answer: str | None) -> None:
    assert separated(text) == (thoughts, answer)


def tokens(*texts: str) -> list[TokenLogprobs]:
    return [TokenLogprobs(token=text, logprob=math.log(0.5)) for text in texts]


@pytest.mark.parametrize(
    ("given", "answer", "kept"),
    [
        (("Yes", "?", "No", "."), "No.", ["No", "."]),
        (("Yes", "</think>", "\n\n", "No"), "No", ["No"]),
        (("Hm", "▁No", "▁way"), "No way", ["▁No", "▁way"]),
        (("No",), "No", ["No"]),
        (("Hm", "</think>", "No", "<|im_end|>"), "No", ["No"]),
        (("Yes", "?"), "No", None),
        ((), "No", None),
    ],
)
def test_the_tokens_of_the_answer_are_the_last_ones(
    given: tuple[str, ...], answer: str, kept: list[str] | None
) -> None:
    found = tokens_of_answer(tokens(*given), answer)
    assert (None if found is None else [token.token for token in found]) == kept


def test_thoughts_between_the_marks_of_more_models_are_no_answer() -> None:
    for reply in (
        "<|START_THINKING|>A crest. No?<|END_THINKING|><|START_RESPONSE|>Yes<|END_RESPONSE|>",
        "<|begin_of_thought|>\nA crest. No?\n<|end_of_thought|>\n\n<|begin_of_solution|>\nYes\n<|end_of_solution|>",
        "analysisA crest. No?assistantfinalYes",
        "<|channel|>analysis<|message|>A crest. No?<|end|><|start|>assistant<|channel|>final<|message|>Yes<|return|>",
        "<|channel|>analysis<|message|>A crest. No?<|end|>Yes",
        "<thoughts>A crest. No?</thoughts>Yes",
        "<|channel>thought\nA crest. No?<channel|>Yes",
        "<|channel|>analysis<|message|>A crest. No?<|end|><|channel|>final <|constrain|>json<|message|>Yes",
    ):
        thoughts, answer = separated(reply)
        assert thoughts.startswith("A crest. No?") and answer == "Yes", reply
    for cut in ("<|START_THINKING|>A crest. Yes", "<|begin_of_thought|>Yes", "analysisWe see a crest. Yes"):
        assert separated(cut)[1] is None, cut
    assert separated("B <reasoning>It has a crest.</reasoning>") == ("It has a crest.", "B")


def test_a_reply_of_endless_blanks_is_read_in_no_time() -> None:
    text = '{"a": 1,' + " \n" * 100_000 + "x"
    began = time.process_time()
    assert separated(text) == ("", text)
    assert time.process_time() - began < 5


def test_ordinary_words_are_no_marks_of_thoughts() -> None:
    for text in (
        "The <reasoning> tag is odd. No.",
        '{"answer": "No", "reason": "no </think> here"}',
        "analysis of the plumage: a crest",
        "The final analysis: Yes",
        "An assistant: final",
        "No.<|end|>\n\nWhat is a crest?",
    ):
        assert separated(text) == ("", text)
