# SPDX-License-Identifier: MIT
# Toolchain: builds for aarch64 Linux on another machine and runs what is built
# under qemu-user (Debian's g++-aarch64-linux-gnu and qemu-user). `make
# aarch64-test` uses it.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
# A processor with NEON alone, as many have: of SME, which qemu's default one has,
# OpenBLAS 0.3.34's wheel has empty functions and computes nonsense. What the
# environment says of OpenBLAS is of the processor of this machine.
set(CMAKE_CROSSCOMPILING_EMULATOR
  qemu-aarch64 -cpu cortex-a72 -U OPENBLAS_CORETYPE,OPENBLAS_L2_SIZE
  -L /usr/aarch64-linux-gnu)

# Libraries of this machine are for its own processor.
set(CMAKE_FIND_ROOT_PATH /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
