"""Space-time diagrams as SVG: well-formed, self-contained, and equal for equal runs."""

from __future__ import annotations

from itertools import pairwise
from xml.etree import ElementTree as ET

import attrs

from holdfast.trace.trace import Trace
from holdfast.trace.views.svg import render_svg

SVG = "{http://www.w3.org/2000/svg}"


def drawn(trace: Trace) -> ET.Element:
    """The picture, parsed by another reader."""
    return ET.fromstring(render_svg(trace))  # noqa: S314 - it was written here


def texts(element: ET.Element) -> list[str]:
    """All texts inside an element, in order."""
    return [text.text or "" for text in element.iter(f"{SVG}text")]


def test_all_of_the_run_is_there(handover: Trace) -> None:
    """The picture has heads, numbers, actions, changes and the conclusion. Each step is a group with a tooltip."""
    picture = drawn(handover)
    groups = picture.findall(f"{SVG}g")

    assert len(groups) == 2
    assert [text for text in texts(picture) if text in ("p1", "p2", "s1")] == ["p1", "p2", "s1"]
    assert texts(groups[1])[:3] == ["2", "open(s1, 2)", "handle[s1]=2"]
    title = groups[1].find(f"{SVG}title")
    assert title is not None
    assert (title.text or "").startswith("2  open(p=p2, s=s1, e=2)\n")
    assert "owner[s1]: n1 -> n2" in (title.text or "")
    assert "one_handle (INV-01) is violated for s = s1, p = p1, q = p2." in texts(picture)


def test_arrows_end_where_the_change_is(handover: Trace) -> None:
    """A step's arrow runs from the actor's line to the line of the changed element."""
    picture = drawn(handover)
    lines = {line.get("class"): line for line in picture.findall(f"{SVG}line")}
    (arrow,) = picture.findall(f"{SVG}g")[1].findall(f"{SVG}line")
    (dot,) = picture.findall(f"{SVG}g")[1].findall(f"{SVG}circle")

    assert arrow.get("x1") == dot.get("cx")
    assert int(lines["life shared"].get("x1", "")) - int(arrow.get("x2", "")) == 8


def test_everything_lies_within(handover: Trace, sampler: Trace, repeated: Trace) -> None:
    """No text extends beyond the picture, and the texts of two steps do not overlap."""
    for trace in (handover, sampler, repeated, attrs.evolve(handover, loop=1)):
        picture = drawn(trace)
        width, height = int(picture.get("width", "")), int(picture.get("height", ""))
        for text in picture.iter(f"{SVG}text"):
            x, y = int(text.get("x", "")), int(text.get("y", ""))
            assert x >= 0
            assert x + 7 * len(text.text or "") <= width or text.get("text-anchor")
            assert 0 <= y <= height
        rows = [[int(text.get("y", "")) for text in group.iter(f"{SVG}text")] for group in picture.findall(f"{SVG}g")]
        assert all(max(one) < min(two) for one, two in pairwise(rows))


def test_nothing_comes_from_elsewhere(handover: Trace) -> None:
    """There is no script, link, external font or picture. Light and dark modes have colours."""
    text = render_svg(handover)
    assert not any(word in text for word in ("<script", "href", "url(", "@import", "<image", "@font-face"))
    assert text.count("http") == 1
    assert "prefers-color-scheme: dark" in text


def test_equal_runs_are_equal_bytes(handover: Trace) -> None:
    """The picture depends on the run alone."""
    assert render_svg(handover) == render_svg(attrs.evolve(handover))


def test_what_xml_has_no_place_for(handover: Trace) -> None:
    """With angle brackets, ampersands and control characters in a file's values the picture is well-formed."""
    position = next(index for index, cell in enumerate(handover.cells) if cell.name == "owner[s1]")
    last = handover.steps[-1]
    values = (*last.values[:position], "<a> & \x00\x1b]", *last.values[position + 1 :])
    strange = attrs.evolve(handover, steps=(*handover.steps[:-1], attrs.evolve(last, values=values)))

    assert "owner=<a> & \\x00\\x1b]" in texts(drawn(strange))


def test_a_lasso_has_a_way_back(handover: Trace) -> None:
    """A loop is an arrow back beside the lines."""
    plain, looped = drawn(handover), drawn(attrs.evolve(handover, loop=1))
    assert len(looped.findall(f"{SVG}path")) == len(plain.findall(f"{SVG}path")) + 2
