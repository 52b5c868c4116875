"""Kingfisher, hoopoe, toucan and woodpecker: each of a build of its own."""

from __future__ import annotations

from training.plates.drawing.anatomy import (
    Bar,
    Bill,
    Bird,
    Eye,
    Legs,
    Marks,
    Tail,
    Wing,
    on_body,
    on_head,
    on_sheet,
    patch,
    path,
    slender,
)
from training.plates.drawing.palette import ink, lighter, mix


def common_kingfisher() -> Bird:
    """Turquoise blue above, orange below and on the cheek, white throat and neck spot, dagger bill."""
    blue, orange = ink("turquoise"), ink("rust")
    deep = mix(ink("blue"), blue, 0.35)
    return Bird(
        spine=((36, 73, 4), (40, 67, 9.5), (47, 58, 14), (52, 48, 13.5), (56, 39, 11.5), (59, 32, 11.2)),
        body=2,
        colour=deep,
        bill=slender(ink("black"), length=2.15, depth=0.28),
        eyes=(Eye(at=(0.38, -0.18), radius=0.15, iris=ink("black")),),
        patches=(
            on_sheet("62,43 70,44 68,62 58,76 42,78 40,72 48,62 54,50", mix(orange, ink("orange"), 0.4), soft=0.9),
            on_head("0.1,-0.45 0.6,-0.62 0.92,-0.42 0.95,-0.1 0.5,-0.15", mix(orange, ink("orange"), 0.3), soft=0.4),
            on_head("0.3,0 0.1,0.5 -0.35,0.62 -0.65,0.35 -0.5,0.05 0,-0.05", mix(orange, ink("orange"), 0.3), soft=0.5),
            on_head("-0.6,0.1 -0.72,0.6 -1.1,0.75 -1.15,0.25 -0.9,0", ink("white"), soft=0.4),
            on_head("0.5,0.35 1,0.15 1.1,0.7 0.8,1.25 0.2,1.15 0.2,0.75", ink("white"), soft=0.5),
            on_head("0.95,0.05 0.4,0.3 -0.1,0.75 -0.5,1 -0.3,1.2 0.3,0.85 0.9,0.35", deep, soft=0.5),
            Marks(
                kind="spots",
                on="head",
                outline=path("-0.9,-0.2 -0.6,-0.9 0.1,-1.05 0.6,-0.75 -0.1,-0.45"),
                colour=ink("sky blue"),
                n=34,
                length=0.1,
                width=0.42,
            ),
            on_sheet("40,52 46,44 49,48 43,60 36,70 33,68", lighter(blue, 0.15), soft=1.2),
        ),
        wing=Wing(
            shoulder=(54, 47),
            tip=(34, 74),
            depth=0.44,
            coverts=mix(ink("blue"), blue, 0.4),
            flight=mix(ink("blue"), ink("slate"), 0.25),
            edge=blue,
            covert_edge=lighter(blue, 0.2),
        ),
        tail=Tail(base=(38, 71), end=(30, 83), colour=deep, edge=blue, width=0.45, spread=0.5),
        legs=Legs(hip=(48, 72), foot=(49, 80), colour=ink("red"), apart=4, width=1.3),
        ground_y=80,
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
