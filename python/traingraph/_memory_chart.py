# SPDX-License-Identifier: MIT
"""The life of a plan's memory as SVG: units across, bytes of the arena up."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree as ET

__all__ = ["memory_chart"]

COLORS = {
    "forward": "#9ecae1",
    "saved": "#3182bd",
    "gradient": "#fdae6b",
    "parameter gradient": "#e6550d",
    "update": "#74c476",
    "scratch": "#bdbdbd",
}
LEGEND = {"saved": "saved for gradient"}
LEFT, TOP, WIDTH, HEIGHT = 90.0, 30.0, 840.0, 360.0
PICTURE = (LEFT + WIDTH + 30, TOP + HEIGHT + 90)
NUM_TICKS = 5


def _number(value: float) -> str:
    return f"{value:.4f}".rstrip("0").rstrip(".")


def _printable(text: str) -> str:
    """XML has no way to write control characters."""
    return "".join(c if c.isprintable() else "?" for c in text)


def _add(
    parent: ET.Element, tag: str, text: str | None = None, **attributes: float | str
) -> ET.Element:
    element = ET.SubElement(parent, tag)
    for key, value in attributes.items():
        spelled = value if isinstance(value, str) else _number(value)
        element.set(key.rstrip("_").replace("_", "-"), spelled)
    element.text = text
    return element


def _bytes(count: float) -> str:
    for scale, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if count >= scale:
            return f"{count / scale:.3g} {unit}"
    return f"{count:.3g} B"


def _add_axes(svg: ET.Element, num_units: int, arena_bytes: int) -> None:
    bottom = TOP + HEIGHT
    _add(
        svg, "rect", class_="arena", x=LEFT, y=TOP, width=WIDTH, height=HEIGHT,
        fill="none", stroke="#888",
    )  # fmt: skip
    for tick in range(NUM_TICKS + 1):
        y = bottom - HEIGHT * tick / NUM_TICKS
        label = _bytes(arena_bytes * tick / NUM_TICKS)
        _add(svg, "line", x1=LEFT - 4, x2=LEFT, y1=y, y2=y, stroke="#888")
        _add(svg, "text", label, x=LEFT - 8, y=y + 4, text_anchor="end")
    step = max(1, -(-num_units // 12))
    for unit in range(0, num_units, step):
        x = LEFT + WIDTH * (unit + 0.5) / num_units
        _add(svg, "text", str(unit), x=x, y=bottom + 16, text_anchor="middle")
    middle = LEFT + WIDTH / 2
    label = "units in the order of execution"
    _add(svg, "text", label, x=middle, y=bottom + 36, text_anchor="middle")
    title = f"what lies in the arena of {arena_bytes:,} bytes"
    _add(svg, "text", title, x=middle, y=TOP - 10, text_anchor="middle")


def _add_legend(svg: ET.Element) -> None:
    y = TOP + HEIGHT + 62
    for i, (role, color) in enumerate(COLORS.items()):
        x = LEFT + i * WIDTH / len(COLORS)
        _add(svg, "circle", cx=x + 6, cy=y, r=6.0, fill=color)
        _add(svg, "text", LEGEND.get(role, role), x=x + 17, y=y + 4)


def memory_chart(
    spans: list[dict[str, Any]], arena_bytes: int, units: list[str]
) -> str:
    """A rectangle per storage; pointing at one says what it is."""
    svg = ET.Element("svg", xmlns="http://www.w3.org/2000/svg")
    width, height = map(_number, PICTURE)
    svg.set("viewBox", f"0 0 {width} {height}")
    svg.set("width", width)
    svg.set("height", height)
    svg.set("font-family", "sans-serif")
    svg.set("font-size", "12")
    _add(svg, "rect", width=width, height=height, fill="white")
    per_unit = WIDTH / max(1, len(units))
    per_byte = HEIGHT / max(1, arena_bytes)
    group = _add(svg, "g", class_="memory", stroke="white", stroke_width="0.5")
    for span in spans:
        first, last = span["first"], span["last"]
        end = span["offset"] + span["bytes"]
        rect = _add(
            group,
            "rect",
            x=LEFT + first * per_unit,
            y=TOP + HEIGHT - end * per_byte,
            width=(last - first + 1) * per_unit,
            height=span["bytes"] * per_byte,
            fill=COLORS[span["role"]],
        )
        text = (
            f"{span['name']}: {span['bytes']:,} bytes at {span['offset']:,}, "
            f"{LEGEND.get(span['role'], span['role'])}; "
            f"unit {first} ({units[first]}) to {last} ({units[last]})"
        )
        _add(rect, "title", _printable(text))
    _add_axes(svg, len(units), arena_bytes)
    _add_legend(svg)
    return ET.tostring(svg, encoding="unicode")
