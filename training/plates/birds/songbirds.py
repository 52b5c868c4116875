"""Perching birds of one build: cardinal, jay, goldfinch, robin, blackbird, blue tit."""

from __future__ import annotations

from training.plates.drawing.anatomy import (
    Bar,
    Bird,
    Eye,
    Legs,
    Tail,
    Wing,
    conical,
    on_body,
    on_head,
    patch,
    path,
    slender,
)
from training.plates.drawing.palette import darker, ink, lighter, mix
from training.plates.drawing.shapes import Disc

PERCHED = Legs(hip=(47, 66), foot=(50, 82), colour=ink("horn"), apart=4.5, thigh=2.8)
BELLY = path("-1.3,0.35 -0.4,0.35 0.5,0.45 1.1,0.3 1.3,1.2 0,1.5 -1.4,1.2")


def spine(*, plump: float = 1.0, head: float = 10.5) -> tuple[Disc, ...]:
    """Return the build of a songbird that perches half upright; the third disc is the middle of the body."""
    return (
        (33, 66, 4.5),
        (40, 60, 10.5 * plump),
        (49, 53, 15.5 * plump),
        (56.5, 44.5, 13.8 * plump),
        (61.5, 36, 10.8),
        (64, 29.5, head),
    )


def northern_cardinal_male() -> Bird:
    """All red, black face, crest, thick orange-red bill."""
    red = ink("cardinal")
    dull = mix(red, ink("dark brown"), 0.35)
    return Bird(
        spine=spine(head=10.2),
        body=2,
        colour=red,
        crest=path("-0.95,0.1 -1.05,-0.6 -0.95,-1.35 -0.72,-2.05! -0.2,-1.45 0.4,-0.98 0.6,-0.4 0,0.2"),
        bill=conical(ink("orange"), lower=mix(ink("orange"), red, 0.4), length=0.72, depth=0.42),
        eyes=(Eye(at=(0.22, -0.2)),),
        patches=(
            on_body(BELLY, lighter(red, 0.06), soft=4),
            on_head(
                "0.3,-0.3 0.62,-0.62 1.1,-0.6 1.2,0.1 1.1,0.9 0.6,1.2 0.2,1 0.3,0.4 0.36,0", ink("black"), soft=0.5
            ),
        ),
        wing=Wing(shoulder=(57, 44), tip=(30, 68), coverts=dull, flight=darker(dull, 0.12), edge=red, covert_edge=red),
        tail=Tail(base=(36, 63), end=(15, 89), colour=dull, edge=red, tip="rounded", width=0.2, spread=0.27),
        legs=PERCHED,
    )


def northern_cardinal_female() -> Bird:
    """Buff-brown with red in crest, wing and tail, orange-red bill."""
    buff, red = mix(ink("buff"), ink("warm brown"), 0.35), mix(ink("cardinal"), ink("warm brown"), 0.25)
    male = northern_cardinal_male()
    return male.changed(
        colour=buff,
        patches=(
            on_body(BELLY, lighter(ink("buff"), 0.15), soft=4),
            on_head("-1.1,-0.7 -0.72,-2.2 -0.1,-1.5 0.4,-1 0,-0.85", red, soft=1.2),
            on_head("0.5,-0.5 1,-0.6 1.2,0.1 0.95,0.7 0.5,0.7 0.5,0.3 0.62,0", ink("soot"), soft=1.2),
        ),
        wing=Wing(
            shoulder=(57, 44),
            tip=(30, 68),
            coverts=ink("warm brown"),
            flight=mix(ink("warm brown"), red, 0.5),
            edge=red,
            covert_edge=buff,
        ),
        tail=Tail(
            base=(36, 63),
            end=(15, 89),
            colour=mix(ink("warm brown"), red, 0.5),
            edge=red,
            tip="rounded",
            width=0.2,
            spread=0.27,
        ),
    )


def blue_jay() -> Bird:
    """Blue above with white and black in wing and tail, a crest, a black necklace on pale grey."""
    blue, sky = ink("blue"), ink("sky blue")
    return Bird(
        spine=spine(head=10.4),
        body=2,
        colour=mix(blue, ink("slate"), 0.15),
        crest=path("-0.95,0.1 -1.1,-0.5 -1.25,-1.1 -1.3,-1.75! -0.5,-1.4 0.35,-0.98 0.6,-0.4 0,0.2"),
        bill=slender(ink("black"), length=0.95, depth=0.26),
        eyes=(Eye(at=(0.3, -0.15), iris=ink("black")),),
        patches=(
            on_body("-1.4,0.1 -0.5,0.15 0.4,-0.1 1.3,-0.2 2.2,0.6 1.2,1.4 0,1.6 -1.5,1.2", ink("pale grey"), soft=2),
            on_body("-1.6,0.5 -0.6,0.6 0.2,0.9 0,1.6 -1.5,1.4", ink("white"), soft=3),
            on_head("-0.45,0.1 0.1,-0.32 0.75,-0.35 0.95,0.1 0.9,0.75 0.4,1.15 -0.3,0.9", ink("white"), soft=0.8),
            on_head(
                "-0.75,-0.5 -0.5,-0.55 -0.35,0.4 0.05,1.15 0.75,1.55 1.2,1.35 1.3,1.75 0.6,2.05 -0.2,1.6 -0.7,0.5",
                ink("black"),
                soft=0.6,
            ),
            on_head("0.2,-0.2 0.7,-0.42 1,-0.3 1,0.05 0.7,-0.05", ink("black"), soft=0.4),
        ),
        wing=Wing(
            shoulder=(57, 44),
            tip=(28, 69),
            coverts=blue,
            flight=sky,
            edge=ink("royal blue"),
            covert_edge=sky,
            bars=(Bar(at=0.5, colour=ink("white"), width=0.06),),
            feather_bars=tuple(Bar(at=at, colour=ink("midnight"), width=0.05) for at in (0.45, 0.6, 0.75, 0.88)),
            patches=(patch("0.6,-0.17 0.74,-0.12 0.76,-0.02 0.63,-0.05", ink("white"), soft=0.5),),
        ),
        tail=Tail(
            base=(36, 63),
            end=(13, 90),
            colour=sky,
            edge=ink("royal blue"),
            tip="rounded",
            width=0.2,
            spread=0.3,
            outer=ink("white"),
            bars=tuple(Bar(at=at, colour=ink("midnight"), width=0.035) for at in (0.35, 0.5, 0.65, 0.8, 0.92)),
        ),
        legs=PERCHED,
    )


def american_goldfinch_male() -> Bird:
    """Bright yellow with a black cap, black wings with white bars, a small pink-orange bill."""
    yellow = ink("yellow")
    return Bird(
        spine=spine(plump=0.98, head=10.6),
        body=2,
        colour=yellow,
        bill=conical(ink("salmon"), lower=ink("flesh"), length=0.55, depth=0.34),
        eyes=(Eye(at=(0.32, -0.1), iris=ink("black")),),
        patches=(
            on_body(BELLY, ink("lemon"), soft=4),
            on_body("-2.2,0.3 -1.2,0.5 -0.9,1.2 -1.8,1.4", ink("white"), soft=2),
            on_head(
                "-0.05,-1.2 0.5,-1 1,-0.55 1.05,-0.02! 0.72,-0.1 0.6,-0.42 0.2,-0.55 -0.15,-0.8", ink("black"), soft=0.4
            ),
        ),
        wing=Wing(
            shoulder=(56.5, 45),
            tip=(30, 67),
            coverts=ink("black"),
            flight=ink("black"),
            edge=ink("pale grey"),
            covert_edge=ink("slate"),
            bars=(Bar(at=0.5, colour=ink("white"), width=0.06), Bar(at=0.33, colour=lighter(yellow, 0.4), width=0.04)),
        ),
        tail=Tail(
            base=(36, 63),
            end=(19, 82),
            colour=ink("black"),
            edge=ink("pale grey"),
            tip="notched",
            width=0.26,
            spread=0.34,
        ),
        legs=Legs(hip=(47, 66), foot=(50, 82), colour=ink("flesh"), apart=4.5, thigh=2.8),
    )


def european_robin() -> Bird:
    """Orange face and breast edged with blue grey, olive-brown above, whitish belly."""
    brown = ink("olive brown")
    return Bird(
        spine=spine(plump=1.08, head=11.2),
        body=2,
        colour=brown,
        bill=slender(ink("soot"), length=0.55, depth=0.14),
        eyes=(Eye(at=(0.28, -0.14), radius=0.19, iris=ink("black")),),
        patches=(
            on_body("-1.5,0.25 -0.4,0.3 0.6,0.3 1.4,0.3 1.3,1.3 0,1.6 -1.6,1.3", lighter(ink("cream"), 0.5), soft=2.5),
            on_head(
                "-0.45,0.4 0,-0.62 0.6,-1 1.15,-0.5 1.3,0.6 1.55,1.9 0.9,2.7 -0.1,2.4 -0.75,1.4",
                ink("blue grey"),
                soft=1.6,
            ),
            on_head(
                "-0.2,0.4 0.12,-0.4 0.6,-0.72 1.1,-0.4 1.4,0.6 1.7,1.9 0.95,2.5 0.05,2.2 -0.45,1.3",
                ink("robin orange"),
                soft=1.0,
            ),
        ),
        wing=Wing(shoulder=(56, 46), tip=(30, 68), coverts=brown, flight=darker(brown, 0.2), edge=lighter(brown, 0.2)),
        tail=Tail(
            base=(36, 64), end=(19, 84), colour=darker(brown, 0.12), edge=lighter(brown, 0.15), width=0.24, spread=0.3
        ),
        legs=Legs(hip=(48, 67), foot=(50.5, 82), colour=ink("warm brown"), apart=4.5, thigh=2.8),
    )


def red_winged_blackbird_male() -> Bird:
    """Glossy black with a red shoulder edged yellow."""
    black = ink("black")
    return Bird(
        spine=spine(plump=0.95, head=9.8),
        body=2,
        colour=black,
        bill=slender(ink("soot"), length=1.05, depth=0.3),
        eyes=(Eye(at=(0.34, -0.12)),),
        patches=(on_body("-0.8,-1.1 0.6,-1.2 0.8,-0.6 -0.6,-0.5", ink("midnight"), soft=4),),
        wing=Wing(
            shoulder=(57, 44),
            tip=(28, 68),
            coverts=black,
            flight=black,
            edge=ink("slate"),
            covert_edge=ink("soot"),
            patches=(
                patch(
                    "-0.05,0.02 0.08,-0.13 0.28,-0.15 0.41,-0.06 0.42,0.1 0.3,0.21 0.06,0.17", ink("yellow"), soft=0.5
                ),
                patch("-0.06,0 0.07,-0.17 0.26,-0.19 0.34,-0.08 0.34,0.08 0.24,0.18 0.04,0.17", ink("red"), soft=0.5),
            ),
        ),
        tail=Tail(base=(36, 63), end=(16, 86), colour=black, edge=ink("slate"), tip="rounded", width=0.22, spread=0.3),
        legs=Legs(hip=(47, 66), foot=(50, 82), colour=ink("soot"), apart=4.5, thigh=2.8),
    )


def eurasian_blue_tit() -> Bird:
    """Blue cap, wing and tail, white face with a black line through the eye, yellow below."""
    blue = ink("blue")
    return Bird(
        spine=spine(plump=1.04, head=11.6),
        body=2,
        colour=mix(ink("olive"), ink("blue grey"), 0.2),
        bill=slender(ink("soot"), length=0.38, depth=0.17),
        eyes=(Eye(at=(0.35, -0.08), radius=0.16, iris=ink("black")),),
        patches=(
            on_body("-1.6,0.1 -0.4,0.05 0.5,-0.15 1.5,-0.2 2,0.9 1,1.5 0,1.6 -1.6,1.2", ink("yellow"), soft=1.5),
            on_head("-1.2,0.1 -1,-0.9 0,-1.3 1,-0.8 1.2,0.1 0.95,0.8 0.2,1 -0.75,0.85", ink("white"), soft=0.3),
            on_head("-0.85,-0.35 -0.7,-0.95 0,-1.3 0.62,-0.95 0.55,-0.6 0.1,-0.52 -0.4,-0.4", blue, soft=0.5),
            on_head(
                "-1.25,-0.1 -0.6,-0.2 0.2,-0.2 1,-0.12 1,0.06 0.2,0.02 -0.6,0.02 -1.2,0.25", ink("midnight"), soft=0.4
            ),
            on_head(
                "-1.3,-0.1 -0.95,0 -0.7,0.7 -0.1,1.05 0.5,0.95 0.95,0.45 1.1,0.6 0.9,1.1 0.2,1.3 -0.7,1.2 -1.2,0.6",
                ink("midnight"),
                soft=0.5,
            ),
        ),
        wing=Wing(
            shoulder=(56, 46),
            tip=(31, 67),
            coverts=blue,
            flight=mix(blue, ink("slate"), 0.45),
            edge=lighter(blue, 0.45),
            bars=(Bar(at=0.5, colour=ink("white"), width=0.055),),
        ),
        tail=Tail(
            base=(36, 64),
            end=(20, 83),
            colour=mix(blue, ink("slate"), 0.3),
            edge=lighter(blue, 0.3),
            tip="notched",
            width=0.26,
            spread=0.3,
        ),
        legs=Legs(hip=(48, 67), foot=(50.5, 82), colour=ink("slate"), apart=4.5, thigh=2.8),
    )
