#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the emulator's Apple classes with Apple's own headers.

usage: check_emulator.py APPLE_SDK

Every method and property that tests/emulator/include declares must exist in
the SDK with the same argument and result types. Needs the Python package
libclang, clang's resource headers and GNUstep's Foundation.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from clang import cindex

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
EMULATOR = ROOT / "tests" / "emulator" / "include"
UMBRELLA = """
#import <Foundation/Foundation.h>
#import <Metal/Metal.h>
#import <MetalPerformanceShaders/MetalPerformanceShaders.h>
#import <MetalPerformanceShadersGraph/MetalPerformanceShadersGraph.h>
"""
Kind = cindex.CursorKind
CONTAINERS = (
    Kind.OBJC_INTERFACE_DECL, Kind.OBJC_PROTOCOL_DECL, Kind.OBJC_CATEGORY_DECL,
)  # fmt: skip
METHODS = {Kind.OBJC_INSTANCE_METHOD_DECL: "-", Kind.OBJC_CLASS_METHOD_DECL: "+"}
NOISE = re.compile(
    r"\b(_Nonnull|_Nullable|_Null_unspecified|__nullable|__nonnull|const|"
    r"__kindof|__strong|__unsafe_unretained|__autoreleasing|NS_NOESCAPE|struct|enum)\b"
)
# Different spellings of one type.
SAME = {"CFTimeInterval": "double", "NSTimeInterval": "double", "MPSShape": "NSArray"}


def resource_folder() -> str:
    command = ["clang++-19", "-print-resource-dir"]
    return subprocess.run(
        command, check=True, capture_output=True, text=True
    ).stdout.strip()


def plain(spelling: str) -> str:
    """A type without nullability, generics and spaces."""
    text = NOISE.sub("", spelling)
    while re.search(r"(NS\w+)\s*<[^<>]*>", text):
        text = re.sub(r"(NS\w+)\s*<[^<>]*>", r"\1", text)
    text = re.sub(r"\b\w+\b", lambda m: SAME.get(m[0], m[0]), text)
    return re.sub(r"\s+", "", text)


def kind_of(cursor: cindex.Cursor) -> cindex.CursorKind | None:
    """None for kinds that the Python package has no name for."""
    try:
        return cursor.kind
    except ValueError:
        return None


def owner_of(cursor: cindex.Cursor) -> str:
    """The class, also for its categories."""
    for child in cursor.get_children():
        if (
            kind_of(cursor) == Kind.OBJC_CATEGORY_DECL
            and kind_of(child) == Kind.OBJC_CLASS_REF
        ):
            return str(child.spelling)
    return str(cursor.spelling)


def top_level(cursor: cindex.Cursor) -> Iterator[cindex.Cursor]:
    """What a file declares, also inside extern "C"."""
    for child in cursor.get_children():
        if not child.spelling:
            yield from top_level(child)
        else:
            yield child


def declarations(
    tu: cindex.TranslationUnit, folder: Path
) -> dict[tuple[str, str], list[str]]:
    """(class, selector) -> types, of what headers below `folder` declare."""
    found: dict[tuple[str, str], list[str]] = {}
    for cursor in top_level(tu.cursor):
        file = cursor.location.file
        if kind_of(cursor) not in CONTAINERS or file is None:
            continue
        if not str(Path(file.name).resolve()).startswith(str(folder.resolve())):
            continue
        owner = owner_of(cursor)
        for member in cursor.get_children():
            if kind_of(member) not in METHODS:
                continue
            types = [member.result_type, *(a.type for a in member.get_arguments())]
            name = METHODS[member.kind] + member.spelling
            found[owner, name] = [plain(t.spelling) for t in types]
    return found


def parents(tu: cindex.TranslationUnit) -> dict[str, list[str]]:
    """Super class and protocols of every class and protocol."""
    found: dict[str, list[str]] = {}
    refs = (Kind.OBJC_SUPER_CLASS_REF, Kind.OBJC_PROTOCOL_REF)
    for cursor in top_level(tu.cursor):
        if kind_of(cursor) in CONTAINERS:
            names = [c.spelling for c in cursor.get_children() if kind_of(c) in refs]
            found.setdefault(owner_of(cursor), []).extend(names)
    return found


def parse(arguments: list[str]) -> cindex.TranslationUnit:
    with tempfile.NamedTemporaryFile("w", suffix=".mm") as file:
        file.write(UMBRELLA)
        file.flush()
        common = [
            "-std=c++20",
            "-fblocks",
            "-ferror-limit=0",
            "-resource-dir",
            resource_folder(),
        ]
        tu = cindex.Index.create().parse(file.name, args=[*common, *arguments])
    # libclang and the compiler's own headers may be of different versions.
    errors = [
        d
        for d in tu.diagnostics
        if d.severity >= cindex.Diagnostic.Error
        and not str(d.location.file).startswith(resource_folder())
    ]
    for error in errors[:10]:
        print(error, file=sys.stderr)
    if errors:
        sys.exit("the headers do not parse")
    return tu


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sdk", type=Path)
    sdk = parser.parse_args().sdk.resolve()
    emulated = parse(
        ["-fobjc-runtime=gcc", "-fexceptions", "-fobjc-exceptions",
         "-D_NATIVE_OBJC_EXCEPTIONS", "-fconstant-string-class=NSConstantString",
         "-DGNUSTEP", "-DGNUSTEP_BASE_LIBRARY=1", "-DGNU_RUNTIME=1",
         f"-I{EMULATOR}", "-I/usr/include/GNUstep",
         "-I/usr/lib/gcc/x86_64-linux-gnu/12/include"]
    )  # fmt: skip
    apple = parse(["-target", "arm64-apple-macos13", "-isysroot", str(sdk)])
    ours = declarations(emulated, EMULATOR)
    theirs = declarations(apple, sdk)
    above = parents(apple)

    def find(owner: str, name: str) -> list[str] | None:
        if (owner, name) in theirs:
            return theirs[owner, name]
        for parent in above.get(owner, []):
            if types := find(parent, name):
                return types
        return None

    problems = 0
    for (owner, name), types in sorted(ours.items()):
        wanted = find(owner, name)
        if wanted == types:
            continue
        problems += 1
        print(f"{owner} {name}: {types}, Apple: {wanted or 'no such method'}")
    print(f"{len(ours)} declarations compared, {problems} differ")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
