#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Installs the Debian packages that building needs, and only those that are
# missing. Without root or apt it says what to install and leaves.
set -euo pipefail
python=${1:-python3}
purpose=${2:-build}  # or test, typecheck, aarch64

packages=()
command -v g++ >/dev/null || packages+=(g++)
"$python" -c 'import ensurepip, venv' 2>/dev/null || packages+=(python3-venv)
"$python" -c '
import pathlib, sys, sysconfig
sys.exit(not (pathlib.Path(sysconfig.get_paths()["include"]) / "Python.h").exists())
' 2>/dev/null || packages+=(python3-dev)
if [[ $purpose == aarch64 ]]; then
  command -v aarch64-linux-gnu-g++ >/dev/null || packages+=(g++-aarch64-linux-gnu)
  command -v qemu-aarch64 >/dev/null || packages+=(qemu-user)
  [[ -e /usr/src/googletest ]] || packages+=(googletest)
elif [[ $purpose != build ]]; then
  echo '#include <gtest/gtest.h>' | g++ -std=c++20 -fsyntax-only -x c++ - \
    2>/dev/null || packages+=(libgtest-dev)
fi
if [[ $purpose == typecheck ]]; then
  command -v clang++-16 >/dev/null || packages+=(clang-16)
  command -v clang++-19 >/dev/null || packages+=(clang-19)
fi

# The Metal device is tested on Linux over GNUstep. Without these packages the
# rest is built and tested all the same.
optional=()
if [[ $(uname) == Linux && $purpose == test ]]; then
  command -v clang++-19 >/dev/null || optional+=(clang-19)
  command -v gnustep-config >/dev/null || optional+=(libgnustep-base-dev)
  [[ -e /usr/include/Block.h ]] || optional+=(libblocksruntime-dev)
fi
can_install() { command -v apt-get >/dev/null && [[ $(id -u) -eq 0 ]]; }
if [[ ${#optional[@]} -gt 0 ]]; then
  if can_install; then
    packages+=("${optional[@]}")
  else
    echo "Without ${optional[*]} the Metal device is not tested." >&2
  fi
fi

if [[ ${#packages[@]} -eq 0 ]]; then
  exit 0
fi
if ! can_install; then
  echo "Please install: ${packages[*]} (Debian's names), then try again." >&2
  exit 1
fi
apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends \
  "${packages[@]}"
