#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Installs the Debian packages that building needs, and only those that are
# missing. Without root or apt it says what to install and leaves.
set -euo pipefail
python=${1:-python3}

packages=()
command -v g++ >/dev/null || packages+=(g++)
"$python" -c 'import ensurepip, venv' 2>/dev/null || packages+=(python3-venv)
"$python" -c '
import pathlib, sys, sysconfig
sys.exit(not (pathlib.Path(sysconfig.get_paths()["include"]) / "Python.h").exists())
' 2>/dev/null || packages+=(python3-dev)
echo '#include <gtest/gtest.h>' | g++ -std=c++20 -fsyntax-only -x c++ - \
  2>/dev/null || packages+=(libgtest-dev)

if [[ ${#packages[@]} -eq 0 ]]; then
  exit 0
fi
if ! command -v apt-get >/dev/null || [[ $(id -u) -ne 0 ]]; then
  echo "Please install: ${packages[*]} (Debian's names), then try again." >&2
  exit 1
fi
apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends \
  "${packages[@]}"
