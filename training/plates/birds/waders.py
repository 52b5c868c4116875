"""Long legs and necks: heron and flamingo."""

from __future__ import annotations

from training.plates.drawing.anatomy import (
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


def great_blue_heron() -> Bird:
    """Tall, blue grey, white face with a black plume, dagger bill, long neck in a curve."""
    grey = ink("blue grey")
    return Bird(
        spine=(
            (22, 56, 2.5),
            (30, 53, 6),
            (40, 48, 9.5),
            (50, 43, 9.5),
            (58, 38, 6),
            (63.5, 33, 4.2),
            (63, 26.5, 3.4),
            (58.5, 20.5, 3.0),
            (58.5, 13.5, 3.0),
            (64.5, 9.5, 4.3),
        ),
        body=2,
        colour=grey,
        bill=slender(ink("amber"), length=3.7, depth=0.34),
        eyes=(Eye(at=(0.4, -0.12), radius=0.2, iris=ink("yellow")),),
        crest_feathers=(((-0.2, -0.55), (-3.9, 0.5), 0.36), ((-0.2, -0.4), (-3.3, 1.1), 0.3)),
        crest_colours=(ink("black"), ink("soot")),
        patches=(
            on_sheet("52,8 62,8 64,18 67,26 69,36 58,40 56,30", mix(ink("pale grey"), ink("flesh"), 0.35), soft=1),
            on_sheet("60.5,14 63,15 61.5,19.5 68,26 68,36 63,44 63.5,33 62.5,26 59.5,20", ink("white"), soft=0.5),
            Marks(
                kind="streaks",
                outline=path("0.9,0.9 2.2,0.2 2.6,-1 2.9,-0.6 2.4,0.8 1.2,1.4"),
                colour=ink("soot"),
                n=26,
                length=0.25,
                width=0.5,
            ),
            on_head("-1.3,0.1 -0.9,-1.2 0.5,-1.2 1.2,-0.3 1.1,0.9 0,1.1 -1,0.9", ink("white"), soft=0.4),
            on_head("-1.4,-0.2 -0.6,-0.75 0.3,-0.62 0.45,-0.38 -0.4,-0.3 -1.2,0.3", ink("black"), soft=0.3),
            on_sheet("52,34 58,33 60,40 55,44 51,41", ink("soot"), soft=1.2),
        ),
        wing=Wing(
            shoulder=(55, 38),
            tip=(20, 58),
            depth=0.44,
            coverts=grey,
            flight=ink("slate"),
            edge=lighter(grey, 0.3),
            covert_edge=lighter(grey, 0.25),
            drop=0.03,
        ),
        over=(on_sheet("57,40 59,43 60,53! 58,48 57,56! 55.5,48 53,56! 54,44", lighter(grey, 0.35)),),
        tail=Tail(base=(27, 54), end=(16, 61), colour=ink("slate"), edge=grey, width=0.4, spread=0.5),
        legs=Legs(
            hip=(42, 54),
            foot=(44, 93),
            colour=ink("horn"),
            kind="wading",
            width=1.3,
            apart=6,
            ankle=2.2,
            thigh=2.8,
            thigh_colour=ink("rust"),
        ),
        setting="water",
        ground_y=92,
        texture=0.12,
    )


def american_flamingo() -> Bird:
    """Pink-red all over, very long legs and neck, bent bill with a black tip."""
    pink = mix(ink("salmon"), ink("pink"), 0.35)
    return Bird(
        spine=(
            (28, 52, 3),
            (34, 49, 7),
            (43, 46, 10),
            (52, 43, 8.5),
            (58, 38, 4.4),
            (61, 31, 2.7),
            (58, 24, 2.3),
            (54, 18, 2.2),
            (55, 11, 2.3),
            (60, 7.8, 2.6),
            (64.5, 10.5, 3.9),
        ),
        body=2,
        colour=pink,
        bill=Bill(
            upper=path("0.5,-0.5 1.1,-0.2 1.6,0.5 1.75,1.5 1.4,2.3! 1.25,1.6 1,0.9 0.5,0.4!"),
            lower=path("0.4,0.2! 1.05,0.75 1.35,1.6 1.42,2.25! 0.85,2 0.4,1.2 0.25,0.7"),
            upper_colour=ink("cream"),
            lower_colour=ink("pink"),
            patches=(patch("0.3,1.42 1.2,1.22 2,1 2,2.6 0.3,2.6", ink("black")),),
        ),
        eyes=(Eye(at=(0.25, -0.2), radius=0.2, iris=ink("lemon"), pupil=0.5),),
        patches=(on_body("-1,0.4 0.2,0.4 1,0.5 0.6,1.2 -0.8,1.2", ink("pink"), soft=3),),
        wing=Wing(
            shoulder=(55, 40),
            tip=(22, 55),
            depth=0.52,
            coverts=mix(pink, ink("red"), 0.25),
            flight=pink,
            edge=mix(pink, ink("red"), 0.4),
            covert_edge=lighter(pink, 0.3),
            drop=0.02,
            patches=(patch("0.84,-0.06 1.05,0 1,0.12 0.86,0.12", ink("black"), soft=0.6),),
        ),
        tail=Tail(base=(31, 51), end=(21, 56), colour=pink, edge=lighter(pink, 0.3), width=0.5, spread=0.6),
        legs=Legs(hip=(45, 54), foot=(47, 95), colour=ink("salmon"), kind="webbed", width=1.2, apart=5.5, ankle=1.6),
        setting="water",
        ground_y=94,
    )
