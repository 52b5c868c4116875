"""Owls and an eagle."""

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
    hooked,
    on_head,
    on_sheet,
    path,
)
from training.plates.drawing.palette import darker, ink, lighter, mix

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
