# SPDX-License-Identifier: MIT
"""The code blocks of the documentation: what they are, and a page as a session.

A page is one session: its blocks run from top to bottom and share their names.

    ```python                       runs
    ```pycon                        runs, and prints what it shows
    ```cpp, ```c                    compiles; a program with main() also links
    ```cpp in: src/ops/reduce.cpp   stands in that file, word for word
    ```cpp new: src/ops/roll.cpp    becomes that file, or lines of one (add:), in the copy
                                    of the tree that tools/try_adding.py builds
    ```python needs: torch          runs where PyTorch is installed
    ```python no-run: why           does not run

Code that readers need not see stands in an HTML comment that opens with the
language: "<!-- python".
"""

from __future__ import annotations

import doctest
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
# `text`, and what is shown of other languages, is not run.
CODE = {"python", "pycon", "cpp", "c", "cmake"}
SHOWN = {"text", "sh", "dot", "objc", "swift"}
MARKERS = {"in", "new", "add", "needs", "no-run"}


@dataclass(frozen=True)
class Block:
    page: Path
    line: int  # of the fence
    language: str
    marker: str
    reason: str
    text: str

    def padded(self) -> str:
        """The text at its lines of the page."""
        return "\n" * self.line + self.text

    def __str__(self) -> str:
        return f"{self.page.name}:{self.line}"


def pages() -> list[Path]:
    """Of templates (x.in.md) only what is made of them."""
    docs = [page for page in ROOT.glob("docs/**/*.md") if ".in." not in page.name]
    return [ROOT / "README.md", *sorted(docs)]


def blocks_of(page: Path) -> list[Block]:
    """All blocks of a page but Sphinx's own ("```{toctree}")."""
    blocks: list[Block] = []
    fence: tuple[int, str, str] | None = None  # line, information, its end
    text: list[str] = []
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if fence is None:
            opened = re.fullmatch(r"(```+|<!--) ?(.*)", line)
            hidden = opened is not None and opened[1] == "<!--"
            if opened and (not hidden or opened[2] in CODE):
                fence = number, opened[2], "-->" if hidden else opened[1]
                text = []
        elif line == fence[2]:
            language, _, rest = fence[1].partition(" ")
            marker, _, reason = rest.partition(": ")
            if not language.startswith("{"):
                code = "".join(f"{part}\n" for part in text)
                blocks.append(Block(page, fence[0], language, marker, reason, code))
            fence = None
        else:
            text.append(line)
    if fence is not None:
        raise ValueError(f"{page}:{fence[0]}: the block does not end")
    return blocks


def session_of(page: Path, modules: set[str]) -> list[Block]:
    """The Python blocks that run where these modules are installed."""
    return [
        block
        for block in blocks_of(page)
        if block.language in {"python", "pycon"}
        and (not block.marker or (block.marker == "needs" and block.reason in modules))
    ]


def run_session(blocks: list[Block]) -> None:
    """Errors show the lines of the page."""
    names: dict[str, Any] = {"__name__": "__main__"}
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    for block in blocks:
        if block.language == "python":
            exec(compile(block.padded(), str(block.page), "exec"), names)  # noqa: S102
            continue
        test = doctest.DocTestParser().get_doctest(
            block.text, names, str(block), str(block.page), block.line
        )
        if doctest.DocTestRunner(optionflags=options).run(test, clear_globs=False)[0]:
            sys.exit(f"{block}: prints something else")
        names.update(test.globs)


if __name__ == "__main__":
    run_session(session_of(Path(sys.argv[1]), set(sys.argv[2:])))
