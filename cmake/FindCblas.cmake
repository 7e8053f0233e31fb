# SPDX-License-Identifier: MIT
# Finds a CBLAS as traingraph_cblas: Accelerate on Apple; else OpenBLAS from PyPI
# (scipy-openblas32) in a Python environment; else the system's OpenBLAS or
# CBLAS. Only cblas_sgemm is called. CBLAS_INCLUDE_DIR and CBLAS_LIBRARY choose
# another one. When cross-compiling, packages of the environment are for this
# machine: those for the target are in TRAINGRAPH_TARGET_PACKAGES, a folder that
# `pip install --target` made.
#
# The package's names begin with scipy_, so that it can be loaded beside the
# OpenBLAS of NumPy and SciPy.
add_library(traingraph_cblas INTERFACE)

if(APPLE AND NOT CBLAS_LIBRARY)
  target_link_libraries(traingraph_cblas INTERFACE "-framework Accelerate")
  # The functions of macOS 13.3 and later under their standard names.
  target_compile_definitions(traingraph_cblas INTERFACE TRAINGRAPH_ACCELERATE
    ACCELERATE_NEW_LAPACK)
  message(STATUS "CBLAS: Accelerate")
  return()
endif()

if(NOT CBLAS_LIBRARY AND (TRAINGRAPH_TARGET_PACKAGES OR NOT CMAKE_CROSSCOMPILING))
  include(FindInPackage)
  traingraph_find_in_package(cblas_header scipy-openblas32 include/cblas.h
    ${TRAINGRAPH_TARGET_PACKAGES})
  traingraph_find_in_package(cblas_package_library scipy-openblas32
    "${CMAKE_SHARED_LIBRARY_PREFIX}scipy_openblas${CMAKE_SHARED_LIBRARY_SUFFIX}"
    ${TRAINGRAPH_TARGET_PACKAGES})
  if(cblas_header AND cblas_package_library)
    cmake_path(GET cblas_header PARENT_PATH CBLAS_INCLUDE_DIR)
    set(CBLAS_LIBRARY "${cblas_package_library}")
    cmake_path(GET cblas_package_library PARENT_PATH cblas_lib_dir)
    file(GLOB cblas_licenses
      "${cblas_lib_dir}/../../scipy_openblas32-*.dist-info/licenses/*")
  endif()
endif()
find_library(CBLAS_LIBRARY NAMES openblas cblas
  DOC "A library with cblas_sgemm")
find_path(CBLAS_INCLUDE_DIR cblas.h PATH_SUFFIXES openblas
  DOC "Folder of cblas.h")
if(NOT CBLAS_LIBRARY OR NOT CBLAS_INCLUDE_DIR)
  message(FATAL_ERROR
    "No CBLAS was found. Install one (pip install scipy-openblas32, apt install "
    "libopenblas-dev) or set CBLAS_LIBRARY and CBLAS_INCLUDE_DIR.")
endif()

add_library(traingraph_cblas_library UNKNOWN IMPORTED)
set_target_properties(traingraph_cblas_library PROPERTIES
  IMPORTED_LOCATION "${CBLAS_LIBRARY}"
  INTERFACE_INCLUDE_DIRECTORIES "${CBLAS_INCLUDE_DIR}")
target_link_libraries(traingraph_cblas INTERFACE traingraph_cblas_library)
cmake_path(GET CBLAS_LIBRARY FILENAME cblas_name)
if(cblas_name MATCHES "openblas")
  target_compile_definitions(traingraph_cblas INTERFACE TRAINGRAPH_OPENBLAS)
endif()
if(cblas_name MATCHES "scipy_openblas")
  target_compile_definitions(traingraph_cblas INTERFACE
    TRAINGRAPH_BLAS_PREFIX=scipy_)
endif()
message(STATUS "CBLAS: ${CBLAS_LIBRARY}")
