"""Small words of descriptions: those passed over between an adjective and its noun, and nouns for the whole bird."""

from __future__ import annotations

from training.knowledge.parts import word_set

FILLERS = word_set(
    "a an the its their his her very slightly relatively fairly rather quite mostly mainly predominantly "
    "primarily overall distinctive distinct prominent noticeable striking contrasting subtle soft rich warm dull "
    "drab plain uniform uniformly smooth strong sturdy powerful unique entire entirely all two three double "
    "single bold conspicuous characteristic bare featherless naked unfeathered beautiful elegant solid delicate "
    "notable noticeably generally typically usually almost heavily lightly finely faintly boldly clearly well- "
    "defined well-marked adult breeding wholly completely mix mixture combination of hue shade shades tone tones "
    "in pure clean velvety pronounced typical largely medium-length moderately extensive extensively unmarked "
    "fleshy strikingly beady fluffy broadly glowing more less somewhat extremely strongly deeply matching equally "
    "otherwise"
)
"""What says nothing of looks by itself and may stand among words that do."""

PATTERN_NOUNS = word_set(
    "streaks streak streaking striations bars bar barring spots spotting speckles speckling specks scaling "
    "scalloping mottling stripes iridescence gloss sheen"
)
"""Marks as nouns: the colours before them are theirs, not the part's."""

_BIRDS = word_set(
    "bird songbird shorebird seabird waterbird wader raptor passerine hawk owl duck goose gull tern "
    "sandpiper sparrow finch warbler woodpecker wren flycatcher hummingbird dove pigeon plover vireo "
    "tanager thrush swallow"
)
BIRDS = _BIRDS | {f"{noun}s" for noun in _BIRDS}
"""What stands for the whole bird."""
