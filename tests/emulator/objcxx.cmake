# SPDX-License-Identifier: MIT
# Objective-C++ on GNUstep: finds what the emulator needs and enables the
# language. Include it before the first target that has .mm files, at the level
# of all of them.
include_guard(GLOBAL)

if(DEFINED ENV{OBJCXX})
  set(TRAINGRAPH_CLANGXX "$ENV{OBJCXX}" CACHE FILEPATH
    "Compiler of Objective-C++")
endif()
# The classic runtime's blocks and exceptions are proved with clang 19.
find_program(TRAINGRAPH_CLANGXX NAMES clang++-19 clang++)
find_program(TRAINGRAPH_GNUSTEP_CONFIG gnustep-config)
find_library(TRAINGRAPH_BLOCKS_RUNTIME BlocksRuntime)

set(found OFF)
if(TRAINGRAPH_CLANGXX AND TRAINGRAPH_GNUSTEP_CONFIG
    AND TRAINGRAPH_BLOCKS_RUNTIME AND NOT APPLE)
  set(found ON)
endif()
option(TRAINGRAPH_METAL_EMULATOR
  "Build the Metal device on an emulation of Apple's classes" ${found})

if(TRAINGRAPH_METAL_EMULATOR)
  if(NOT found)
    message(FATAL_ERROR "TRAINGRAPH_METAL_EMULATOR needs clang++, "
      "gnustep-config and libBlocksRuntime: run tools/setup_machine.sh")
  endif()
  if(NOT CMAKE_OBJCXX_COMPILER)
    set(CMAKE_OBJCXX_COMPILER "${TRAINGRAPH_CLANGXX}")
  endif()
  # Another compiler's, for the language that has its precompiled headers.
  set(pch_settings CMAKE_LINK_PCH CMAKE_PCH_EXTENSION CMAKE_PCH_PROLOGUE)
  foreach(setting IN LISTS pch_settings)
    set(kept_${setting} "${${setting}}")
  endforeach()
  enable_language(OBJCXX)
  foreach(setting IN LISTS pch_settings)
    set(${setting} "${kept_${setting}}")
  endforeach()
  set(CMAKE_OBJCXX_STANDARD 20)
  set(CMAKE_OBJCXX_STANDARD_REQUIRED ON)
  set(CMAKE_OBJCXX_EXTENSIONS OFF)
  if(CMAKE_CXX_COMPILER_LAUNCHER AND NOT CMAKE_OBJCXX_COMPILER_LAUNCHER)
    set(CMAKE_OBJCXX_COMPILER_LAUNCHER "${CMAKE_CXX_COMPILER_LAUNCHER}")
  endif()
endif()
