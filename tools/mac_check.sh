#!/bin/bash
# SPDX-License-Identifier: MIT
# One command on a bare Mac: builds the library, asks the machine what Apple's
# documentation leaves open, runs the tests of the GPU, trains, measures, and
# writes a page that says what to change (docs/metal-check.md). For bash 3.2 and
# the tools that macOS has; the rest is Python, in mac_check/.
set -u
cd "$(dirname "$0")/.." || exit 1

fail() {
  echo "mac_check: $1" >&2
  exit 1
}

if [ "$(uname)" = "Darwin" ]; then
  xcode-select -p >/dev/null 2>&1 ||
    fail "there is no compiler. Install Xcode, or run: xcode-select --install"
fi

python=${PYTHON:-}
if [ -z "$python" ]; then
  for candidate in python3 python3.14 python3.13 python3.12 python3.11 python3.10
  do
    if command -v "$candidate" >/dev/null 2>&1 &&
      "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 10))'; then
      python=$candidate
      break
    fi
  done
fi
[ -n "$python" ] ||
  fail "Python 3.10 or newer is missing. Install it from https://www.python.org"

exec "$python" tools/mac_check ${1+"$@"}
