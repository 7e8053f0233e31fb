# SPDX-License-Identifier: MIT
"""Checks this machine and writes report.json and report.md.

Exit code: 0 all is well, 1 a step failed, 2 an answer of the machine
contradicts what the code assumes.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

# Run by the path of the folder.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from mac_check import machine, page, report, run, steps


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="tools/mac_check.sh",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--output",
        type=Path,
        default=run.ROOT / "build" / "mac-check",
        help="folder of the report, logs and builds (build/mac-check)",
    )
    parser.add_argument(
        "--only",
        nargs="+",
        choices=steps.NAMES,
        metavar="STEP",
        help="run these steps: " + ", ".join(steps.NAMES),
    )
    parser.add_argument(
        "--skip",
        nargs="+",
        default=[],
        choices=steps.NAMES,
        metavar="STEP",
        help="run all but these",
    )
    parser.add_argument("--slow", action="store_true", help="ask slow probes as well")
    parser.add_argument(
        "--memory", type=int, help="bytes that a probe may take (half of the Mac's)"
    )
    parser.add_argument(
        "--probe",
        nargs="+",
        default=[],
        metavar="NAME",
        help="ask these probes only",
    )
    parser.add_argument(
        "--device", default="gpu", help="that trains and is measured (gpu)"
    )
    parser.add_argument(
        "--compare",
        action="store_true",
        help="install PyTorch and MLX, to be measured beside",
    )
    parser.add_argument(
        "--probes",
        type=Path,
        help="a metal_probes that is built already (the emulator's, in tests)",
    )
    parser.add_argument(
        "--python",
        type=Path,
        help="an interpreter that has traingraph already; nothing is installed",
    )
    parser.add_argument(
        "--answer",
        action="append",
        default=[],
        metavar="NAME=TEXT",
        help="taken as a probe's answer, to see what the report makes of it",
    )
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    options.output = options.output.resolve()
    options.output.mkdir(parents=True, exist_ok=True)
    wanted = [n for n in options.only or steps.NAMES if n not in options.skip]
    results = steps.run_all(options, wanted)
    made = report.make(machine.describe(), results)
    paths = [options.output / "report.json", options.output / "report.md"]
    paths[0].write_text(json.dumps(made, indent=2) + "\n", encoding="utf-8")
    paths[1].write_text(page.markdown(made), encoding="utf-8")
    print()
    print("\n".join(report.lines(made)))
    print(f"{paths[1]}\n{paths[0]}")
    return int(made["exit_code"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
