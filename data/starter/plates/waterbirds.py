"""Birds of the water's edge: duck, heron, flamingo, puffin, penguin, kingfisher."""

from __future__ import annotations

from data.starter.plates.anatomy import (
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
from data.starter.plates.palette import darker, ink, lighter, mix

DUCK_UPPER, DUCK_LOWER = (
    path("0.6,-0.34 1.1,-0.3 1.65,0 2.3,0.12 2.5,0.3 2.2,0.42 1.3,0.34 0.65,0.32!"),
    path("0.65,0.28! 1.3,0.34 2.25,0.42 1.6,0.52 0.7,0.5"),
)


def mallard_male() -> Bird:
    """Green head, white collar, brown breast, grey body, yellow bill, curled black tail."""
    grey = ink("pale grey")
    return Bird(
        spine=(
            (17, 58, 3),
            (26, 57, 9),
            (38, 57, 14),
            (51, 57, 15),
            (61, 54, 11.5),
            (67, 46, 7.2),
            (70, 38, 7),
            (73, 31, 8.6),
        ),
        body=3,
        colour=grey,
        bill=Bill(
            upper=DUCK_UPPER,
            lower=DUCK_LOWER,
            upper_colour=ink("lemon"),
            lower_colour=ink("yellow"),
            patches=(patch("2.3,0.05 2.6,0.1 2.6,0.45 2.32,0.4", ink("soot")),),
        ),
        eyes=(Eye(at=(0.28, -0.2), radius=0.15),),
        patches=(
            on_body("-2.7,-1 -1.85,-0.9 -1.7,0 -2,0.8 -2.8,0.8", ink("black"), soft=1),
            on_sheet("11,50 21,49 21,66 10,64", ink("white"), soft=1),
            on_sheet("57,39 76,44 80,60 68,70 56,68 54,56", mix(ink("chestnut"), ink("dark brown"), 0.35), soft=2),
            on_sheet("58,44.5 66,40 78,44 80,49 70,49.5 60,49", ink("white"), soft=0.3),
            on_sheet("58,18 90,18 90,42 78,45.5 68,45 60,42.5", ink("bottle green"), soft=0.3),
            on_head("-0.7,-0.6 0.2,-0.9 0.7,-0.5 -0.1,-0.25", ink("green"), soft=2.2),
        ),
        wing=Wing(
            shoulder=(60, 53),
            tip=(19, 55),
            depth=0.36,
            coverts=mix(grey, ink("olive brown"), 0.35),
            flight=ink("olive brown"),
            edge=ink("sand"),
            covert_edge=ink("pale grey"),
            patches=(
                patch("0.42,0.08 0.66,0.02 0.68,0.13 0.45,0.19", ink("white")),
                patch("0.45,0.095 0.64,0.045 0.655,0.115 0.47,0.165", ink("royal blue")),
            ),
        ),
        tail=Tail(
            base=(22, 57), end=(6, 53), colour=ink("white"), edge=ink("pale grey"), width=0.5, spread=0.6, tip="wedge"
        ),
        over=(on_sheet("22,50 16,48.5 13,45 15.5,42.5 17.5,44.5! 15.8,45.2 18,47 23,48", ink("black")),),
        legs=Legs(hip=(47, 70), foot=(48, 83), colour=ink("orange"), kind="webbed", width=1.9, apart=7),
        setting="ground",
        ground_y=83,
    )


def mallard_female() -> Bird:
    """Mottled brown all over, dark line through the eye, blue speculum, orange and brown bill."""
    brown = mix(ink("sand"), ink("brown"), 0.35)
    male = mallard_male()
    dark = ink("dark brown")
    return male.changed(
        colour=brown,
        bill=Bill(
            upper=DUCK_UPPER,
            lower=DUCK_LOWER,
            upper_colour=ink("orange"),
            lower_colour=ink("orange"),
            patches=(patch("0.9,-0.5 1.5,-0.2 2,0.05 1.8,0.25 1.2,0.1", ink("brown"), soft=0.5),),
        ),
        patches=(
            on_sheet("58,18 90,18 90,42 78,44 68,44 60,42", ink("sand"), soft=1.5),
            Marks(
                kind="scales",
                outline=path("-2.6,-0.8 -0.5,-1.1 0.9,-1 1.2,0.2 0.6,1.1 -1,1.1 -2.5,0.6"),
                colour=dark,
                n=230,
                length=0.2,
                width=0.7,
            ),
            on_head("-0.9,-0.6 -0.3,-1.1 0.6,-0.9 0.8,-0.45 0,-0.62", dark, soft=0.8),
            on_head("-0.9,-0.25 0.2,-0.32 0.9,-0.12 0.9,0.02 0.1,-0.08 -0.8,-0.05", dark, soft=0.5),
        ),
        wing=Wing(
            shoulder=(60, 53),
            tip=(19, 55),
            depth=0.36,
            coverts=ink("brown"),
            flight=dark,
            edge=ink("sand"),
            covert_edge=ink("sand"),
            patches=male.wing.patches,
        ),
        tail=Tail(
            base=(22, 57), end=(6, 54), colour=ink("sand"), edge=ink("brown"), width=0.5, spread=0.6, tip="wedge"
        ),
        over=(),
    )


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


def atlantic_puffin() -> Bird:
    """Black above, white below, pale grey face, tall striped red, yellow and blue grey bill, orange feet."""
    black = ink("black")
    return Bird(
        spine=((33, 72, 4), (38, 67, 11), (46, 58, 17), (52, 46, 16), (57, 35, 12), (60, 26, 11.5)),
        body=2,
        colour=black,
        bill=Bill(
            upper=path("0.62,-0.72 1.2,-0.72 1.75,-0.2 1.92,0.5! 1.3,0.32 0.66,0.3!"),
            lower=path("0.66,0.26! 1.3,0.3 1.88,0.48! 1.5,0.78 1,0.92 0.64,0.8"),
            upper_colour=ink("rust"),
            lower_colour=ink("rust"),
            patches=(
                patch("0.5,-0.9! 1.08,-0.9! 1.2,0.1 1.05,1.1! 0.5,1.1!", ink("blue grey")),
                patch("0.5,-0.9! 0.74,-0.9! 0.8,0.1 0.72,1.1! 0.5,1.1!", ink("lemon")),
                patch("1.1,-0.9! 1.2,-0.9! 1.32,0.1 1.15,1.1! 1.06,1.1! 1.22,0.1", ink("lemon")),
                patch("1.42,-0.7! 1.47,-0.7! 1.6,0.2 1.44,1! 1.38,1! 1.53,0.2", darker(ink("red"), 0.2)),
            ),
            over=True,
        ),
        eyes=(Eye(at=(0.24, -0.12), radius=0.13, iris=ink("dark brown"), ring=ink("red"), ring_width=0.45),),
        patches=(
            on_sheet("50,78 42,84 36,76 44,66 56,48 62,42 74,44 72,62 62,76", ink("white"), soft=0.8),
            on_head(
                "-0.62,0.05 -0.35,-0.5 0.3,-0.72 0.95,-0.5 1.1,0.3 0.7,0.85 0,0.9 -0.5,0.6",
                lighter(ink("pale grey"), 0.4),
                soft=0.6,
            ),
            on_head("0.02,-0.3 0.24,-0.46 0.46,-0.22 0.24,0.02", ink("slate"), soft=0.3),
            on_head("-0.6,0.08 -0.2,0.06 0.1,-0.02 -0.15,0.14 -0.55,0.16", ink("slate"), soft=0.3),
        ),
        wing=Wing(
            shoulder=(53, 47),
            tip=(31, 76),
            depth=0.4,
            coverts=black,
            flight=black,
            edge=ink("soot"),
            covert_edge=ink("soot"),
        ),
        tail=Tail(base=(36, 71), end=(28, 80), colour=black, edge=ink("soot"), width=0.6, spread=0.7),
        legs=Legs(hip=(47, 72), foot=(47, 84), colour=ink("orange"), kind="webbed", width=2.4, apart=8),
        setting="rock",
        ground_y=84,
    )


def king_penguin() -> Bird:
    """Upright, silver grey back, black head, orange ear patch and upper breast, white below."""
    grey = mix(ink("slate"), ink("blue grey"), 0.4)
    return Bird(
        spine=(
            (45, 84, 6),
            (46, 74, 13.5),
            (47, 60, 15.5),
            (49, 45, 13),
            (51, 31, 8.8),
            (53, 22, 7.0),
            (55, 16.5, 6.8),
        ),
        body=2,
        colour=grey,
        bill=slender(ink("black"), lower=ink("orange"), length=1.7, depth=0.24, bend=0.35),
        eyes=(Eye(at=(0.25, -0.1), radius=0.15),),
        patches=(
            on_sheet("51,33 64,32 66,60 63,82 52,92 44,88 49,72 50,50", ink("white"), soft=0.6),
            on_sheet("52,28 63,27 65,44 58,48 52,42", ink("amber"), soft=5),
            on_sheet("51.5,28 62,28 62,35 56,37 51.5,35", ink("orange"), soft=2.5),
            on_sheet("40,20 48,8 66,8 66,24 61,29.5 54,30 48.5,31.5 44,30", ink("black"), soft=0.4),
            on_sheet("48.2,21 50.2,17.5 52.6,19.5 52.4,24 53,29 56,32.5 52,33.5 49.6,28", ink("orange"), soft=0.4),
            on_sheet("49.5,35 51,34 50.6,48 50,66 48.8,66 49,50", ink("soot"), soft=0.4),
        ),
        wing=Wing(
            shoulder=(47, 38),
            tip=(42, 72),
            depth=0.24,
            coverts=grey,
            flight=darker(grey, 0.2),
            edge=grey,
            covert_edge=lighter(grey, 0.12),
            n=5,
        ),
        tail=Tail(base=(43, 84), end=(34, 91), colour=ink("soot"), edge=ink("slate"), width=0.6, spread=0.5),
        legs=Legs(hip=(49, 88), foot=(49, 91), colour=ink("soot"), kind="webbed", width=3, apart=7),
        setting="ground",
        ground_y=92,
        texture=0.06,
    )


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
