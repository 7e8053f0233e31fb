#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes each program of examples/python as a notebook, and runs it.

The notebook is the program: its docstring is the text, a paragraph at the top
level a cell, and what it imports from files beside it stands in it, so that it runs
anywhere. A cell is added for arguments if the program reads some, and one for pictures
if it leaves them in demo/. The notebook of NAME is FOLDER/NAME/NAME.ipynb.
"""

from __future__ import annotations

import argparse
import ast
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import nbformat
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

if TYPE_CHECKING:
    from nbformat import NotebookNode

PROGRAMS = Path(__file__).resolve().parent.parent / "examples" / "python"

PICTURES = """\
from pathlib import Path

from IPython.display import SVG, Image, display

for picture in sorted(Path("demo").glob("*.[ps][nv]g")):
    display((SVG if picture.suffix == ".svg" else Image)(str(picture)))"""


def is_main(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and "__name__" in ast.unparse(node.test)


def for_types(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def cells_of(path: Path, imports: list[str]) -> list[str]:
    """The code without its docstring, as blank lines at the top level divide it.
    Imports are added to `imports`; instead of those of files beside it their code is
    in front."""
    lines = path.read_text("utf-8").splitlines()
    cells: list[str] = []
    paragraph: list[str] = []
    above = 0  # the line at which the last statement ended
    for node in ast.parse("\n".join(lines)).body:
        assert node.end_lineno is not None
        text = lines[above : node.end_lineno]  # with comments and decorators
        above = node.end_lineno
        module = node.module if isinstance(node, ast.ImportFrom) else None
        beside = path.with_name(f"{module}.py")
        if beside.exists():
            cells += cells_of(beside, imports)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            if (line := ast.unparse(node)) not in imports:
                imports.append(line)
        elif not for_types(node) and not is_docstring(node):
            if not text[0].strip():
                cells.append("\n".join(paragraph))
                paragraph = []
            if is_main(node):
                assert isinstance(node, ast.If)
                text = ["\n".join(map(ast.unparse, node.body))]
            paragraph += text
    cells = [cell.strip("\n") for cell in [*cells, "\n".join(paragraph)]]
    return [cell for cell in cells if cell]


def is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def notebook_of(path: Path) -> NotebookNode:
    """The first cell is text, the second all imports."""
    text = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
    title = path.stem.replace("_", " ").capitalize()
    imports: list[str] = []
    code = cells_of(path, imports)
    imports.sort(key=lambda line: not line.startswith("from __future__"))
    if "import argparse" in imports:
        code.insert(0, f'import sys\n\nsys.argv = ["{path.name}"]  # and arguments')
    if re.search(r"\.(png|svg)\b", "".join(code)):
        code.append(PICTURES)
    cells = [
        new_markdown_cell(f"# {title}\n\n{text}"),
        *map(new_code_cell, ["\n".join(imports), *code]),
    ]
    for number, cell in enumerate(cells):
        cell["id"] = f"{path.stem}-{number}"  # the same in each build
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return new_notebook(cells=cells, metadata={"kernelspec": kernel})


def run(notebook: NotebookNode, folder: Path) -> None:
    """In the folder. Bars of progress and warnings are left out."""
    NotebookClient(
        notebook,
        timeout=None,
        coalesce_streams=True,
        resources={"metadata": {"path": str(folder)}},
    ).execute()
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.metadata.clear()  # times of the clock
            cell.outputs = [
                output
                for output in cell.outputs
                if output.get("name") != "stderr"
                and not any("widget" in kind for kind in output.get("data", {}))
            ]
    notebook.metadata.pop("widgets", None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("programs", nargs="+", help="names: digits ...")
    parser.add_argument("--no-run", action="store_true", help="without outputs")
    options = parser.parse_args()
    for name in options.programs:
        folder = options.folder / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        notebook = notebook_of(PROGRAMS / f"{name}.py")
        if not options.no_run:
            run(notebook, folder)
        nbformat.write(notebook, folder / f"{name}.ipynb")


if __name__ == "__main__":
    main()
