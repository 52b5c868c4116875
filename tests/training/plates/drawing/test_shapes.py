"""Curves and frames of the drawings."""

from __future__ import annotations

import math

import pytest

from training.plates.drawing.shapes import Frame, along, smooth, sweep, tongue


def test_a_curve_runs_through_its_knots() -> None:
    knots = [(0.0, 0.0), (4.0, 1.0), (5.0, 5.0), (1.0, 4.0)]
    assert set(knots) <= {(round(x, 9), round(y, 9)) for x, y in smooth(knots, steps=5)}


def test_an_open_curve_ends_at_its_last_knot() -> None:
    assert smooth([(0, 0), (1, 2), (3, 3)], closed=False)[-1] == (3.0, 3.0)


def test_uneven_knots_do_not_make_the_curve_overshoot() -> None:
    curve = smooth([(0, 0), (10, 0), (10.5, 0.5), (10.5, 10)], closed=False, steps=20)
    assert max(x for x, _ in curve) < 11
    assert min(y for _, y in curve) > -0.6


def test_a_mirrored_frame_rotates_the_other_way() -> None:
    """A bird that tilts forward also tilts forward when mirrored."""
    right = Frame(x=50, y=50).within(Frame(turn=30))
    left = Frame(x=50, y=50, mirrored=True).within(Frame(turn=30))
    (x, y), (u, v) = right.point(10, 0), left.point(10, 0)
    assert (x - 50, y) == pytest.approx((50 - u, v))


def test_nested_frames_apply_one_after_the_other() -> None:
    outer = Frame(x=3, y=-2, scale=2, turn=25, mirrored=True)
    inner = Frame(x=1, y=4, scale=0.5, turn=-70, mirrored=True)
    assert outer.within(inner).point(2, 3) == pytest.approx(outer.point(*inner.point(2, 3)))


def test_along_ends_at_one() -> None:
    assert along((1, 2), (4, 6)).point(1, 0) == pytest.approx((4, 6))


def test_a_sweep_passes_through_the_discs_of_its_spine() -> None:
    spine = [(0.0, 0.0, 1.0), (5.0, 2.0, 3.0), (9.0, 8.0, 2.0)]
    discs = sweep(spine, steps=4)
    assert (discs[0], discs[4], discs[-1]) == (spine[0], pytest.approx(spine[1]), pytest.approx(spine[2]))


def test_a_feather_has_the_given_length_and_width() -> None:
    points = tongue((0, 0), (10, 0), 2.0)
    assert max(x for x, _ in points) == pytest.approx(10)
    assert math.isclose(max(y for _, y in points), 1.0, abs_tol=0.1)
