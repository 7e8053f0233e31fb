# SPDX-License-Identifier: MIT
"""The reference of C++ and C: what the public headers say, as Markdown.

A line "```{header} traingraph/graph.h" on a page becomes the header's opening
comment, then a section for each class and enum, and a paragraph for each function
outside of classes, with the declaration as it stands. The headers are formatted
by clang-format and need no parser of C++: declarations of a namespace are blocks
between blank lines, `///` is text, and what is private ends a class.
"""

from __future__ import annotations

import logging
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

INCLUDE = Path(__file__).resolve().parent.parent / "include"
# Of no use to who calls the library: macros, and what only includes others.
INTERNAL = {
    "export.h",
    "enums.h",
    "enum_table.h",
    "layers.h",
    "nodes.h",
    "traingraph.h",
}
# What stands around declarations.
FRAME = (
    "#include", "#pragma", "#if", "#else", "#endif", "#undef", "#define",
    "namespace", "}  // namespace", 'extern "C" {', '}  // extern "C"',
)  # fmt: skip
DIRECTIVE = re.compile(r"^```\{header\} (\S+)\n```$", re.MULTILINE)
TYPE = re.compile(
    r"^(?:class|struct|enum class|union) (?:TRAINGRAPH_API )?(\w+)(?:[^;]*|.*\{.*)$"
)


def header_as_markdown(path: str) -> str:
    """The sections of one header, or of the table of enums."""
    text = (INCLUDE / path).read_text()
    if path.endswith(".inc"):
        return enums_as_markdown(text)
    if text.startswith("/*"):  # C reads as it stands
        return f"```c\n{text.partition('*/')[2].lstrip()}```"
    lines = without_macros(text).lstrip().splitlines()[1:]  # without the licence
    intro = []
    while not lines[0] or lines[0].startswith("//"):
        intro.append(lines.pop(0).lstrip("/").removeprefix(" "))
    parts = [f"`#include <{path}>`", intro_as_markdown(intro)]
    for block in blocks_of(lines):
        parts += block_as_markdown(block)
    return "\n\n".join(parts)


def intro_as_markdown(lines: list[str]) -> str:
    """Paragraphs; indented ones are programs or drawings."""
    parts = []
    for paragraph in "\n".join(lines).split("\n\n"):
        is_drawn = any(line.startswith("  ") for line in paragraph.splitlines())
        parts.append(fenced(paragraph, "text") if is_drawn else escaped(paragraph))
    return "\n\n".join(parts)


def slashed(comment: re.Match[str]) -> str:
    """A comment of C as one of C++."""
    return re.sub(r"^ ?(\*(?= |$))?", "///", comment[1].strip(), flags=re.MULTILINE)


def without_macros(text: str) -> str:
    """Macros of a header are replaced where it uses them, and tables named."""
    text = re.sub(r"^/\*(.*?)\*/$", slashed, text, flags=re.MULTILINE | re.DOTALL)
    define = r"^(?:///.*\n)*#define (\w+)(?:\((.*?)\))?((?:.*\\\n)*.*)\n"
    macros = re.findall(define, text, re.MULTILINE)
    text = re.sub(define, "", text, flags=re.MULTILINE)
    text = re.sub(r"\n +TRAINGRAPH_FIELDS\([^;{}]*\)(?=\n};)", "", text)  # op_field.h
    text = re.sub(
        r'^#include ".*/(\w+\.inc)"$', r"  // rows of \1", text, flags=re.MULTILINE
    )
    for name, parameters, body in macros:
        if parameters:
            use = re.compile(rf"^{name}\((.*)\);$", re.MULTILINE)
            names = parameters.split(", ")
            text = use.sub(lambda m: f"{filled(body, names, m[1])};", text)  # noqa: B023
        else:
            value = plain(body).replace("\n", "\n  ")
            text = re.sub(rf"\b{name}\b" + ("" if value else " ?"), value, text)
    return text


def plain(body: str) -> str:
    """The text of a macro without the backslashes of its lines."""
    lines = [line.rstrip("\\").rstrip() for line in body.splitlines()]
    return "\n".join(line.removeprefix("  ") for line in lines).strip()


def filled(body: str, parameters: list[str], arguments: str) -> str:
    """A macro's text; only the last argument may have commas outside brackets."""
    values = re.split(r", (?=[({])", arguments, maxsplit=len(parameters) - 1)
    text = plain(body)
    for parameter, value in zip(parameters, values, strict=False):
        name = "__VA_ARGS__" if parameter == "..." else parameter
        text = re.sub(rf"#{name}\b", f'"{value}"', text)
        text = re.sub(
            rf" ?\b{name}\b" if value[0] in "({" else rf"\b{name}\b", value, text
        )
    return text


def blocks_of(lines: list[str]) -> list[list[str]]:
    """Declarations outside of classes, each with the comment in front."""
    blocks: list[list[str]] = [[]]
    for line in ["" if line.startswith(FRAME) else line for line in lines]:
        so_far = "".join(blocks[-1])
        is_inside = so_far.count("{") > so_far.count("}")
        has_code = any(not part.startswith("//") for part in blocks[-1])
        if line.startswith("//") and has_code and not is_inside:
            blocks.append([])
        if line or is_inside:
            if not line.startswith(("// clang-format", "// NOLINT")):
                blocks[-1].append(line)
            so_far += line
            if line.endswith(("}", "};")) and so_far.count("{") == so_far.count("}"):
                blocks.append([])
        else:
            blocks.append([])
    return [block for block in blocks if block]


def block_as_markdown(block: list[str]) -> list[str]:
    text = []
    while block and block[0].startswith("//"):
        text.append(block.pop(0).lstrip("/").strip())
    if block in ([], ["    ;"]) or all(is_forward(line) for line in block):
        return []
    for number, line in enumerate(block):  # what is private ends the class
        if line in {" private:", "private:"}:
            block = [*block[:number], "};"]
            break
    while len(block) > 1 and not block[-2]:
        del block[-2]
    code = "\n".join(block).replace("TRAINGRAPH_API ", "")
    code = re.sub(r" *// NOLINT.*", "", code)
    first = next((line for line in block if not line.startswith("template")), "")
    named = TYPE.match(first)
    heading = [f"### {named[1]}"] if named else []
    return [
        *heading,
        *([escaped("\n".join(text))] if text else []),
        fenced(code, "cpp"),
    ]


def is_forward(line: str) -> bool:
    return re.match(r"^(class|struct) \w+;|^ *//", line) is not None


def enums_as_markdown(text: str) -> str:
    """Each enum of enums.inc as a table."""
    parts = ["`#include <traingraph/enums.h>`"]
    row = re.compile(
        r'^TRAINGRAPH_(\w+)\((\w+), (?:(\d+), "(\w+)", )?"(.*)"\)$', re.MULTILINE
    )
    for kind, name, number, word, doc in row.findall(text):
        if kind == "ENUM":
            head = "| Case | Number | Name | |\n|---|---|---|---|"
            parts += [f"### {name}", escaped(doc), head]
        else:
            means = escaped(doc).replace("|", "\\|")
            parts[-1] += f"\n| `{name}` | {number} | `{word}` | {means} |"
    return "\n\n".join(parts)


def escaped(text: str) -> str:
    """Plain text with code in backticks, as Markdown."""
    pieces = re.split(r"(`[^`]*`)", text)
    pieces[::2] = [
        re.sub(r"([\\*_<>\[\]#|$~])", r"\\\1", piece) for piece in pieces[::2]
    ]
    return re.sub(r"^(\d+)\.", r"\1\\.", "".join(pieces), flags=re.MULTILINE)


def fenced(code: str, language: str) -> str:
    return f"```{language}\n{code}\n```"


def expand_headers(app: Sphinx, page: str, source: list[str]) -> None:
    shown = app.env.metadata.setdefault("cpp headers", {})
    for path in DIRECTIVE.findall(source[0]):
        shown[path] = page
        app.env.note_dependency(INCLUDE / path, docname=page)
    source[0] = DIRECTIVE.sub(lambda match: header_as_markdown(match[1]), source[0])


def check_headers(app: Sphinx, _exception: Exception | None) -> None:
    """Is every public header on a page?"""
    shown = app.env.metadata.get("cpp headers", {})
    folder = INCLUDE / "traingraph"
    for header in sorted(folder.rglob("*.h")):
        path = header.relative_to(INCLUDE).as_posix()
        if header.relative_to(folder).as_posix() not in INTERNAL and path not in shown:
            message = "%s is on no page of docs/reference"
            logging.getLogger("sphinx.cpp_reference").warning(message, path)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", expand_headers)
    app.connect("build-finished", check_headers)
    return {"parallel_read_safe": False}
