# SPDX-License-Identifier: MIT
# Finds oneDNN 3 as DNNL::dnnl: where dnnl_DIR or CMAKE_PREFIX_PATH say, else in
# the PyPI package of a Python environment, else anywhere on the system.
include(FindInPackage)

# The package's config asks for policies of CMake 2.6, which CMake 4 refuses.
set(CMAKE_POLICY_VERSION_MINIMUM 3.10)
find_package(dnnl 3 CONFIG QUIET NO_CMAKE_SYSTEM_PATH NO_SYSTEM_ENVIRONMENT_PATH
  NO_CMAKE_PACKAGE_REGISTRY NO_CMAKE_SYSTEM_PACKAGE_REGISTRY)

if(NOT dnnl_FOUND)
  traingraph_find_in_package(onednn_config onednn-devel-cpu-gomp
    dnnl-config.cmake)
  if(onednn_config)
    cmake_path(GET onednn_config PARENT_PATH onednn_dir)
    find_package(dnnl 3 CONFIG QUIET PATHS "${onednn_dir}" NO_DEFAULT_PATH)
  endif()
endif()
if(NOT dnnl_FOUND)
  find_package(dnnl 3 CONFIG QUIET)
endif()
unset(CMAKE_POLICY_VERSION_MINIMUM)

if(NOT dnnl_FOUND)
  message(FATAL_ERROR
    "oneDNN 3 was not found. Install it (pip install onednn-devel-cpu-gomp on "
    "Linux x86-64, brew install onednn on macOS) or set dnnl_DIR.")
endif()
message(STATUS "oneDNN ${dnnl_VERSION}: ${dnnl_DIR}")
