# SPDX-License-Identifier: MIT
# What multiplies matrices for the CPU device: oneDNN, or a CBLAS where there is
# no oneDNN or none that is fast (docs/decisions/2026-11-cpu-engines.md).
set(default_engine cblas)
if(LINUX AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(default_engine onednn)
endif()
set(TRAINGRAPH_CPU_ENGINE "${default_engine}" CACHE STRING
  "The CPU device's engine: onednn or cblas")
set_property(CACHE TRAINGRAPH_CPU_ENGINE PROPERTY STRINGS onednn cblas)

option(TRAINGRAPH_TEST_CBLAS
  "Link the tests of the CPU device to the engine of a CBLAS, too" OFF)

if(TRAINGRAPH_CPU_ENGINE STREQUAL "onednn")
  include(FindOneDnn)
  include(OneDnnOnThreadPool)
elseif(TRAINGRAPH_CPU_ENGINE STREQUAL "cblas")
  set(TRAINGRAPH_ONEDNN_ON_THREAD_POOL OFF)
  include(FindCblas)
else()
  message(FATAL_ERROR "TRAINGRAPH_CPU_ENGINE is \"${TRAINGRAPH_CPU_ENGINE}\"; "
    "expected onednn or cblas.")
endif()

set(TRAINGRAPH_CPU_ENGINES ${TRAINGRAPH_CPU_ENGINE})
if(TRAINGRAPH_TEST_CBLAS AND NOT TRAINGRAPH_CPU_ENGINE STREQUAL "cblas")
  include(FindCblas)
  list(APPEND TRAINGRAPH_CPU_ENGINES cblas)
endif()

# What loops of src/cpu are compiled with, in tests as well. They say where they are
# vectors; no OpenMP is linked for that. GCC 13 and newer contract or not by the
# place in a loop otherwise, and a row's bits would depend on its neighbours.
set(TRAINGRAPH_LOOP_OPTIONS -fopenmp-simd)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND TRAINGRAPH_LOOP_OPTIONS --param=avoid-fma-max-bits=0)
endif()
