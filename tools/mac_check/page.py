# SPDX-License-Identifier: MIT
"""The report as a page of Markdown."""

from __future__ import annotations

from typing import Any

from mac_check import report

OUTCOMES = {
    0: "Nothing contradicts the code.",
    report.FAILED: "A step failed or a probe crashed.",
    report.CONTRADICTED: "Answers of this machine contradict the code.",
}


def cell(text: object) -> str:
    return str(text).replace("|", "\\|").replace("\n", "<br>")


def table(head: tuple[str, ...], rows: list[tuple[object, ...]]) -> list[str]:
    found = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    found += ["| " + " | ".join(cell(value) for value in row) + " |" for row in rows]
    return [*found, ""]


def answers(probes: list[dict[str, Any]], last: str) -> list[str]:
    rows: list[tuple[object, ...]] = [
        (
            f"`{p['name']}` {p['question']}",
            report.expectation(p),
            p["answer"],
            report.change(p),
        )
        for p in probes
    ]
    return table(("Question", "Expected", "Came", last), rows)


def section(title: str, body: list[str]) -> list[str]:
    return [f"## {title}", "", *body] if body else []


def contradictions(made: dict[str, Any]) -> list[str]:
    found = report.of_verdict(made, "contradicted", "crashed")
    if not found:
        return []
    text = "Change what the last column says, run the tests, and check again."
    return [text, "", *answers(found, "Change")]


def chances(made: dict[str, Any]) -> list[str]:
    found = report.of_verdict(made, "chance")
    if not found:
        return []
    text = "The code is right here, and careful. It could do with less:"
    return [text, "", *answers(found, "What the answer allows")]


def assumptions(made: dict[str, Any]) -> list[str]:
    found = report.of_verdict(made, "holds")
    return answers(found, "If not") if found else []


def not_asked(made: dict[str, Any]) -> list[str]:
    rows: list[tuple[object, ...]] = [
        (
            f"`{p['name']}` {p['question']}",
            report.expectation(p),
            p["answer"],
            report.change(p),
        )
        for p in report.of_verdict(made, "not asked")
    ]
    return table(("Question", "Expected", "Why not", "If not"), rows) if rows else []


def notes(made: dict[str, Any]) -> list[str]:
    rows: list[tuple[object, ...]] = [
        (f"`{p['name']}` {p['question']}", report.expectation(p), p["answer"])
        for p in report.of_verdict(made, "noted")
    ]
    return table(("Question", "Expected", "Came"), rows) if rows else []


def timings(made: dict[str, Any]) -> list[str]:
    rows: list[tuple[object, ...]] = [
        (
            row["network"],
            row["system"],
            f"{1e3 * row['seconds']:.2f} ms" if row["seconds"] else row["problem"],
        )
        for row in made["timings"]
    ]
    return table(("Network", "System", "One step, the median"), rows) if rows else []


def training(made: dict[str, Any]) -> list[str]:
    rows: list[tuple[object, ...]] = [
        (
            row["network"],
            row["problem"] or "fine",
            " -> ".join(f"{loss:.4g}" for loss in row["losses"]),
        )
        for row in made["training"]
    ]
    return table(("Network", "Beside the CPU", "Loss"), rows) if rows else []


def markdown(made: dict[str, Any]) -> str:
    asked = made["probes"]
    device = asked["device"] or "a machine without a Metal device" if asked else ""
    system = [f"* {name}: {value}" for name, value in made["machine"].items() if value]
    steps: list[tuple[object, ...]] = [
        (s["name"], s["state"], s["detail"], s["seconds"]) for s in made["steps"]
    ]
    found = [
        f"# Check of {device or 'this machine'}",
        "",
        f"**{OUTCOMES[made['exit_code']]}** (exit code {made['exit_code']})",
        "",
        *system,
        "",
        *section("Contradictions", contradictions(made)),
        *section("Steps", table(("Step", "State", "", "Seconds"), steps)),
        *section("Chances", chances(made)),
        *section("Training", training(made)),
        *section("Timings", timings(made)),
        *section("What holds", assumptions(made)),
        *section("What was not asked", not_asked(made)),
        *section("What nothing depends on", notes(made)),
    ]
    return "\n".join(found)
