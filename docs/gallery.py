# SPDX-License-Identifier: MIT
"""Pages of the notebooks that tools/make_notebooks.py wrote and ran.

Two blocks stand for what the notebooks have:

    ```{notebook} digits      cells and outputs, and a link to the file
    ```{pictures}             of each: title, summary, pictures
"""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nbformat

if TYPE_CHECKING:
    from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = ROOT / "build" / "notebooks"
STUB = re.compile(r"^```\{(notebook|pictures)\} ?(\w*)\n```$", re.MULTILINE)
PICTURE_TYPES = {"image/png": "png", "image/svg+xml": "svg"}


def read(name: str) -> Any:
    return nbformat.read(NOTEBOOKS / name / f"{name}.ipynb", as_version=4)


def fenced(language: str, text: str, *options: str) -> str:
    lines = [f"``````{{code-block}} {language}", *options, "", text.rstrip("\n")]
    return "\n".join([*lines, "``````"])


def pictures_of(name: str) -> list[Path]:
    """Written where Sphinx finds them, in the order in which they were shown."""
    found = []
    for cell in read(name).cells:
        for output in cell.get("outputs", []):
            found += [p for p in [picture_of(name, output, len(found))] if p]
    return found


def picture_of(name: str, output: Any, number: int) -> Path | None:
    data = output.get("data", {})
    for kind, suffix in PICTURE_TYPES.items():
        if kind in data:
            path = NOTEBOOKS / name / f"{name}-{number}.{suffix}"
            is_text = suffix == "svg"
            content = data[kind].encode() if is_text else base64.b64decode(data[kind])
            path.write_bytes(content)
            return path
    return None


def notebook_as_markdown(name: str, up: str) -> str:
    """`up` leads from the page's folder to the root."""
    folder = f"{up}/build/notebooks/{name}"
    notebook, shown = read(name), iter(pictures_of(name))
    parts = []
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            parts.append(cell.source)
            continue
        parts.append(fenced("python", cell.source))
        for output in cell.outputs:
            if any(kind in output.get("data", {}) for kind in PICTURE_TYPES):
                parts.append(f"![What {name} shows]({folder}/{next(shown).name})")
                continue
            text = output.get("text") or output.get("data", {}).get("text/plain")
            if text:
                parts.append(fenced("text", text, ":class: output"))
    link = f"{{download}}`{name}.ipynb <{folder}/{name}.ipynb>`"
    program = f"`examples/python/{name}.py`"
    parts.insert(1, f"The program {program}, as a notebook: {link}.")
    return "\n\n".join(parts)


def gallery_as_markdown() -> str:
    parts = []
    for page in sorted((ROOT / "docs" / "examples").glob("*.md")):
        name = page.stem
        title, _, text = read(name).cells[0].source.partition("\n")
        summary = text.strip().partition("\n\n")[0]
        link = f"[Program and what it prints](examples/{name}.md)"
        parts.append(f"#{title}\n\n{summary} {link}")
        parts += [
            f"[![What {name} shows](../build/notebooks/{name}/{picture.name})"
            f"](examples/{name}.md)"
            for picture in pictures_of(name)
        ]
    return "\n\n".join(parts)


def put_notebooks_in(_app: Sphinx, page: str, source: list[str]) -> None:
    def text(stub: re.Match[str]) -> str:
        up = "/".join([".."] * (page.count("/") + 1))
        return notebook_as_markdown(stub[2], up) if stub[2] else gallery_as_markdown()

    source[0] = STUB.sub(text, source[0])


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", put_notebooks_in, priority=450)
    return {"parallel_read_safe": True}
