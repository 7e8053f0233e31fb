#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Unpacks Debian's Python for aarch64 with its headers, and PyPI's packages for it:
#   tools/aarch64_root.sh FOLDER VERSION PACKAGE...
# apt has lists and a status of its own for it: nothing is installed on this machine,
# and nothing needs root.
set -euo pipefail
folder=$(realpath -m "$1")
version=$2
shift 2

state=$folder/apt
mkdir -p "$state/lists/partial" "$state/archives/partial"
touch "$state/status"
apt=(apt-get -qq -o APT::Architecture=arm64 -o APT::Architectures::=arm64
  -o Dir::State="$state" -o Dir::State::Status="$state/status"
  -o Dir::Cache="$state" -o APT::Sandbox::User="$(id -un)")
"${apt[@]}" update
"${apt[@]}" install --yes --no-install-recommends --download-only \
  "python$version" "libpython$version-dev" libstdc++6
for package in "$state"/archives/*.deb; do
  dpkg -x "$package" "$folder"
done
rm -rf "$state"
# Where Debian has one folder for both, no package of these makes the link.
[[ -e $folder/lib ]] || ln -s usr/lib "$folder/lib"

python -m pip install --quiet --no-compile --only-binary=:all: \
  --implementation cp --python-version "$version" --abi "cp${version/./}" \
  --platform manylinux_2_28_aarch64 --platform manylinux_2_27_aarch64 \
  --platform manylinux_2_17_aarch64 --platform manylinux2014_aarch64 \
  --target "$folder/usr/lib/python3/dist-packages" "$@"
