"""Line charts as SVG."""

from __future__ import annotations

from training.starter.confidence.charts import Line, Panel, draw


def test_a_chart_has_lines_a_legend_and_labelled_ticks() -> None:
    lines = [Line(name="seen", points=[(0.0, 0.0), (1.0, 0.3)]), Line(name="a < b", points=[(0.5, 0.6)])]
    svg = draw([Panel(title="three", lines=lines)], x="across", y="up", top=0.6)
    assert svg.count("<circle") == 3
    assert "a &lt; b" in svg
    assert [f">{tick}</text>" in svg for tick in ("0.0", "0.2", "0.4", "0.6")] == [True] * 4
    assert svg.count(">0.8</text>") == 1  # only on the horizontal axis
    # The point (1, 0.3) of a 260 pixels square with a top of 0.6 is at its right edge, half way up.
    assert 'cx="322.0" cy="170.0"' in svg
