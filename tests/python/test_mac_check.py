# SPDX-License-Identifier: MIT
"""tools/mac_check.sh: what it makes of a machine's answers, with the emulator as
the machine where a build of metal_probes is there, and with made-up ones."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import traingraph

ROOT = Path(__file__).resolve().parent.parent.parent
PROBES = Path(
    os.environ.get(
        "TRAINGRAPH_METAL_PROBES", ROOT / "build/dev/tests/metal_probes/metal_probes"
    )
)
EMULATED = Path(
    os.environ.get(
        "TRAINGRAPH_EMULATED_LIBRARY", ROOT / "build/dev/emulated/libtraingraph.so"
    )
)
needs_probes = pytest.mark.skipif(
    not PROBES.exists(), reason="metal_probes is not built (make cpp-test)"
)
sys.path.insert(0, str(ROOT / "tools"))

from mac_check import machine, page, report, steps


def probe(name: str = "rint", verdict: str = "holds", **changes: Any) -> dict[str, Any]:
    return {
        "name": name,
        "question": "rint rounds halves",
        "weight": "reliance",
        "expected": ["to even"],
        "remedy": {
            "constant": "kRintRoundsHalfToEven",
            "file": "metal/assumptions.h",
            "value": "false",
            "text": "",
        },
        "state": "answered",
        "answer": "up",
        "verdict": verdict,
    } | changes


def made_of(*probes: dict[str, Any], state: str = "passed") -> dict[str, Any]:
    found = {"device": "Apple M1", "probes": list(probes), "counts": {}}
    results = [
        steps.Result("probes", state, found=found),
        steps.Result("suites", "skipped", "not asked for"),
    ]
    return report.make({"system": "macOS 14.1"}, results)


def test_nothing_contradicts() -> None:
    made = made_of(probe(answer="to even"))
    assert made["exit_code"] == 0
    assert report.lines(made) == ["Nothing contradicts the code."]
    assert "## Contradictions" not in page.markdown(made)


def test_contradiction_names_the_constant() -> None:
    made = made_of(probe(), probe("contradicted_one", "contradicted"))
    assert made["exit_code"] == 2
    (line,) = report.lines(made)
    assert "contradicted_one" in line
    assert "expected to even; got up" in line
    assert "kRintRoundsHalfToEven = false in metal/assumptions.h" in line
    text = page.markdown(made)
    part = text[text.index("## Contradictions") : text.index("## Steps")]
    assert "contradicted_one" in part
    assert "kRintRoundsHalfToEven = false" in part
    assert "`rint`" not in part


def test_contradictions_come_before_failures() -> None:
    results = [
        steps.Result("suites", "failed", "99% tests passed, 1 tests failed out of 90"),
        steps.Result(
            "probes",
            "contradicted",
            found={"device": "M", "probes": [probe(verdict="contradicted")]},
        ),
    ]
    made = report.make({}, results)
    assert made["exit_code"] == 2
    assert "FAILED suites: 99% tests passed" in report.lines(made)[1]


@pytest.mark.parametrize("verdict", ["chance", "noted", "not asked", "holds"])
def test_other_verdicts_are_fine(verdict: str) -> None:
    assert made_of(probe(verdict=verdict))["exit_code"] == 0


def test_crashes_and_failed_steps_fail() -> None:
    crashed = made_of(probe(verdict="crashed", answer="aborted (signal 6)"))
    assert crashed["exit_code"] == 1
    assert "CRASHED rint: aborted (signal 6)" in report.lines(crashed)
    failed = report.make({}, [steps.Result("wheel", "failed", "no compiler")])
    assert failed["exit_code"] == 1
    assert "no compiler" in page.markdown(failed)


def test_page_keeps_its_tables() -> None:
    made = made_of(probe(verdict="contradicted", answer="a | b\nc"))
    row = next(x for x in page.markdown(made).splitlines() if "a \\| b" in x)
    assert row.endswith(" |")
    assert "<br>c" in row


def test_page_shows_timings_and_training() -> None:
    results = [
        steps.Result(
            "training",
            found=[{"network": "dense", "problem": "", "losses": [2.0, 0.1]}],
        ),
        steps.Result(
            "timings",
            found=[
                {"network": "dense", "system": "MLX", "seconds": 0.002, "problem": ""},
                {"network": "dense", "system": "T", "seconds": None, "problem": "no"},
            ],
        ),
    ]
    text = page.markdown(report.make({}, results))
    assert "| dense | fine | 2 -> 0.1 |" in text
    assert "| dense | MLX | 2.00 ms |" in text
    assert "| dense | T | no |" in text


def test_page_says_whose_it_is() -> None:
    assert "# Check of Apple M1\n" in page.markdown(made_of(probe()))
    without = report.make({}, [steps.Result("probes", found=made_of()["probes"])])
    without["probes"]["device"] = ""
    assert "# Check of a machine without a Metal device\n" in page.markdown(without)
    assert "# Check of this machine\n" in page.markdown(report.make({}, []))


def test_what_a_machine_lacks() -> None:
    clang = "Apple clang version 15.0.0 (clang-1500.3.9.4)"
    assert machine.complaints("macOS 14.4.1", clang) == []
    assert machine.complaints("macOS 13.3", clang) == []
    old = machine.complaints("macOS 13.2", "Apple clang version 14.0.3")
    assert [complaint.split(":")[0] for complaint in old] == [
        "macOS 13.2 is older than 13.3",
        "Apple clang version 14.0.3 is older than Xcode 15",
    ]
    assert "clang does not run" in machine.complaints("macOS 14.0", "")[0]


def ask(*arguments: str, path: Path) -> tuple[int, dict[str, Any]]:
    done = subprocess.run(
        [PROBES, "--json", path, *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return done.returncode, json.loads(path.read_text("utf-8"))


@pytest.fixture(scope="module")
def listed(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    path = tmp_path_factory.mktemp("probes") / "list.json"
    code, found = ask("--list", path=path)
    assert code == 0
    probes: list[dict[str, Any]] = found["probes"]
    return probes


@needs_probes
def test_names_are_unique(listed: list[dict[str, Any]]) -> None:
    names = [p["name"] for p in listed]
    assert len(names) == len(set(names))
    assert len(names) > 100


@needs_probes
def test_what_matters_has_an_expectation_and_a_remedy(
    listed: list[dict[str, Any]],
) -> None:
    for p in listed:
        if p["weight"] == "note":
            continue
        assert p["expected_of_a_mac"], p["name"]
        remedy = p["remedy"]
        assert remedy["constant"] or remedy["text"], p["name"]
        assert bool(remedy["constant"]) == bool(remedy["value"]), p["name"]


@needs_probes
def test_remedies_name_constants_that_exist(listed: list[dict[str, Any]]) -> None:
    for p in listed:
        constant, file = p["remedy"]["constant"], p["remedy"]["file"]
        if constant:
            text = (ROOT / file).read_text("utf-8")
            assert re.search(rf"\b{constant}\b", text), f"{p['name']}: {constant}"
        for source in re.findall(r"\bmetal/[\w/]+\.\w+", p["remedy"]["text"]):
            assert (ROOT / source).exists(), f"{p['name']}: {source}"


@needs_probes
def test_every_probe_is_on_the_page(listed: list[dict[str, Any]]) -> None:
    """With what was expected, whatever came; and with what to change, where
    something depends on it."""
    for verdict in report.VERDICTS:
        made = made_of(*(p | {"verdict": verdict, "answer": "that"} for p in listed))
        lines = page.markdown(made).splitlines()
        for p in listed:
            (row,) = [line for line in lines if line.startswith(f"| `{p['name']}` ")]
            assert page.cell(report.expectation(p)) in row
            assert "that" in row
            if verdict != "noted":
                assert page.cell(report.change(p)) in row


def test_verdicts_are_those_of_the_probes() -> None:
    text = (ROOT / "tests/metal_probes/report.cpp").read_text("utf-8")
    part = text[text.index("const char* to_string(Verdict") :]
    found = re.findall(r'return "([\w ]+)";', part[: part.index("\n}\n")])
    assert sorted(found) == sorted(report.VERDICTS)


@needs_probes
def test_every_limit_has_a_probe(listed: list[dict[str, Any]]) -> None:
    text = (ROOT / "metal/gpu_limits.h").read_text("utf-8")
    body = text[text.index("struct GpuLimits") :]
    limits = set(re.findall(r"^  [\w:]+ (\w+) =", body, re.MULTILINE))
    asked = {p["remedy"]["constant"] for p in listed if p["weight"] != "note"}
    # What Apple documents, what the device says, and choices of our own.
    known = {"max_elements", "max_image_extent", "max_image_channels"}
    known |= {"max_buffer_bytes", "heap_alignment", "has_bfloat16"}
    known |= {"max_threads_per_group", "max_mask_bytes"}
    known |= {"flops_per_second", "bytes_per_second"}  # asked on Macs only
    assert limits - asked == known


@needs_probes
def test_every_assumption_has_a_probe(listed: list[dict[str, Any]]) -> None:
    text = (ROOT / "metal/assumptions.h").read_text("utf-8")
    constants = set(re.findall(r"constexpr bool (k\w+)", text))
    asked = {p["remedy"]["constant"] for p in listed if p["weight"] != "note"}
    assert constants - asked == set()


@needs_probes
def test_probes_are_chosen_and_guarded(tmp_path: Path) -> None:
    code, found = ask("rint", "tensor_4_gb", "long_buffer", path=tmp_path / "a.json")
    assert code == 0
    states = {p["name"]: p["verdict"] for p in found["probes"]}
    assert states["rint"] == "holds"
    assert states["tensor_4_gb"] == "not asked"
    assert found["is_emulated"]


@needs_probes
def test_unknown_names_are_refused() -> None:
    for arguments in (["no_such"], ["--answer", "no_such=1"], ["--nonsense"]):
        done = subprocess.run(
            [PROBES, *arguments], capture_output=True, timeout=60, check=False
        )
        assert done.returncode == 64, arguments


def check(output: Path, *arguments: str) -> tuple[int, dict[str, Any], str]:
    done = subprocess.run(
        [
            ROOT / "tools" / "mac_check.sh",
            "--output",
            output,
            "--probes",
            PROBES,
            *arguments,
        ],
        env=os.environ | {"PYTHON": sys.executable},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (output / "report.json").exists(), done.stderr
    made = json.loads((output / "report.json").read_text("utf-8"))
    assert made["exit_code"] == done.returncode
    return done.returncode, made, (output / "report.md").read_text("utf-8")


@needs_probes
def test_emulator_is_fine(tmp_path: Path) -> None:
    code, made, text = check(
        tmp_path, "--only", "probes", "--probe", "rint", "image_max_ties"
    )
    assert code == 0
    assert [p["verdict"] for p in made["probes"]["probes"]] == ["holds", "holds"]
    assert "Check of Emulated GPU" in text


@needs_probes
def test_all_answers_of_the_emulator_are_expected(tmp_path: Path) -> None:
    code, found = ask(path=tmp_path / "all.json")
    assert code == 0
    for verdict in ("contradicted", "chance", "crashed"):
        assert [p["name"] for p in found["probes"] if p["verdict"] == verdict] == []


@needs_probes
def test_contradicting_machine(tmp_path: Path) -> None:
    answers = ("--answer", "image_max_ties=last", "--answer", "tensor_4_gb=right")
    code, made, text = check(
        tmp_path,
        *("--only", "probes", "tools", *answers),
        *("--probe", "rint", "image_max_ties", "tensor_4_gb"),
    )
    assert code == 2
    verdicts = {p["name"]: p["verdict"] for p in made["probes"]["probes"]}
    assert verdicts == {
        "rint": "holds",
        "image_max_ties": "contradicted",
        "tensor_4_gb": "chance",
    }
    part = text[text.index("## Contradictions") : text.index("## Steps")]
    assert "kImagePoolingPicksFirstOfTies = false" in part
    assert "SIZE_MAX" in text[text.index("## Chances") :]


def test_missing_program_is_a_failed_step(tmp_path: Path) -> None:
    done = subprocess.run(
        [
            *(sys.executable, ROOT / "tools" / "mac_check", "--only", "probes"),
            *("--output", tmp_path, "--probes", tmp_path / "nothing"),
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert "FAILED probes" in done.stdout


def check_training(output: Path, device: str, library_path: str = "") -> None:
    """With this interpreter's traingraph, on a device with the CPU beside it."""
    environment = dict(os.environ)
    if library_path:
        environment["LD_LIBRARY_PATH"] = library_path
    done = subprocess.run(
        [
            *(sys.executable, ROOT / "tools" / "mac_check"),
            *("--only", "training", "--device", device),
            *("--python", sys.executable, "--output", output),
        ],
        env=environment,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    made = json.loads((output / "report.json").read_text("utf-8"))
    assert done.returncode == 0, made["steps"]
    assert {row["problem"] for row in made["training"]} == {""}
    assert len(made["training"]) == 6


def test_training_runs(tmp_path: Path) -> None:
    check_training(tmp_path, "cpu")


@pytest.mark.skipif(
    not EMULATED.exists(), reason="the emulated GPU is not built (make cpp-test)"
)
def test_training_runs_on_the_emulator(tmp_path: Path) -> None:
    """As on a Mac: a device whose tensors are laid out and computed otherwise."""
    libraries = tmp_path / "lib"
    libraries.mkdir()
    # As the extension of a wheel asks for it, and as that of a build does.
    parts = traingraph.__version__.split(".")
    for count in range(len(parts)):
        name = ".".join(["libtraingraph.so", *parts[:count]])
        (libraries / name).symlink_to(EMULATED)
    check_training(tmp_path, "gpu", str(libraries))
