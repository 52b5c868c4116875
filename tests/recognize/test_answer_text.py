from dataclasses import replace

from data.records import Answer, Candidate, Reading
from recognize.answers import answer_name, candidate_name, percent, unanswered_text


def test_an_answer_is_put_in_words_and_no_chance_is_rounded_to_none_or_all() -> None:
    assert [percent(chance) for chance in (0.0001, 0.5, 0.999)] == ["under 1 %", "50 %", "over 99 %"]
    for answer, name in (
        (Answer(rank="species", name="Parus major", common_name="Great Tit"), "Great Tit (Parus major)"),
        (Answer(rank="species", name="Parus major"), "Parus major"),
        (Answer(rank="genus", name="Parus"), "Identified to genus: Parus sp."),
        (Answer(rank="genus", name="Parus", common_name="Tits"), "Identified to genus: Tits (Parus sp.)"),
        (Answer(rank="family", name="Paridae"), "Identified to family: Paridae"),
    ):
        assert answer_name(answer) == name
    tit = Candidate(taxon_id="parus-major", scientific_name="Parus major", common_name="Great Tit", score=1.0)
    assert candidate_name(tit) == "Great Tit (Parus major)"
    assert candidate_name(replace(tit, taxon_rank="genus")) == "genus Great Tit (Parus major)"
    reading = Reading(choice=None, agreement=0.0, samples=4, answered=1, failures=("no  reply", "no  reply"))
    assert unanswered_text(reading) == "1 of 4 samples answered (2 failed: no reply; 1 unreadable)"
    assert unanswered_text(replace(reading, answered=4)) == ""
