# SPDX-License-Identifier: MIT
"""The site that `make docs` builds from this folder, with Sphinx.

Pages are plain Markdown that reads as well in an editor. The reference of
Python comes from the sources and the stub of the package, that of C++ from the
comments of its headers; neither needs a compiled library.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx.ext.napoleon import Config, GoogleDocstring
from sphinx.util.nodes import make_refnode

if TYPE_CHECKING:
    from sphinx.addnodes import pending_xref
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

ROOT = Path(__file__).resolve().parent.parent

project = "traingraph"
author = "traingraph authors"
copyright = author
(release,) = re.findall(
    r'TRAINGRAPH_VERSION "([^"]+)"',
    (ROOT / "include" / "traingraph" / "version.h").read_text(),
)

sys.path.insert(0, str(Path(__file__).parent))
extensions = [
    "myst_parser",
    "autoapi.extension",
    "sphinx_copybutton",
    "cpp_reference",
    "gallery",
]
exclude_patterns = ["mlcompute/*.md"]
default_role = "code"  # in docstrings
nitpicky = True
python_use_unqualified_type_names = True
# A name of two modules (Graph, PaddingPolicy) in an annotation of the stub.
suppress_warnings = ["ref.python"]
# Headings are targets, as on the pages of a repository: page.md#heading.
myst_heading_anchors = 4

autoapi_dirs = [str(ROOT / "python" / "traingraph")]
autoapi_generate_api_docs = False
autoapi_add_toctree_entry = False
autoapi_options = ["members", "undoc-members", "imported-members", "show-inheritance"]
autoapi_python_class_content = "both"
autoapi_member_order = "groupwise"

html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["wide.css"]
html_title = f"traingraph {release}"
html_copy_source = False
html_show_sphinx = False
copybutton_exclude = ".gp, .go"


LINK = re.compile(r"\[([^]]+)\]\(([^)\s#:]+)(#[^)\s]*)?\)")


def mend_links(app: Sphinx, page: str, source: list[str]) -> None:
    """Folders are no pages: what links to them becomes text."""
    folder = Path(app.env.doc2path(page)).parent

    def mended(link: re.Match[str]) -> str:
        return link[1] if (folder / link[2]).is_dir() else link[0]

    source[0] = LINK.sub(mended, source[0])


def include_root_page(_app: Sphinx, _page: str, source: list[str]) -> None:
    """Puts README.md and its like in, with links as they are from here."""

    def from_here(link: re.Match[str]) -> str:
        text, name, heading = link[1], link[2], link[3] or ""
        if name == "tests/fuzz/README.md":
            return text  # no page
        if (ROOT / "docs" / name.lower()).is_file():
            name = name.lower()  # README.md itself
        elif name.startswith("docs/"):
            name = name.removeprefix("docs/")
        else:
            name = f"../{name}"
        return f"[{text}]({name}{heading})"

    stub = re.fullmatch(r"```\{root\} (\S+)\n```\n", source[0])
    if stub:
        text = (ROOT / stub[1]).read_text()
        if stub[1] == "README.md":  # index.md has its beginning
            title = "# Install, and a first network\n\n"
            text = title + text[text.index("## Install") :]
        source[0] = LINK.sub(from_here, text)


# Other libraries' types, and what a stub calls types of the package's inside.
FOREIGN = re.compile(r"(collections\.abc|enum|numpy|numpy\.typing|os|typing)\.\w+")
INSIDE = {
    "ArrayLike", "Any", "Applied", "Buffer", "Data", "DTypeLike", "Item", "Metrics",
    "NDArray", "Row", "Values",
    "Communicator", "Predict", "SupportsDLPack", "Table", "Transport",
}  # fmt: skip


def public_name(
    app: Sphinx, env: BuildEnvironment, node: pending_xref, content: nodes.Element
) -> nodes.Element | None:
    """Links "_core.Tensor" of the stub to traingraph.Tensor; shortens the rest."""
    if node.get("refdomain") != "py":
        return None
    objects = env.domains.python_domain.objects
    target = node["reftarget"]
    short = target.rpartition(".")[2]
    # The stub calls what is nodes.Graph outside NodeGraph, and the strings that stand
    # for cases of ReductionType ReductionTypeName.
    name = short.removeprefix("Node").removesuffix("Name")
    found = [
        key
        for key, entry in objects.items()
        if key.rpartition(".")[2] == name and entry.objtype in {"class", "exception"}
    ]
    if found:
        key = min(found, key=lambda key: (key.count("."), key))
        page, anchor = objects[key].docname, objects[key].node_id
        return make_refnode(app.builder, node["refdoc"], page, anchor, content, key)
    # Literal types are called after their enum: ReductionTypeName.
    if FOREIGN.fullmatch(target) or short in INSIDE or short.endswith("Name"):
        return nodes.inline("", short)
    return None


def plain_text(
    _app: Sphinx, _what: str, _name: str, _obj: Any, _options: Any, lines: list[str]
) -> None:
    """Bars and stars of formulas in docstrings are no markup, where there may be any:
    not in examples, nor in blocks behind "::"."""
    block: int | None = None  # how far the text before it is indented
    is_example = False
    for number, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        is_example = bool(line) and (is_example or line.lstrip().startswith(">>> "))
        if not line or is_example or (block is not None and indent > block):
            continue
        block = indent if line.endswith("::") else None
        pieces = re.split(r"(`+[^`]*`+|:\w+:`[^`]*`)", line)
        pieces[::2] = [re.sub(r"[|*]", r"\\\g<0>", piece) for piece in pieces[::2]]
        lines[number] = "".join(pieces)


# "y: the sum" of a section Returns: is no type; several such are listed as arguments.
NAPOLEON = Config(
    napoleon_use_ivar=True,
    napoleon_use_rtype=False,
    napoleon_custom_sections=[("Results", "params_style")],
)
RESULTS = re.compile(
    r"^Returns:(?=\n    \w+: .*\n(?:     .*\n)*    \w+: )", re.MULTILINE
)


def parse_sections(
    _app: Sphinx, what: str, _name: str, _obj: Any, _options: Any, lines: list[str]
) -> None:
    """Args:, Returns:, Raises: and Example: of calls. Napoleon as an extension would
    take the first words of a property for its type."""
    if what in {"function", "method", "class"}:
        text = RESULTS.sub("Results:", "\n".join(lines))
        lines[:] = GoogleDocstring(text, NAPOLEON).lines()


COLUMN = 90  # characters of a code block that the column of text has room for
SMALL = 133  # in smaller type


def mark_wide(_app: Sphinx, doctree: nodes.document) -> None:
    """What static/wide.css fits into a column: printed reports, which are in smaller
    type, messages in one line, which are broken, and tables of names in two or three
    columns, whose cells are below each other on a phone."""
    for block in doctree.findall(nodes.literal_block):
        width = max(map(len, block.astext().splitlines()), default=0)
        if width > COLUMN:
            block["classes"].append("wide" if width <= SMALL else "wrapped")
    for table in doctree.findall(nodes.table):
        columns = len(list(table.findall(nodes.colspec)))
        cells = [len(entry.astext()) for entry in table.findall(nodes.entry)]
        # Two such columns do not fit a phone.
        if columns <= 3 and min(max(cells[0::columns]), max(cells[1::columns])) > 20:
            table["classes"].append("stacked")


def setup(app: Sphinx) -> None:
    app.connect("doctree-read", mark_wide)
    app.connect("source-read", include_root_page, priority=400)
    app.connect("source-read", mend_links)
    # In this order: lists of results, which sections become, are markup.
    app.connect("autodoc-process-docstring", plain_text, priority=300)
    app.connect("autodoc-process-docstring", parse_sections, priority=400)
    app.connect("missing-reference", public_name)
