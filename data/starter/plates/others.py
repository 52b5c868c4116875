"""Owls, an eagle, a hoopoe, a toucan and a woodpecker: each of a build of its own."""

from __future__ import annotations

from data.starter.plates.anatomy import (
    Bar,
    Bill,
    Bird,
    Eye,
    Legs,
    Marks,
    Tail,
    Wing,
    hooked,
    on_body,
    on_head,
    on_sheet,
    patch,
    path,
    slender,
)
from data.starter.plates.palette import darker, ink, lighter, mix

FACING_BILL = Bill(
    upper=path("-0.09,0.12 0,0.04 0.09,0.12 0.12,0.32 0,0.55! -0.12,0.32"),
    lower=path("-0.05,0.3 0.05,0.3 0.03,0.44 -0.03,0.44"),
    upper_colour=ink("soot"),
    lower_colour=ink("soot"),
    over=True,
)


def snowy_owl() -> Bird:
    """White with dark bars, yellow eyes, round head without tufts, feathered feet."""
    white = ink("white")
    return Bird(
        spine=((43, 84, 8), (44, 74, 15.5), (46, 61, 19.5), (49, 47, 19), (51, 35, 15.5), (52, 27, 14.8)),
        body=2,
        colour=white,
        bill=FACING_BILL,
        eyes=(
            Eye(at=(-0.16, -0.05), radius=0.16, iris=ink("yellow"), pupil=0.5, ring=ink("soot"), ring_width=0.25),
            Eye(at=(0.44, -0.05), radius=0.16, iris=ink("yellow"), pupil=0.5, ring=ink("soot"), ring_width=0.25),
        ),
        patches=(
            Marks(
                kind="bars",
                outline=path("-1.2,-0.1 -0.2,-0.35 0.9,-0.3 1,0.5 0.2,0.95 -1.1,0.7"),
                colour=mix(ink("soot"), white, 0.25),
                n=70,
                length=0.16,
                width=0.6,
            ),
            Marks(
                kind="spots",
                on="head",
                outline=path("-0.95,-0.2 -0.5,-0.95 0.3,-1 0.9,-0.5 0.2,-0.55 -0.5,-0.4"),
                colour=ink("grey"),
                n=26,
                length=0.1,
                width=0.4,
            ),
            on_head(
                "-0.5,-0.05 -0.3,-0.4 0.1,-0.2 0.14,0.05 0.2,-0.2 0.6,-0.4 0.82,-0.05 0.62,0.45 0.14,0.75 -0.35,0.45",
                lighter(ink("pale grey"), 0.55),
                soft=1.2,
            ),
        ),
        bill_offset=(0.14, 0.0),
        wing=Wing(
            shoulder=(42, 42),
            tip=(33, 86),
            depth=0.42,
            coverts=white,
            flight=white,
            edge=ink("pale grey"),
            covert_edge=ink("grey"),
            feather_bars=tuple(Bar(at=at, colour=ink("slate"), width=0.035) for at in (0.5, 0.64, 0.78, 0.9)),
        ),
        tail=Tail(
            base=(40, 80),
            end=(33, 95),
            colour=white,
            edge=ink("pale grey"),
            width=0.6,
            spread=0.7,
            tip="rounded",
            bars=(Bar(at=0.7, colour=ink("slate"), width=0.05),),
        ),
        legs=Legs(
            hip=(49, 84),
            foot=(50, 89),
            colour=ink("soot"),
            kind="talons",
            width=1.6,
            apart=9,
            thigh=4.6,
            thigh_colour=white,
        ),
        setting="rock",
        ground_y=88,
        texture=0.05,
    )


def western_barn_owl() -> Bird:
    """White heart-shaped face, dark eyes, golden buff above, white below."""
    gold = mix(ink("sand"), ink("amber"), 0.35)
    white = ink("white")
    return Bird(
        spine=((45, 80, 6), (45, 71, 11.5), (46.5, 59, 15), (49, 46, 14.5), (51, 36, 12.5), (52, 27.5, 13.2)),
        body=2,
        colour=white,
        bill=Bill(
            upper=FACING_BILL.upper,
            lower=FACING_BILL.lower,
            upper_colour=ink("flesh"),
            lower_colour=ink("flesh"),
            over=True,
        ),
        bill_offset=(0.14, 0.05),
        eyes=(
            Eye(at=(-0.16, -0.02), radius=0.14, iris=ink("black")),
            Eye(at=(0.44, -0.02), radius=0.14, iris=ink("black")),
        ),
        patches=(
            on_sheet("30,40 40,24 44,34 44,50 38,80 28,80", gold, soft=1.5),
            on_sheet("38,38 46,38 56,40 64,40 60,47 50,44 42,46", lighter(gold, 0.35), soft=2),
            Marks(
                kind="spots",
                outline=path("-1,0 0.9,-0.1 0.9,0.6 0.1,0.9 -1,0.6"),
                colour=ink("brown"),
                n=34,
                length=0.1,
                width=0.34,
            ),
            on_head("-1.2,0.6 -1.1,-0.6 -0.3,-1.2 0.6,-1.2 1.2,-0.5 1.2,0.6 0.6,1.2 -0.5,1.2", gold, soft=0.3),
            on_head(
                "-0.75,0.1 -0.72,-0.5 -0.35,-0.82 0.02,-0.72 0.14,-0.5! 0.26,-0.72 "
                "0.62,-0.82 0.96,-0.5 0.98,0.1 0.7,0.62 0.14,1 -0.45,0.62",
                ink("warm brown"),
                soft=0.3,
            ),
            on_head(
                "-0.68,0.1 -0.65,-0.46 -0.33,-0.74 0,-0.64 0.14,-0.36! 0.28,-0.64 "
                "0.6,-0.74 0.9,-0.46 0.91,0.1 0.64,0.56 0.14,0.92 -0.4,0.56",
                white,
                soft=0.3,
            ),
            on_head("0.06,-0.3 0.22,-0.3 0.24,0.1 0.14,0.2 0.04,0.1", ink("cream"), soft=0.8),
            on_head("-0.1,0.02 0,0 0.06,0.2 -0.05,0.16", ink("sand"), soft=0.4),
            on_head("0.38,0.02 0.28,0 0.22,0.2 0.33,0.16", ink("sand"), soft=0.4),
        ),
        wing=Wing(
            shoulder=(42, 42),
            tip=(38, 88),
            depth=0.34,
            coverts=gold,
            flight=gold,
            edge=lighter(gold, 0.35),
            covert_edge=ink("grey"),
            feather_bars=tuple(Bar(at=at, colour=ink("brown"), width=0.03) for at in (0.5, 0.64, 0.78, 0.9)),
        ),
        tail=Tail(base=(44, 76), end=(41, 91), colour=lighter(gold, 0.3), edge=ink("cream"), width=0.5, spread=0.5),
        legs=Legs(
            hip=(48, 76),
            foot=(50, 86),
            colour=ink("flesh"),
            kind="talons",
            width=1.4,
            apart=6,
            thigh=3.6,
            thigh_colour=white,
        ),
        setting="post",
        ground_y=86,
    )


def bald_eagle() -> Bird:
    """Dark brown with white head and tail, heavy hooked yellow bill."""
    brown = ink("dark brown")
    return Bird(
        spine=((38, 74, 6), (41, 67, 12), (46, 56, 17.5), (51, 43, 16), (55, 31, 11), (58, 22.5, 9.8)),
        body=2,
        colour=brown,
        bill=hooked(ink("yellow"), length=1.05, depth=0.5, cere=ink("lemon")),
        eyes=(Eye(at=(0.38, -0.16), radius=0.14, iris=ink("lemon"), pupil=0.5),),
        patches=(
            Marks(
                kind="scales",
                outline=path("-1.2,-0.4 0.8,-0.6 1.1,0.4 0.2,1 -1.2,0.9"),
                colour=lighter(brown, 0.16),
                n=120,
                length=0.2,
                width=0.6,
            ),
            on_head(
                "-1.5,-1.2 0.5,-1.8 1.6,-0.6 1.5,1.4 1.1,1.75 0.8,1.35 "
                "0.5,1.85 0.2,1.4 -0.2,1.85 -0.5,1.35 -1,1.7 -1.4,1",
                ink("white"),
                soft=0.3,
            ),
            on_head("0.1,-0.36 0.5,-0.42 0.85,-0.22 0.8,-0.14 0.45,-0.3", ink("grey"), soft=0.4),
        ),
        wing=Wing(
            shoulder=(50, 40),
            tip=(32, 84),
            depth=0.42,
            coverts=brown,
            flight=darker(brown, 0.35),
            edge=lighter(brown, 0.2),
            covert_edge=lighter(brown, 0.22),
        ),
        tail=Tail(
            base=(39, 72),
            end=(31, 94),
            colour=ink("white"),
            edge=ink("pale grey"),
            width=0.45,
            spread=0.55,
            tip="rounded",
        ),
        legs=Legs(
            hip=(48, 72),
            foot=(50, 84),
            colour=ink("yellow"),
            kind="talons",
            width=2.2,
            apart=7,
            thigh=5.0,
            thigh_colour=darker(brown, 0.1),
        ),
        ground_y=85,
        texture=0.14,
    )


def common_hoopoe() -> Bird:
    """Pinkish buff, fan crest with black tips, black and white barred wings, long thin curved bill."""
    buff = mix(ink("buff"), ink("rust"), 0.28)
    fan = tuple(((0.1 - 0.12 * i, -0.75 + 0.1 * i), (0.75 - 0.62 * i, -2.75 + 0.07 * i * i), 0.52) for i in range(6))
    return Bird(
        spine=((28, 66, 3.5), (36, 61, 8.5), (46, 55, 12.5), (55, 48, 11.5), (61, 41, 8.2), (65, 35, 7.8)),
        body=2,
        colour=buff,
        bill=slender(ink("soot"), length=2.7, depth=0.2, bend=0.9),
        eyes=(Eye(at=(0.3, -0.12), radius=0.17, iris=ink("black")),),
        crest_feathers=tuple(reversed(fan)),
        crest_colours=(mix(ink("orange"), buff, 0.5), ink("black")),
        patches=(on_body("-1.9,0.5 -0.6,0.6 0.3,0.9 0,1.5 -1.9,1.3", ink("white"), soft=2.5),),
        wing=Wing(
            shoulder=(56, 46),
            tip=(23, 66),
            depth=0.46,
            coverts=ink("black"),
            flight=ink("black"),
            edge=ink("soot"),
            covert_edge=ink("black"),
            bars=(Bar(at=0.3, colour=ink("white"), width=0.06), Bar(at=0.47, colour=ink("white"), width=0.06)),
            patches=(
                patch("-0.06,-0.3 0.12,-0.34 0.2,0 0.12,0.3 -0.06,0.3", buff, soft=1),
                patch("0.5,-0.3 0.56,-0.3 0.6,0 0.52,0.3 0.46,0.3 0.54,0", ink("white")),
                patch("0.62,-0.3 0.68,-0.3 0.72,0 0.66,0.3 0.6,0.3 0.66,0", ink("white")),
                patch("0.79,-0.3 0.85,-0.3 0.89,0 0.85,0.3 0.78,0.3 0.83,0", ink("white")),
            ),
        ),
        tail=Tail(
            base=(32, 64),
            end=(9, 77),
            colour=ink("black"),
            edge=ink("soot"),
            width=0.3,
            spread=0.36,
            patches=(patch("0.5,-0.4 0.64,-0.3 0.6,0 0.64,0.3 0.5,0.4 0.46,0", ink("white")),),
        ),
        legs=Legs(hip=(46, 65), foot=(48, 78), colour=ink("horn"), apart=4.5),
        setting="ground",
        ground_y=78,
    )


def keel_billed_toucan() -> Bird:
    """Black with a lemon bib and a huge rainbow bill: green, orange, blue, red tip."""
    black = ink("black")
    lime = mix(ink("lime"), ink("green"), 0.15)
    return Bird(
        spine=((27, 68, 4), (33, 62, 9), (41, 53, 13.5), (47, 43, 12.5), (51, 34, 10.2), (53, 27, 10.4)),
        body=2,
        colour=black,
        bill=Bill(
            upper=path("0.5,-0.72 1.3,-0.88 2.4,-0.7 3.4,-0.2 3.85,0.55! 3,0.3 1.8,0.16 0.6,0.2!"),
            lower=path("0.6,0.16! 1.8,0.14 3,0.28 3.68,0.5! 3,0.72 1.8,0.76 0.55,0.74"),
            upper_colour=lime,
            lower_colour=lime,
            patches=(
                patch("1,-0.35 2,-0.28 2.6,0 2.2,0.16 1.2,0.16", ink("orange"), soft=1.0),
                patch("1.1,0.34 2.3,0.3 3.1,0.4 2.8,0.9 1.3,0.9", ink("sky blue"), soft=1.0),
                patch("3.15,-0.6 4.1,-0.6 4.1,1.1 3.1,1.1 3.3,0.3", ink("crimson"), soft=0.7),
                patch("0.4,-0.9! 0.7,-0.9! 0.74,0 0.68,0.9! 0.4,0.9!", ink("black")),
            ),
            over=True,
        ),
        eyes=(Eye(at=(0.12, -0.25), radius=0.14, iris=ink("dark brown"), ring=lime, ring_width=0.9),),
        patches=(
            on_head(
                "0.6,-0.85 0.1,-0.65 -0.35,-0.2 -0.5,0.6 -0.3,1.5 0.1,2.1 0.75,2.35 1.35,2 1.3,0.8 1.2,-0.4",
                ink("lemon"),
                soft=0.5,
            ),
            on_head("0.05,2.05 0.7,2.32 1.3,2 1.5,2.25 0.8,2.6 0,2.3", ink("red"), soft=0.4),
            on_sheet("28,72 38,70 38,78 26,76", ink("red"), soft=1.2),
        ),
        wing=Wing(
            shoulder=(48, 43),
            tip=(26, 68),
            depth=0.44,
            coverts=black,
            flight=black,
            edge=ink("soot"),
            covert_edge=ink("soot"),
        ),
        tail=Tail(base=(30, 66), end=(15, 92), colour=black, edge=ink("soot"), width=0.3, spread=0.34),
        legs=Legs(hip=(40, 64), foot=(43, 78), colour=ink("blue grey"), apart=4.5, width=1.6),
        ground_y=78,
    )


def great_spotted_woodpecker() -> Bird:
    """Black and white with a white shoulder patch, red vent, red nape on the male."""
    black = ink("black")
    return Bird(
        spine=((47, 74, 4.5), (46, 66, 9.5), (45.5, 55, 13), (47, 43, 12.5), (50, 33, 9.5), (53, 26, 9.2)),
        body=2,
        colour=lighter(ink("cream"), 0.35),
        bill=slender(ink("slate"), length=1.35, depth=0.24),
        eyes=(Eye(at=(0.32, -0.12), radius=0.15, iris=ink("dark brown")),),
        patches=(
            on_sheet("30,30 44,22 46,34 41,46 40,70 28,70", black, soft=0.8),
            on_sheet("42,66 56,64 54,80 44,80", ink("red"), soft=2),
            on_head("-1.3,0.3 -1,-0.9 0,-1.3 0.8,-0.85 0.95,-0.45 0.3,-0.42 -0.5,-0.4 -0.9,0", black, soft=0.4),
            on_head("-1.25,0.35 -1.15,-0.55 -0.75,-0.75 -0.62,-0.3 -0.85,0.3", ink("red"), soft=0.5),
            on_head(
                "0.95,0.25 0.5,0.42 0,0.6 -0.6,0.55 -1.3,0.35 -1.5,0.9 "
                "-0.6,0.9 -0.1,1 -0.1,1.7 0.3,1.6 0.25,0.9 0.9,0.5",
                black,
                soft=0.4,
            ),
        ),
        wing=Wing(
            shoulder=(45, 40),
            tip=(43, 78),
            depth=0.42,
            coverts=black,
            flight=black,
            edge=ink("soot"),
            covert_edge=black,
            feather_bars=tuple(Bar(at=at, colour=ink("white"), width=0.07) for at in (0.46, 0.62, 0.78, 0.92)),
            patches=(patch("0.06,-0.18 0.26,-0.2 0.46,-0.12 0.44,0.02 0.22,0.06 0.08,-0.02", ink("white"), soft=0.6),),
        ),
        tail=Tail(
            base=(46, 74),
            end=(56, 95),
            colour=black,
            edge=ink("soot"),
            width=0.4,
            spread=0.3,
            tip="wedge",
            outer=ink("white"),
        ),
        legs=Legs(hip=(54, 62), foot=(63, 60), colour=ink("slate"), apart=1.0, width=1.5),
        setting="trunk",
        ground_y=64,
    )
