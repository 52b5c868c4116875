"""Kinds of the COCO data set, in the order of the detector's classes.

Source: Lin et al., Microsoft COCO, ECCV 2014.
"""

from __future__ import annotations

from typing import Final

BIRD: Final = "bird"
CLASSES: Final = {
    BIRD: "Aves",
    **dict.fromkeys(
        ("person", "cat", "dog", "horse", "sheep", "cow", "elephant", "bear", "zebra", "giraffe"), "Mammalia"
    ),
}
"""Kind of animal -> its class."""
_NAMES: Final = """
person, bicycle, car, motorcycle, airplane, bus, train, truck, boat, traffic light, fire hydrant, stop sign,
parking meter, bench, bird, cat, dog, horse, sheep, cow, elephant, bear, zebra, giraffe, backpack, umbrella,
handbag, tie, suitcase, frisbee, skis, snowboard, sports ball, kite, baseball bat, baseball glove, skateboard,
surfboard, tennis racket, bottle, wine glass, cup, fork, knife, spoon, bowl, banana, apple, sandwich, orange,
broccoli, carrot, hot dog, pizza, donut, cake, chair, couch, potted plant, bed, dining table, toilet, tv, laptop,
mouse, remote, keyboard, cell phone, microwave, oven, toaster, sink, refrigerator, book, clock, vase, scissors,
teddy bear, hair drier, toothbrush
"""
KINDS: Final = tuple(" ".join(_NAMES.split()).split(", "))
