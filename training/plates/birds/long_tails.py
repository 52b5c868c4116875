"""Songbirds with long tails: magpie and swallow."""

from __future__ import annotations

from training.plates.birds.songbirds import spine
from training.plates.drawing.anatomy import Bird, Eye, Legs, Tail, Wing, on_body, on_head, patch, slender
from training.plates.drawing.palette import ink, mix


def eurasian_magpie() -> Bird:
    """Black and white with a blue sheen on the wing and a very long green-glossed tail."""
    black = ink("black")
    build = tuple((x + 9, y - 5, r * 0.9) for x, y, r in spine(head=10.0))
    return Bird(
        spine=build,
        body=2,
        colour=black,
        bill=slender(ink("black"), length=0.95, depth=0.3),
        eyes=(Eye(at=(0.34, -0.12)),),
        patches=(on_body("-1.6,0 -0.5,0.1 0.45,0.2 0.9,0.55 0.6,1.5 -0.4,1.5 -1.1,1", ink("white"), soft=0.8),),
        wing=Wing(
            shoulder=(65.5, 41),
            tip=(36, 63),
            coverts=ink("midnight"),
            flight=ink("royal blue"),
            edge=ink("midnight"),
            covert_edge=ink("black"),
            patches=(patch("-0.02,-0.22 0.2,-0.25 0.42,-0.19 0.36,-0.05 0.12,-0.02 0,-0.08", ink("white"), soft=0.5),),
        ),
        tail=Tail(
            base=(47, 58),
            end=(5, 86),
            colour=mix(ink("bottle green"), ink("black"), 0.35),
            edge=ink("black"),
            tip="graduated",
            width=0.12,
            spread=0.16,
        ),
        legs=Legs(hip=(55, 60), foot=(58, 82), colour=ink("soot"), apart=4.5, thigh=4.2, thigh_colour=black),
    )


def barn_swallow() -> Bird:
    """Glossy blue above, rust face and throat, cream below, long forked tail."""
    blue = ink("royal blue")
    build = tuple((x + 6, y - 3, r * 0.84) for x, y, r in spine(head=11.0))
    return Bird(
        spine=build,
        body=2,
        colour=blue,
        bill=slender(ink("black"), length=0.34, depth=0.16),
        eyes=(Eye(at=(0.32, -0.12), radius=0.19, iris=ink("black")),),
        patches=(
            on_body("-1.6,0.1 -0.4,0.15 0.6,-0.05 1.5,0 1.6,1.3 0,1.6 -1.6,1.3", ink("cream"), soft=1.2),
            on_head("-0.35,1.25 0,0.9 0.8,0.8 1.3,1.1 1.4,1.7 0.6,1.9", blue, soft=0.8),
            on_head("-0.1,0.95 0.1,0.35 0.55,0.1 0.8,-0.05 1.1,0.3 1.15,0.95 0.7,1.3 0.1,1.25", ink("rust"), soft=0.6),
            on_head("0.5,-0.35 0.85,-0.75 1.1,-0.3 0.9,-0.12", ink("rust"), soft=0.5),
        ),
        wing=Wing(
            shoulder=(62, 43),
            tip=(25, 77),
            depth=0.3,
            coverts=blue,
            flight=ink("soot"),
            edge=ink("slate"),
            covert_edge=ink("blue"),
        ),
        tail=Tail(
            base=(42, 61),
            end=(14, 93),
            colour=ink("midnight"),
            edge=ink("slate"),
            tip="forked",
            width=0.13,
            spread=0.26,
            bars=(),
        ),
        legs=Legs(hip=(52, 64), foot=(54, 80), colour=ink("soot"), apart=3.5, width=0.9),
        ground_y=80,
    )
