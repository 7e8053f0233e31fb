#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes docs/migrating.md, and a section of docs/differences.md, from a table.

The table is docs/mlcompute/*.csv: a row for everything that ML Compute
declares. migrating.in.md beside it has the prose and says where rows go. With
--check nothing is written and a difference is an error. The columns:

  class, member  ML Compute's names; a row without a member is the class itself
  kind           factory, method, property, enum case ...
  python, cpp    what it is called here; arguments in parentheses are those of
                 the row, "=" marks keywords
  test           what exercises the row, separated by spaces: a function of
                 pytest (file::function) or a test of GoogleTest (Suite.Test)
  reason         why it is not there, or not all of it, and what to use;
                 "planned" where nothing is there yet
"""

from __future__ import annotations

import argparse
import csv
import re
import sys
from collections import Counter
from dataclasses import dataclass, fields
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "mlcompute"
TEMPLATE = FOLDER / "migrating.in.md"
MIGRATING = ROOT / "docs" / "migrating.md"
DIFFERENCES = ROOT / "docs" / "differences.md"
BEGIN, END = "<!-- generated: begin -->\n", "<!-- generated: end -->\n"
PLANNED = "planned"


@dataclass(frozen=True)
class Row:
    """One row of the table; see above."""

    owner: str
    member: str
    kind: str
    python: str
    cpp: str
    test: str
    reason: str

    @property
    def is_planned(self) -> bool:
        return self.reason == PLANNED

    @property
    def tests(self) -> list[str]:
        return self.test.split()

    @property
    def symbol(self) -> str:
        """ML Compute's name, alone: cases have their enumeration's in theirs."""
        if self.member.startswith(self.owner):
            return self.member
        return f"{self.owner} {self.member}".strip()


COLUMNS = ["class", *(field.name for field in fields(Row)[1:])]


def read_table() -> dict[str, list[Row]]:
    """Rows by the name of their file, in the order of the files."""
    table = {}
    for path in sorted(FOLDER.glob("*.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            header, *lines = csv.reader(file)
        if header != COLUMNS or any(len(line) != len(COLUMNS) for line in lines):
            raise SystemExit(f"{path}: expected the columns {', '.join(COLUMNS)}")
        table[path.stem] = [Row(*line) for line in lines]
    return table


def code(text: str) -> str:
    return f"`{text}`" if text else ""


def shown(row: Row) -> str:
    """As a table of one file shows it, where classes stand above members."""
    if not row.member:
        return f"**{code(row.owner)}**"
    return code(row.member)


def table_of(rows: list[Row]) -> str:
    lines = ["| ML Compute | Python | C++ |", "|---|---|---|"]
    owner = None
    for row in rows:
        # Rows of a class whose own row is elsewhere.
        if row.owner != owner and row.member and row.owner:
            lines.append(f"| **{code(row.owner)}** | | |")
        owner = row.owner
        mark = " [differs](differences.md#rows-of-ml-compute)" if row.reason else ""
        lines.append(f"| {shown(row)} | {code(row.python)}{mark} | {code(row.cpp)} |")
    return "\n".join(lines) + "\n"


def counts_of(rows: list[Row]) -> str:
    total = len(rows)
    planned = sum(row.is_planned for row in rows)
    tested = sum(bool(row.test) for row in rows)
    differing = sum(bool(row.reason) for row in rows) - planned
    return (
        f"Of {total} rows, {tested} are exercised by a test that the table names, "
        f"{differing} are\nexplained in [differences.md]"
        f"(differences.md#rows-of-ml-compute), some of them both,\nand "
        f"{planned} are [planned](#planned).\n"
    )


def planned_of(table: dict[str, list[Row]]) -> str:
    by_owner: dict[str, list[Row]] = {}
    for rows in table.values():
        for row in rows:
            if row.is_planned:
                by_owner.setdefault(row.owner, []).append(row)
    lines = []
    for owner, rows in by_owner.items():
        names = [code(row.member) if row.member else "itself" for row in rows]
        title = code(owner) if owner else "Functions"
        lines.append(f"* {title} ({len(rows)}): {', '.join(names)}\n")
    return "".join(lines) or "Nothing.\n"


def migrating(table: dict[str, list[Row]]) -> str:
    every = [row for rows in table.values() for row in rows]
    used: Counter[str] = Counter()

    def rows_of(match: re.Match[str]) -> str:
        names = match[1].split()
        used.update(names)
        rows = [row for name in names for row in table[name]]
        there = [row for row in rows if row.python and not row.is_planned]
        return table_of(there) if there else "Nothing yet: [planned](#planned).\n"

    text = TEMPLATE.read_text(encoding="utf-8")
    text = re.sub(r"<!-- rows: ([\w -]+) -->\n", rows_of, text)
    text = text.replace("<!-- counts -->\n", counts_of(every))
    text = text.replace("<!-- planned -->\n", planned_of(table))
    num_planned = sum(row.is_planned for row in every)
    text = text.replace("<!-- num_planned -->", str(num_planned))
    if set(used) != set(table) or set(used.values()) != {1}:
        odd = {name for name in table if used[name] != 1}
        raise SystemExit(f"{TEMPLATE}: expected once: {', '.join(sorted(odd))}")
    return (
        "<!-- Generated by tools/gen_migrating.py from docs/mlcompute: "
        f"do not edit. -->\n{text}"
    )


def differences(table: dict[str, list[Row]]) -> str:
    by_reason: dict[str, list[str]] = {}
    for rows in table.values():
        for row in rows:
            if row.reason and not row.is_planned:
                by_reason.setdefault(row.reason, []).append(row.symbol)
    lines = ["| ML Compute | Here |", "|---|---|"]
    for reason, symbols in by_reason.items():
        lines.append(f"| {', '.join(map(code, symbols))} | {reason} |")
    text = DIFFERENCES.read_text(encoding="utf-8")
    before, found, rest = text.partition(BEGIN)
    _, ended, after = rest.partition(END)
    if not (found and ended):
        raise SystemExit(f"{DIFFERENCES}: expected {BEGIN.strip()} and {END.strip()}")
    return before + BEGIN + "\n".join(lines) + "\n" + END + after


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    is_check = parser.parse_args().check
    table = read_table()
    stale = []
    for path, text in (
        (MIGRATING, migrating(table)),
        (DIFFERENCES, differences(table)),
    ):
        if path.read_text(encoding="utf-8") == text:
            continue
        stale.append(path.relative_to(ROOT).as_posix())
        if not is_check:
            path.write_text(text, encoding="utf-8")
    if is_check and stale:
        print(f"{', '.join(stale)}: run tools/gen_migrating.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
