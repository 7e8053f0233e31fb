# SPDX-License-Identifier: MIT
"""From results of steps to one report, and what it comes to. Plain functions on
plain data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mac_check.run import Result

FAILED, CONTRADICTED = 1, 2
#: Of metal_probes (tests/metal_probes/report.h).
VERDICTS = ("holds", "contradicted", "chance", "noted", "not asked", "crashed")


def _found(results: list[Result], name: str) -> Any:
    return next((r.found for r in results if r.name == name), None)


def make(machine: dict[str, str], results: list[Result]) -> dict[str, Any]:
    made = {
        "format": 1,
        "machine": machine,
        "steps": [
            {
                "name": result.name,
                "state": result.state,
                "detail": result.detail,
                "seconds": round(result.seconds, 1),
            }
            for result in results
        ],
        "probes": _found(results, "probes"),
        "training": _found(results, "training") or [],
        "timings": _found(results, "timings") or [],
    }
    made["exit_code"] = exit_code(made)
    return made


def of_verdict(made: dict[str, Any], *verdicts: str) -> list[dict[str, Any]]:
    probes = made["probes"]["probes"] if made["probes"] else []
    return [probe for probe in probes if probe["verdict"] in verdicts]


def exit_code(made: dict[str, Any]) -> int:
    if of_verdict(made, "contradicted"):
        return CONTRADICTED
    has_failed = any(s["state"] not in ("passed", "skipped") for s in made["steps"])
    return FAILED if has_failed or of_verdict(made, "crashed") else 0


def expectation(probe: dict[str, Any]) -> str:
    return " or ".join(probe["expected"]) or "anything"


def change(probe: dict[str, Any]) -> str:
    """What to change when the answer is another than the expected one."""
    remedy = probe["remedy"]
    parts = []
    if remedy["constant"]:
        parts.append(f"{remedy['constant']} = {remedy['value']} in {remedy['file']}")
    if remedy["text"]:
        parts.append(remedy["text"])
    return ": ".join(parts) or "nothing depends on it"


def lines(made: dict[str, Any]) -> list[str]:
    """The end of what is printed."""
    found = [
        f"CONTRADICTED {probe['name']}: {probe['question']}: expected "
        f"{expectation(probe)}; got {probe['answer']}. Change: {change(probe)}"
        for probe in of_verdict(made, "contradicted")
    ]
    found += [
        f"CRASHED {p['name']}: {p['answer']}" for p in of_verdict(made, "crashed")
    ]
    found += [
        f"FAILED {step['name']}: {step['detail']}"
        for step in made["steps"]
        if step["state"] in ("failed", "interrupted")
    ]
    return found or ["Nothing contradicts the code."]
