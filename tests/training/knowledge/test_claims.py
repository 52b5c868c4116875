from training.knowledge.claims import read_claims

CLAIMS: dict[str, set[tuple[str, ...]]] = {
    "Bird with a bright yellow chest and belly.": {("breast", "yellow"), ("belly", "yellow")},
    "Bird with a black head, wings, and tail.": {("head", "black"), ("wings", "black"), ("tail", "black")},
    "Bird with two white wing bars.": {("wingbars", "white")},
    "Bird with dark streaks on the flanks and back.": {("flanks", "streaked"), ("back", "streaked")},
    "Female bird with an olive-green upper body.": {("upperparts", "female", "olive-green")},
    "The male has a red crown, the female a grey belly.": {("crown", "male", "red"), ("belly", "female", "grey")},
    "A small, stocky bird.": {("bird", "small"), ("body", "stocky")},
    # lines about one part
    "back: olive-brown with faint streaks": {("back", "olive-brown"), ("back", "streaked")},
    "throat: white, contrasting with the darker breast": {("throat", "white")},
    "eyes: dark brown, surrounded by a white eye-ring": {("eyes", "brown"), ("eyering", "white")},
    "tail: short, green with black tips": {("tail", "short"), ("tail", "green"), ("tailtip", "black")},
    # juveniles, winter plumage and comparisons
    "Juveniles have a brown head.": set(),
    "It lacks the white rump of its relatives.": set(),
    "It has a longer black bill than the other species.": set(),
    "In winter the head is white.": set(),
    "Bird that is often found in green forests with white sand.": set(),
    "": set(),
}


def claims_of(sentence: str) -> set[tuple[str, ...]]:
    return {
        (claim.part, *((claim.sex,) if claim.sex != "both" else ()), claim.values[0])
        for claim in read_claims([sentence])
        if claim.aspect != "shade"
    }


def test_claims_of_sentences_and_of_lines_about_one_part() -> None:
    assert {sentence: claims_of(sentence) for sentence in CLAIMS} == CLAIMS
