# SPDX-License-Identifier: MIT
"""What ``t.report()`` and ``t.profile()`` return: tables and traces.

The numbers come from the extension as plain dicts; here they become rows for
pandas, text, and Chrome's trace format. The chart is in ``_memory_chart``.
"""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._memory_chart import memory_chart

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

    Row = dict[str, Any]

__all__ = ["Profile", "Report"]

PHASES = ("forward", "gradient", "update")
PREFIXES = ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "u"))


def _flat(row: Row, measures: tuple[str, ...]) -> Row:
    """One level: "forward_flops" for each phase, and "flops" for all."""
    flat = {key: row[key] for key in ("layer", "ops")}
    for measure in measures:
        for phase in PHASES:
            flat[f"{phase}_{measure}"] = row[phase][measure]
        flat[measure] = row["cost"][measure]
    for key in ("parameters", "fused", "layout", "reorders"):
        flat[key] = row[key]
    flat["fused_group"] = None if row["fused_group"] < 0 else row["fused_group"]
    return flat


class _Column:
    """Two lines of heading, and a cell for each row."""

    def __init__(self, title: str, unit: str, cells: Iterable[str], align: str) -> None:
        printable = ("".join(c if c.isprintable() else "?" for c in s) for s in cells)
        self.lines = [title, unit, *printable]
        width = max(map(len, self.lines))
        self.lines = [f"{line:{align}{width}}" for line in self.lines]


def _text(title: str, rows: list[Row], key: str) -> _Column:
    return _Column(title, "", [str(row[key]) for row in rows], "<")


def _count(title: str, rows: list[Row], key: str) -> _Column:
    return _Column(title, "", [f"{row[key]:,}" for row in rows], ">")


def _measures(rows: list[Row], measure: str, unit: str) -> list[_Column]:
    """A column per phase, in the unit that suits the largest number."""
    keys = {phase: f"{phase}_{measure}" for phase in PHASES}
    largest = max((row[key] for row in rows for key in keys.values()), default=0)
    scale, prefix = next(
        ((s, p) for s, p in PREFIXES if largest >= s),
        PREFIXES[-1] if largest > 0 else (1.0, ""),
    )

    def cell(number: float) -> str:
        return f"{number / scale:.2f}" if number else "0"

    return [
        _Column(phase, prefix + unit, [cell(row[key]) for row in rows], ">")
        for phase, key in keys.items()
    ]


def _shares(rows: list[Row]) -> list[_Column]:
    def cell(share: float | None) -> str:
        return "-" if share is None else f"{share:.0%}"

    return [
        _Column(phase, "of limit", [cell(row[f"{phase}_share"]) for row in rows], ">")
        for phase in PHASES
    ]


def _table(columns: list[_Column]) -> str:
    """Aligned lines; the last row, the total, below a rule."""
    cells = zip(*(column.lines for column in columns), strict=True)
    lines = ["  ".join(line).rstrip() for line in cells]
    rule = "-" * max(map(len, lines))
    return "\n".join([*lines[:2], rule, *lines[2:-1], rule, lines[-1]])


def _fused_groups(rows: list[Row]) -> str:
    groups = {row["fused_group"]: row["fused"] for row in rows if row["fused"]}
    return "".join(f"\nfused {group}: {names}" for group, names in groups.items())


class _Tables:
    """What Report and Profile share."""

    measures: tuple[str, ...]

    def __init__(self, tables: dict[str, Any]) -> None:
        self.device: str = tables["device"]
        self.batch_size: int = tables["batch_size"]
        self.rows: list[Row] = [_flat(row, self.measures) for row in tables["rows"]]
        self.total: Row = _flat(tables["total"], self.measures)
        self.units: list[Row] = tables["units"]
        for unit in self.units:
            unit["layers"] = [self.rows[row]["layer"] for row in unit.pop("rows")]

    def __repr__(self) -> str:
        name = type(self).__name__
        return f"<{name} of {len(self.rows)} layers in {len(self.units)} units>"


class Report(_Tables):
    """What execute() will do; ``pandas.DataFrame(report.rows)`` works.

    rows: a dict per layer. total: their sum. units: what the device runs as
    one piece each, in order. memory: who has which bytes of the arena, from
    unit ``first`` to unit ``last``.
    """

    measures = ("flops", "bytes")

    def __init__(
        self, tables: dict[str, Any], memory: list[Row], arena_bytes: int
    ) -> None:
        super().__init__(tables)
        self.memory = memory
        self.arena_bytes = arena_bytes
        for unit in self.units:  # nothing was measured
            del unit["seconds"], unit["share"], unit["start"]

    def __str__(self) -> str:
        rows = [*self.rows, self.total]
        groups = [
            "" if r["fused_group"] is None else str(r["fused_group"]) for r in rows
        ]
        columns = [
            _text("layer", rows, "layer"),
            *_measures(rows, "flops", "FLOP"),
            *_measures(rows, "bytes", "B"),
            _count("parameters", rows, "parameters"),
            _text("layout", rows, "layout"),
            _count("reorders", rows, "reorders"),
            _Column("fused", "", groups, ">"),
        ]
        title = (
            f"{self.device}, batch size {self.batch_size}, {len(self.units)} units, "
            f"arena {self.arena_bytes:,} bytes\n"
        )
        return title + _table(columns) + _fused_groups(self.rows)

    def svg(self) -> str:
        """Returns the chart of memory: units across, the arena's bytes up."""
        names = [unit["name"] for unit in self.units]
        return memory_chart(self.memory, self.arena_bytes, names)

    def _repr_svg_(self) -> str:
        return self.svg()

    def save_svg(self, path: str | os.PathLike[str]) -> None:
        """Writes svg() to a file that browsers open."""
        Path(path).write_text(self.svg(), encoding="utf-8")


class Profile(_Tables):
    """One measured run; ``pandas.DataFrame(profile.rows)`` works.

    Shares are of the limit that ``peak_flops`` and ``peak_bandwidth`` (per
    second; measured on this device) set; None where that is not known. They
    pass 1 where data stays in caches.
    """

    measures = ("seconds", "flops", "bytes", "share")

    def __init__(
        self,
        tables: dict[str, Any],
        peak_flops: float | None,
        peak_bandwidth: float | None,
    ) -> None:
        super().__init__(tables)
        self.peak_flops = peak_flops
        self.peak_bandwidth = peak_bandwidth

    def __str__(self) -> str:
        rows = [*self.rows, self.total]
        columns = [
            _text("layer", rows, "layer"),
            *_measures(rows, "seconds", "s"),
            *_measures(rows, "flops", "FLOP"),
            *_measures(rows, "bytes", "B"),
            *_shares(rows),
        ]
        title = f"{self.device}, batch size {self.batch_size}, "
        title += f"{self.total['seconds'] * 1e3:.3f} ms in {len(self.units)} units"
        if self.peak_flops is not None and self.peak_bandwidth is not None:
            title += f"; limits {self.peak_flops / 1e9:.0f} GFLOP/s, "
            title += f"{self.peak_bandwidth / 1e9:.1f} GB/s"
        return f"{title}\n{_table(columns)}{_fused_groups(self.rows)}"

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"

    def trace(self) -> dict[str, Any]:
        """Returns Chrome's trace: a track per phase, an event per unit."""
        events = [_name_event("process_name", 0, self.device)]
        events += [
            _name_event("thread_name", track, phase)
            for track, phase in enumerate(PHASES)
        ]
        events += map(_unit_event, self.units)
        return {"traceEvents": events, "displayTimeUnit": "ms"}

    def save_trace(self, path: str | os.PathLike[str]) -> None:
        """Writes trace() for Perfetto (ui.perfetto.dev) or chrome://tracing."""
        text = json.dumps(self.trace(), allow_nan=False)
        Path(path).write_text(text, encoding="utf-8")


def _name_event(kind: str, track: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": kind, "pid": 0, "tid": track, "args": {"name": name}}


def _unit_event(unit: Row) -> dict[str, Any]:
    layers = unit["layers"]
    name = unit["name"] if len(layers) <= 3 else f"{layers[0]} ... {layers[-1]}"
    keys = ("layers", "ops", "flops", "bytes", "share", "layout")
    return {
        "ph": "X",
        "name": f"{name} (reorder)" if unit["is_reorder"] else name,
        "cat": unit["phase"],
        "ts": unit["start"] * 1e6,  # microseconds
        "dur": unit["seconds"] * 1e6,
        "pid": 0,
        "tid": PHASES.index(unit["phase"]),
        "args": {key: unit[key] for key in keys},
    }
