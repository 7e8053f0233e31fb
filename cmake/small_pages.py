# SPDX-License-Identifier: MIT
"""Says of an x86-64 library that its segments are aligned to pages of 4 KiB.

    small_pages.py LIBRARY

Older linkers said 2 MiB, and patchelf begins every segment that it adds at such a
boundary: 8 MB of zeros in oneDNN. Addresses that agree modulo 2 MiB agree modulo
4 KiB, so nothing moves.
"""

import struct
import sys

ELF_64_LITTLE = b"\x7fELF\x02\x01"
X86_64 = 62
LOAD = 1
PAGE = 4096


def main() -> int:
    with open(sys.argv[1], "r+b") as file:
        header = file.read(64)
        (machine,) = struct.unpack_from("<H", header, 18)
        if not header.startswith(ELF_64_LITTLE) or machine != X86_64:
            return 0
        (table,) = struct.unpack_from("<Q", header, 32)
        size, count = struct.unpack_from("<HH", header, 54)
        for segment in range(count):
            begin = table + segment * size
            file.seek(begin)
            (kind,) = struct.unpack("<I", file.read(4))
            file.seek(begin + 48)
            (alignment,) = struct.unpack("<Q", file.read(8))
            if kind == LOAD and alignment > PAGE:
                file.seek(begin + 48)
                file.write(struct.pack("<Q", PAGE))
    return 0


if __name__ == "__main__":
    sys.exit(main())
