"""Accuracy of `kb search` on descriptions as birders write them, made from the shipped facts by a seeded generator.

    python -m benchmarks.descriptions [--half tuning|held-back]

Each of 400 species with a text and enough facts gives one description of two to four marks in everyday words ("chest",
"tummy", "rusty", British or American spelling); one in ten has a misspelt word. The wording below is the benchmark's
own. Species are in the tuning half or the held-back half by the hash of their ids; weights of the search are chosen on
the tuning half alone. Right is the species of the description, or any species with the same facts; in the second row
any species that has all marks of the description. Intervals are bootstrapped.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal

import kb
import recognize
from cli.verbs.demo import DESCRIPTIONS
from data.metrics.ranked import hit, measure, reciprocal_rank
from data.starter.knowledge import Fact, StarterSpecies, read_species
from kb.lookup.search import search
from training.tables import markdown

N_DESCRIPTIONS = 400
SEED = 8
SHARE_MISSPELT = 0.1
DEPTH = 50
"""Number of answers in which the right species is looked for."""

Half = Literal["tuning", "held-back"]
Mark = tuple[str, str]
"""A part and one of its colours or shapes."""

# British spelling; American spelling is made from it. The first word is the fact's own.
COLOURS: dict[str, tuple[str, ...]] = {
    "white": ("white", "white", "whitish", "pure white"),
    "black": ("black", "black", "blackish", "jet black"),
    "brown": ("brown", "brown", "brownish"),
    "grey": ("grey", "grey", "greyish", "ashy grey"),
    "yellow": ("yellow", "yellow", "yellowish", "bright yellow", "golden"),
    "green": ("green", "green", "greenish"),
    "red": ("red", "red", "reddish", "bright red", "scarlet"),
    "blue": ("blue", "blue", "bluish"),
    "rufous": ("rufous", "rusty", "reddish brown", "rust-coloured", "orange-brown", "orange"),
    "rust": ("rusty", "reddish brown", "rust-coloured", "orange"),
    "chestnut": ("chestnut", "reddish brown", "dark reddish-brown"),
    "olive-green": ("olive green", "olive", "greenish", "dull green"),
    "olive": ("olive", "olive green", "greenish brown"),
    "olive-brown": ("olive brown", "brownish olive", "brown"),
    "blue-grey": ("blue-grey", "bluish grey", "slate grey", "greyish blue"),
    "grey-brown": ("grey-brown", "greyish brown", "brownish grey", "drab brown"),
    "orange": ("orange", "orange", "bright orange", "orangey"),
    "orange-red": ("orange-red", "reddish orange", "orange"),
    "pink": ("pink", "pinkish", "rosy"),
    "buff": ("buff", "tan", "beige", "light brown", "sandy"),
    "yellow-green": ("yellow-green", "greenish yellow", "yellowish green"),
    "blue-green": ("blue-green", "teal", "greenish blue"),
    "cream": ("cream", "creamy", "off-white"),
    "purple": ("purple", "violet"),
    "turquoise": ("turquoise", "blue-green"),
}
PARTS: dict[str, tuple[str, ...]] = {
    "bill": ("bill", "beak"),
    "belly": ("belly", "belly", "stomach", "tummy"),
    "tail": ("tail",),
    "breast": ("breast", "chest"),
    "back": ("back",),
    "legs": ("legs", "feet"),
    "underparts": ("underparts", "underside"),
    "upperparts": ("upperparts", "upper body"),
    "throat": ("throat",),
    "wings": ("wings",),
    "head": ("head",),
    "crown": ("crown", "top of the head"),
    "nape": ("nape", "back of the neck"),
    "eyes": ("eyes",),
    "neck": ("neck",),
    "cap": ("cap",),
    "face": ("face",),
    "rump": ("rump",),
    "crest": ("crest",),
    "cheek": ("cheeks",),
    "collar": ("collar",),
    "mask": ("mask", "mask through the eyes"),
    "forehead": ("forehead",),
    "shoulder": ("shoulders",),
    "wingbars": ("wing bars", "bars on the wings"),
}
WHOLE = ("body", "bird", "plumage")
SHAPES: dict[str, tuple[str, ...]] = {
    "long": ("long", "long", "very long"),
    "short": ("short", "short", "stubby"),
    "streaked": ("streaked", "streaky", "heavily streaked"),
    "barred": ("barred",),
    "spotted": ("spotted", "speckled", "spotty"),
    "striped": ("striped", "stripy"),
    "mottled": ("mottled", "blotchy"),
    "pointed": ("pointed", "sharp", "pointy"),
    "hooked": ("hooked",),
    "conical": ("conical", "cone-shaped"),
    "stout": ("thick", "stout", "heavy", "chunky"),
    "straight": ("straight",),
    "glossy": ("glossy", "shiny"),
    "forked": ("forked", "swallow-like"),
    "webbed": ("webbed",),
    "feathered": ("feathered",),
    "thin": ("thin", "slender", "fine"),
    "slender": ("slender", "slim"),
    "square-ended": ("square",),
    "broad": ("broad", "wide"),
    "rounded": ("rounded", "round"),
    "wedge-shaped": ("wedge-shaped",),
    "small": ("small", "little"),
    "large": ("large", "big"),
    "medium-sized": ("medium-sized",),
    "stocky": ("stocky", "chunky"),
    "plump": ("plump", "round"),
}
AMERICAN = (("grey", "gray"), ("coloured", "colored"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """A description, the species that it was made from, and its marks."""

    text: str
    taxon_id: str
    marks: tuple[Mark, ...]


def half_of(taxon_id: str) -> Half:
    """Return the half of a species by the hash of its id."""
    return "held-back" if sha256(taxon_id.encode()).digest()[0] % 2 else "tuning"


def marks_of(species: StarterSpecies) -> list[tuple[Mark, Fact]]:
    """Return the marks of a species, each part's colours as they stand in the fact, then its shapes."""
    found = []
    for fact in species.facts:
        for value in (*fact.colours, *filter(None, fact.shape.split(", "))):
            part = "bird" if fact.part in WHOLE else fact.part
            if (part in PARTS or part == "bird") and (value in COLOURS or value in SHAPES):
                found.append(((part, value), fact))
    return found


def make_descriptions(species: Sequence[StarterSpecies], *, n: int = N_DESCRIPTIONS) -> list[Description]:
    """Return one description of each of `n` species with a text and three marks or more, in a seeded order."""
    random_ = random.Random(SEED)
    usable = [one for one in species if one.text and len({mark for mark, _ in marks_of(one)}) >= 3]
    random_.shuffle(usable)
    return [describe(one, random_) for one in usable[:n]]


def describe(species: StarterSpecies, random_: random.Random) -> Description:
    """Return a description of two to four marks of a species, as a birder would type it."""
    marks = list(dict.fromkeys(mark for mark, _ in marks_of(species)))
    chosen = random_.sample(marks, min(len(marks), random_.choice((2, 3, 3, 4))))
    shades = {(mark, fact.shade) for mark, fact in marks_of(species) if fact.shade in ("dark", "pale")}
    by_part: dict[str, list[str]] = {}
    for mark in chosen:
        part, value = mark
        word = random_.choice(COLOURS.get(value) or SHAPES[value])
        shade = next((shade for of, shade in sorted(shades) if of == mark), "")
        if shade and value in COLOURS and random_.random() < 0.5:
            word = f"{random_.choice(('light', 'pale')) if shade == 'pale' else shade} {word}"
        by_part.setdefault(part, []).append(word)
    whole = by_part.pop("bird", [])
    phrases = [_phrase(random_.choice(PARTS[part]), words, random_) for part, words in by_part.items()]
    text = _sentence(" ".join(whole), phrases, random_)
    if random_.random() < 0.5:
        for british, american in AMERICAN:
            text = text.replace(british, american)
    if random_.random() < SHARE_MISSPELT:
        text = misspell(text, random_)
    return Description(text=text, taxon_id=species.taxon.taxon_id, marks=tuple(chosen))


def _phrase(part: str, words: Sequence[str], random_: random.Random) -> str:
    joined = " and ".join(words) if random_.random() < 0.5 else ", ".join(words)
    if random_.random() < 0.25:
        verb = "are" if part.endswith("s") else "is"
        return f"{part} {verb} {' and '.join(words)}"
    return f"{joined} {part}"


def _sentence(whole: str, phrases: Sequence[str], random_: random.Random) -> str:
    if not phrases:
        return f"{whole} bird"
    are_plain = not any(" is " in phrase or " are " in phrase for phrase in phrases)
    listed = ", ".join(phrases)
    if whole or (are_plain and random_.random() < 0.6):
        bird = f"{whole} bird".strip()
        ending = f"{', '.join(phrases[:-1])} and {phrases[-1]}" if len(phrases) > 1 else phrases[0]
        opening = random_.choice(("{} with {}", "{}, {}", "a {} with {}", "saw a {} with {}"))
        return opening.format(bird, ending if "with" in opening and are_plain else listed)
    return listed


def misspell(text: str, random_: random.Random) -> str:
    """Return a text with one letter of one long word dropped, doubled, or swapped with the next one."""
    words = text.split()
    long_words = [i for i, word in enumerate(words) if len(word.strip(",")) >= 5]
    if not long_words:
        return text
    i = random_.choice(long_words)
    word = words[i]
    at = random_.randrange(1, len(word.strip(",")) - 1)
    kinds = (word[:at] + word[at + 1 :], word[:at] + word[at] + word[at:],
             word[:at] + word[at + 1] + word[at] + word[at + 2 :])  # fmt: skip
    words[i] = random_.choice([kind for kind in kinds if kind != word])
    return " ".join(words)


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", choices=("tuning", "held-back"), default="tuning", help="half to measure")
    parser.add_argument("--show", type=int, default=0, metavar="N", help="number of descriptions to print")
    options = parser.parse_args()
    half: Half = options.half
    species = read_species()
    facts = {one.taxon.taxon_id: one.facts for one in species}
    held = {one.taxon.taxon_id: {mark for mark, _ in marks_of(one)} for one in species}
    descriptions = [one for one in make_descriptions(species) if half_of(one.taxon_id) == half]
    for one in descriptions[: options.show]:
        sys.stdout.write(f"{one.taxon_id}: {one.text}\n")
    own, fitting, demo = [], [], []
    encoders = recognize.load_encoders("starter")
    with kb.open(encoders=encoders) as store:
        for one in descriptions:
            found = [match.taxon_id for match in search(store, one.text, encoders.sentence, n=DEPTH)]
            own.append(_rank(found, {i for i in found if facts.get(i) == facts[one.taxon_id]}))
            fitting.append(_rank(found, {i for i in found if held.get(i, set()).issuperset(one.marks)}))
        for text, right in DESCRIPTIONS:
            demo.append(_rank([match.taxon_id for match in search(store, text, encoders.sentence, n=DEPTH)], {right}))
    rows = []
    for name, ranks in (("the species", own), ("all marks true", fitting), ("demo's questions", demo)):
        groups = list(range(len(ranks)))
        values = ([hit(r, 1) for r in ranks], [hit(r, 5) for r in ranks], [reciprocal_rank(r, 10) for r in ranks])
        rows.append([name, str(len(ranks)), *(_cell(value, groups) for value in values)])
    sys.stdout.write("\n".join(markdown([half, "n", "hit@1", "hit@5", "MRR@10"], rows)) + "\n")


def _rank(found: Sequence[str], right: set[str]) -> int | None:
    return next((i for i, taxon_id in enumerate(found, 1) if taxon_id in right), None)


def _cell(values: Sequence[float], groups: Sequence[int]) -> str:
    measured = measure("", values, groups)
    low, high = measured.micro_interval
    return f"{measured.micro:.3f} ({low:.3f} to {high:.3f})"


if __name__ == "__main__":
    main()
