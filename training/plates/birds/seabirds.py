"""Upright birds of the sea: puffin and penguin."""

from __future__ import annotations

from training.plates.drawing.anatomy import Bill, Bird, Eye, Legs, Tail, Wing, on_head, on_sheet, patch, path, slender
from training.plates.drawing.palette import darker, ink, lighter, mix


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
