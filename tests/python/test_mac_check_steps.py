# SPDX-License-Identifier: MIT
"""The steps of tools/mac_check.sh to their end, on made-up machines: commands that
fail, hang, are ended or write something else than they should."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tools"))

from mac_check import machine, page, report, run, steps

SUMMARY = "100% tests passed, 0 tests failed out of 839"
PROBE = {
    "name": "rint",
    "question": "rint rounds halves",
    "weight": "reliance",
    "expected": ["to even"],
    "remedy": {
        "constant": "kRint",
        "file": "metal/assumptions.h",
        "value": "false",
        "text": "",
    },
    "state": "answered",
    "answer": "to even",
    "verdict": "holds",
}


def options(output: Path, **changes: Any) -> argparse.Namespace:
    given = {
        "output": output,
        "slow": False,
        "memory": None,
        "probe": [],
        "answer": [],
        "device": "gpu",
        "probes": None,
        "python": None,
        "compare": False,
    }
    return argparse.Namespace(**(given | changes))


def probes_of(**changes: Any) -> dict[str, Any]:
    probe = PROBE | changes
    return {
        "device": "Apple M1",
        "probes": [probe],
        "counts": {probe["verdict"]: 1},
    }


def output_of(words: list[str], option: str) -> Path:
    return Path(words[words.index(option) + 1])


class Mac(run.Run):
    """A machine on which every command does what it should, but for those that
    `ends` names: by an exit code, or by something that is called."""

    def __init__(self, given: argparse.Namespace, probes: Any = None) -> None:
        super().__init__(given)
        self.ends: dict[str, int | Callable[[], int]] = {}
        self.probes = probes_of() if probes is None else probes
        self.commands: list[list[str]] = []

    def call(
        self, name: str, *command: str | Path, patience: float | None = None
    ) -> int:
        del patience
        words = [str(word) for word in command]
        self.commands.append(words)
        (self.output / f"{name}.log").write_text("$ " + " ".join(words), "utf-8")
        for part, end in self.ends.items():
            if part in " ".join(words):
                return end if isinstance(end, int) else end()
        if "metal_probes" in words[0] and "--json" in words:
            text = self.probes
            if not isinstance(text, str):
                text = json.dumps(text)
            output_of(words, "--json").write_text(text, "utf-8")
        elif "venv" in words:
            (Path(words[-1]) / "bin").mkdir(parents=True)
            (Path(words[-1]) / "bin" / "python").touch()
        elif "wheel" in words:
            folder = output_of(words, "--wheel-dir")
            folder.mkdir(exist_ok=True)
            (folder / "traingraph-1-py3.whl").touch()
        elif "ctest" in words[0]:
            output_of(words, "--output-log").write_text(SUMMARY, "utf-8")
        elif words[1].endswith(("training.py", "timings.py")):
            self.write_rows(words)
        return 0

    def write_rows(self, words: list[str]) -> None:
        if words[1].endswith("training.py"):
            rows = [{"network": n, "problem": "", "losses": []} for n in "ab"]
            filled = {"losses": [2.0, 1.0]}
        else:
            systems = ("traingraph on gpu", "MLX")
            rows = [
                {"network": "a", "system": s, "seconds": None, "problem": ""}
                for s in systems
            ]
            filled = {"seconds": 0.002}
        if "--only" in words:
            rows = [rows[int(words[words.index("--only") + 1])] | filled]
        Path(words[-1]).write_text(json.dumps(rows), "utf-8")


@pytest.fixture
def mac(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Mac:
    made = Mac(options(tmp_path))
    monkeypatch.setattr(steps, "Run", lambda _options: made)
    monkeypatch.setattr(machine, "is_mac", lambda: True)
    monkeypatch.setattr(
        machine,
        "describe",
        lambda: {"system": "macOS 15.1", "compiler": "Apple clang version 16.0.0"},
    )
    return made


def check(mac: Mac, wanted: tuple[str, ...] = steps.NAMES) -> dict[str, Any]:
    """The report, which can always be written."""
    made = report.make(machine.describe(), steps.run_all(mac.options, list(wanted)))
    assert page.markdown(made)
    assert report.lines(made)
    json.dumps(made)
    return made


def states(made: dict[str, Any]) -> dict[str, str]:
    return {step["name"]: step["state"] for step in made["steps"]}


def detail(made: dict[str, Any], name: str) -> str:
    found: str = next(s["detail"] for s in made["steps"] if s["name"] == name)
    return found


def test_all_is_well(mac: Mac) -> None:
    made = check(mac)
    assert set(states(made).values()) == {"passed"}
    assert made["exit_code"] == 0
    assert [row["losses"] for row in made["training"]] == [[2.0, 1.0]] * 2
    assert [row["seconds"] for row in made["timings"]] == [0.002] * 2
    assert detail(made, "suites") == SUMMARY
    order = [" ".join(words) for words in mac.commands]
    parts = ("venv", "requirements", "metal_probes", "wheel", "training", "timings")
    found = [next(i for i, text in enumerate(order) if p in text) for p in parts]
    assert found == sorted(found)
    assert "ctest" in order[-1]
    assert not any("mlx" in words for words in mac.commands)


@pytest.mark.parametrize(
    ("part", "step"),
    [
        ("-m venv", "environment"),
        ("requirements.txt", "environment"),
        ("tests/metal_probes -B", "probes"),
        ("--build", "probes"),
        ("-m pip wheel", "wheel"),
        ("--force-reinstall", "wheel"),
        ("training.py", "training"),
        ("timings.py", "timings"),
        ("--preset dev", "suites"),
        ("ctest", "suites"),
    ],
)
@pytest.mark.parametrize("code", [1, -6])
def test_a_step_that_fails_ends_no_other(
    mac: Mac, part: str, step: str, code: int
) -> None:
    mac.ends[part] = code
    made = check(mac)
    failed = [name for name, state in states(made).items() if state == "failed"]
    also = ["suites"] if part == "--build" else []  # both are built by cmake
    assert failed == [step, *also]
    assert made["exit_code"] == 1
    if part == "ctest":
        return
    ended = "exit code 1" if code == 1 else "SIGABRT"
    assert ended in detail(made, step)
    assert f"FAILED {step}: " in "\n".join(report.lines(made))


@pytest.mark.parametrize("later", ["training.py", "ctest", "-m pip wheel"])
def test_contradictions_come_before_later_failures(mac: Mac, later: str) -> None:
    mac.probes = probes_of(verdict="contradicted", answer="up")
    mac.ends["--json"] = lambda: (
        (mac.output / "probes.json").write_text(json.dumps(mac.probes), "utf-8") and 2
    )
    mac.ends[later] = 1
    made = check(mac)
    assert states(made)["probes"] == "contradicted"
    assert made["exit_code"] == 2
    assert "kRint = false in metal/assumptions.h" in report.lines(made)[0]


@pytest.mark.parametrize(
    ("code", "verdict", "state", "exit_code"),
    [
        (0, "holds", "passed", 0),
        (0, "chance", "passed", 0),
        (0, "not asked", "passed", 0),
        (2, "contradicted", "contradicted", 2),
        (1, "crashed", "failed", 1),
        (3, "not asked", "failed", 1),
        (1, "contradicted", "failed", 2),
        (-11, "holds", "failed", 1),
        (74, "holds", "failed", 1),
    ],
)
def test_ends_of_the_probes(
    mac: Mac, code: int, verdict: str, state: str, exit_code: int
) -> None:
    text = json.dumps(probes_of(verdict=verdict, answer="up"))
    path = mac.output / "probes.json"
    mac.ends["--json"] = lambda: path.write_text(text, "utf-8") and code
    made = check(mac, ("probes",))
    assert states(made)["probes"] == state
    assert made["exit_code"] == exit_code
    if code == 3:
        assert "no Metal device" in detail(made, "probes")
    assert "`rint` rint rounds halves" in page.markdown(made)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "not JSON"),
        ('{"device": "M1", "probes": [', "not JSON"),
        ("[]", "not metal_probes' report"),
        ('{"device": "M1"}', "not metal_probes' report"),
        (json.dumps(probes_of(verdict="maybe")), "unknown verdicts: ['maybe']"),
        ('{"probes": [{}], "counts": {}}', "mac_check itself: KeyError"),
    ],
)
def test_probes_that_write_something_else(mac: Mac, text: str, says: str) -> None:
    mac.probes = text
    made = check(mac, ("probes", "wheel"))
    assert states(made)["probes"] == "failed"
    assert says in detail(made, "probes")
    assert states(made)["wheel"] == "passed"
    assert made["exit_code"] == 1


def test_answers_may_be_any_bytes(mac: Mac) -> None:
    text = (
        json.dumps(probes_of(answer="MARK | `x`\n")).encode().replace(b"MARK", b"\xff")
    )
    path = mac.output / "probes.json"
    mac.ends["--json"] = lambda: path.write_bytes(text) and 0
    made = check(mac, ("probes",))
    assert made["exit_code"] == 0
    assert "\ufffd \\| `x`" in page.markdown(made)


def test_no_report_of_the_probes(mac: Mac) -> None:
    mac.ends["--json"] = -11
    made = check(mac, ("probes",))
    assert "metal_probes was ended by SIGSEGV" in detail(made, "probes")


def test_a_network_that_ends_the_process_is_a_row(mac: Mac) -> None:
    mac.ends["training.py --device gpu --only 0"] = -6
    made = check(mac, ("training",))
    first, second = made["training"]
    assert "was ended by SIGABRT" in first["problem"]
    assert (second["problem"], second["losses"]) == ("", [2.0, 1.0])
    assert states(made)["training"] == "failed"
    assert "| b | fine | 2 -> 1 |" in page.markdown(made)


def test_a_network_that_hangs_is_a_row(mac: Mac) -> None:
    def hang() -> int:
        raise run.StepError("python did not end within 600 s")

    mac.ends["timings.py --device gpu --only 1"] = hang
    made = check(mac, ("timings",))
    assert made["timings"][0]["seconds"] == 0.002
    assert "did not end" in made["timings"][1]["problem"]
    assert states(made)["timings"] == "passed"  # MLX's, not ours
    mac.ends = {"timings.py --device gpu --only 0": hang}
    assert states(check(mac, ("timings",)))["timings"] == "failed"


def test_no_test_is_no_success(mac: Mac) -> None:
    mac.ends["ctest"] = 0
    made = check(mac, ("suites",))
    assert states(made)["suites"] == "failed"
    assert "no test ran" in detail(made, "suites")


def test_an_interruption_still_reports(mac: Mac) -> None:
    def interrupt() -> int:
        raise KeyboardInterrupt

    mac.ends["-m pip wheel"] = interrupt
    made = check(mac)
    found = states(made)
    assert (found["probes"], found["wheel"]) == ("passed", "interrupted")
    assert {found[name] for name in ("training", "timings", "suites")} == {"skipped"}
    assert made["exit_code"] == 1


def test_others_are_installed_on_demand(mac: Mac) -> None:
    mac.options.compare = True
    check(mac, ("environment",))
    assert mac.commands[-1][-2:] == ["torch", "mlx"]
    mac.ends["torch mlx"] = 1
    made = check(mac, ("environment",))
    assert states(made)["environment"] == "passed"
    assert "could not be installed" in detail(made, "environment")


def test_an_interpreter_that_is_given_is_used(mac: Mac) -> None:
    mac.options.python = Path("/some/python")
    mac.python = ""
    found = states(check(mac))
    assert (found["environment"], found["wheel"]) == ("skipped", "skipped")
    scripts = [w for w in mac.commands if w[1].endswith("training.py")]
    assert {words[0] for words in scripts} == {"/some/python"}


@pytest.mark.parametrize("given", [sys.executable, Path(sys.executable).name])
def test_an_interpreter_is_found_from_anywhere(
    mac: Mac, monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    folder = Path(sys.executable).parent
    monkeypatch.setenv("PATH", str(folder))
    mac.options.python = Path(given)
    check(mac, ("training",))
    assert mac.commands[0][0] == sys.executable
    monkeypatch.chdir(folder.parent)
    mac.options.python = Path(folder.name) / Path(given).name
    mac.commands.clear()
    check(mac, ("training",))
    assert mac.commands[0][0] == sys.executable


def test_a_later_check_uses_the_environment_of_an_earlier_one(mac: Mac) -> None:
    bin_folder = mac.output / "venv" / "bin"
    bin_folder.mkdir(parents=True)
    (bin_folder / "python").touch()
    check(mac, ("probes", "training"))
    assert mac.environment["PATH"].startswith(f"{bin_folder}:")
    scripts = [w for w in mac.commands if w[1].endswith("training.py")]
    assert {words[0] for words in scripts} == {str(bin_folder / "python")}
    assert not any("venv" in words for words in mac.commands)


def test_an_old_machine_is_told_and_tried(
    mac: Mac, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        machine, "describe", lambda: {"system": "macOS 12.6", "compiler": ""}
    )
    made = check(mac, ("tools", "probes"))
    assert states(made)["tools"] == "failed"
    assert "older than 13.3" in detail(made, "tools")
    assert "license" in detail(made, "tools")
    assert states(made)["probes"] == "passed"
