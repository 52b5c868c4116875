"""Ducks: the mallard in both plumages."""

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
)
from training.plates.drawing.palette import ink, mix

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
