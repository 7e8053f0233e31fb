# SPDX-License-Identifier: MIT
"""What ``t.report()`` and ``t.profile()`` return.

The numbers come from the extension as plain dicts, and become rows for pandas
here; tables, chart and trace are the extension's, too.
"""

from __future__ import annotations

import html
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ._calls import checked
from ._files import write_text

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    Row = dict[str, Any]
    Table = Callable[[str | None, bool], str]
    Predict = Callable[[int, float, float], dict[str, Any]]

__all__ = ["Profile", "Report", "Scaling"]

PHASES = ("forward", "gradient", "update")


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


@dataclass(frozen=True)
class Scaling:
    """What a step will take on several ranks, each with a batch of the same size.

    Report.scaling() and Profile.scaling() return it.

    Args:
        ranks: how many there are.
        step_seconds: of a step: compute_seconds and wait_seconds.
        compute_seconds: of one rank's units.
        wait_seconds: in which a rank waits for gradients of others.
        exchange_seconds: of all transfers, most of which hide behind units.
        efficiency: the speed of all ranks, as a share of that of as many without an
            exchange.

    Example:
        >>> tg.Scaling(2, 0.012, 0.01, 0.002, 0.006, 0.83).efficiency
        0.83
    """

    ranks: int
    step_seconds: float
    compute_seconds: float
    wait_seconds: float
    exchange_seconds: float
    efficiency: float


class _Tables:
    """What Report and Profile share."""

    measures: tuple[str, ...]

    def __init__(self, tables: dict[str, Any], table: Table, predict: Predict) -> None:
        self._table = table
        self._predict = predict
        self.buckets: list[Row] = tables["buckets"]
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

    def __str__(self) -> str:
        return self.table()

    @checked
    def table(
        self,
        *,
        sort_by: Literal["seconds", "flops", "bytes", "parameters"] | None = None,
        groups_blocks: bool = False,
    ) -> str:
        """The rows as aligned text.

        Args:
            sort_by: what the first rows have most of; None: as the layers were
                declared.
            groups_blocks: rows that do the same work and differ in the numbers of
                their names alone become one, their sum: "block#.conv x 2".

        Returns:
            Lines.

        Raises:
            InvalidArgument: another order, or that of seconds of a report, which
                nobody measured.

        Example:
            >>> text = training.report().table(sort_by="flops")
            >>> "fc" in text
            True
        """
        return self._table(sort_by, groups_blocks)

    @checked
    def scaling(self, ranks: int, bandwidth: float, latency: float) -> Scaling:
        """Predicts a step of so many ranks, from the plan and a model of the link.

        A profile knows what each unit took; a report takes the least that the device
        can do.

        Args:
            ranks: how many there are, 1 or more.
            bandwidth: bytes per second that a rank sends and, at the same time,
                receives.
            latency: seconds of a message of no bytes.

        Raises:
            InvalidArgument: a number out of range.
            StateError: the graph was compiled without a collective and on_bucket.

        Example:
            >>> training.compile("cpu", on_bucket=lambda index, values, names: None)
            >>> report = training.report()
            >>> report.scaling(ranks=4, bandwidth=1e9, latency=1e-5).ranks
            4
        """
        return Scaling(**self._predict(ranks, bandwidth, latency))


class Report(_Tables):
    """What execute() will do; ``pandas.DataFrame(report.rows)`` works.

    CompiledGraph.report() makes it. Prints as table().

    Attributes:
        rows: a dict for each layer.
        total: their sum.
        units: what the device runs as one piece each, in order.
        memory: who has which bytes of the arena, from unit ``first`` to ``last``.
        arena_bytes: bytes of the arena.
        casts: how many there are between floats of 32 and 16 bits.
        cast_units: those that are units of their own, the others being part of what
            is before or behind them.
        buckets: of gradients, in the order in which ranks send them: before which
            unit, and before which the sum is needed.
        notes: sentences about what the device does otherwise than it was asked to,
            and, among ranks, a last one about where their gradients are summed.
        rewrites: what was written in several ops and became one, or cheaper ones:
            ``what`` ("attention"), by the ``node`` that it is now, and names ``of``
            the nodes that are gone. With a ``hint`` it stayed as it is, though it is
            nearly that. None where compile() was to fuse nothing.
        batch_plans: of smaller batches than the compiled one: how many ``sizes`` have
            plans, the ``bytes`` of the host that these take, as estimated, the
            ``limit_bytes`` (``compile(batch_plans_bytes=...)``), and ``evictions``,
            how many made room for others and are made anew when they are needed.

    Example:
        >>> report = training.report()
        >>> [row["layer"] for row in report.rows]
        ['fc', 'mean_squared_error']
    """

    measures: tuple[str, ...] = ("flops", "bytes")

    def __init__(
        self,
        tables: dict[str, Any],
        memory: list[Row],
        arena_bytes: int,
        casts: int,
        cast_units: int,
        notes: list[str],
        rewrites: list[Row],
        batch_plans: dict[str, int],
        table: Table,
        predict: Predict,
        svg: Callable[[], str],
    ) -> None:
        super().__init__(tables, table, predict)
        self.memory = memory
        self.arena_bytes = arena_bytes
        self.casts = casts
        self.cast_units = cast_units
        self.notes = notes
        self.rewrites = rewrites
        self.batch_plans = batch_plans
        self._svg = svg
        for unit in self.units:  # nothing was measured
            del unit["seconds"], unit["spread"], unit["share"], unit["start"]

    def svg(self) -> str:
        """The chart of memory: units across, the arena's bytes up.

        Returns:
            A picture as text, which notebooks show by themselves.

        Example:
            >>> training.report().svg().startswith("<svg ")
            True
        """
        return self._svg()

    def _repr_svg_(self) -> str:
        return self.svg()

    @checked
    def save_svg(self, path: str | os.PathLike[str]) -> None:
        """Writes svg() to a file that browsers open.

        Args:
            path: the file.

        Raises:
            FileError: it cannot be written.

        Example:
            >>> training.report().save_svg("memory.svg")
        """
        write_text("save_svg", path, self.svg())


class Profile(_Tables):
    """Measured runs; ``pandas.DataFrame(profile.rows)`` works.

    CompiledGraph.profile() makes it. Prints as table().

    Attributes:
        rows: a dict for each layer: of several runs, seconds are the median and
            spreads the distance between the quartiles. Shares are of the limit that
            the peaks set, None where that is not known; they pass 1 where data stays
            in caches.
        total: their sum.
        units: what the device runs as one piece each, in order.
        runs: how many there were.
        peak_flops: per second, measured on this device; None: not known.
        peak_bandwidth: bytes per second, likewise.
        exchange: what was done for other ranks: gradients handed over ("send"), under
            way ("transfer"), waited for ("wait").

    Example:
        >>> data = {"x": points}, {"y": targets}
        >>> execution = training.execute(*data, per_layer_profiling=True)
        >>> profile = training.profile()
        >>> profile.total["seconds"] > 0
        True
    """

    measures: tuple[str, ...] = ("seconds", "spread", "flops", "bytes", "share")

    def __init__(
        self,
        tables: dict[str, Any],
        runs: int,
        peak_flops: float | None,
        peak_bandwidth: float | None,
        exchange: list[Row],
        table: Table,
        predict: Predict,
        trace: Callable[[], str],
    ) -> None:
        super().__init__(tables, table, predict)
        self.exchange = exchange
        self.runs = runs
        self.peak_flops = peak_flops
        self.peak_bandwidth = peak_bandwidth
        self._trace = trace

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"

    def trace(self) -> dict[str, Any]:
        """The runs in Chrome's format: a track for each phase, an event for each unit;
        of ranks, tracks of what is sent and waited for.

        Returns:
            What save_trace() writes as JSON.

        Example:
            >>> sorted(profile.trace())
            ['displayTimeUnit', 'traceEvents']
        """
        trace: dict[str, Any] = json.loads(self._trace())
        return trace

    @checked
    def save_trace(self, path: str | os.PathLike[str]) -> None:
        """Writes trace() as JSON, for Perfetto (ui.perfetto.dev) or chrome://tracing.

        Args:
            path: the file.

        Raises:
            FileError: it cannot be written.

        Example:
            >>> profile.save_trace("step.json")
        """
        write_text("save_trace", path, self._trace())
