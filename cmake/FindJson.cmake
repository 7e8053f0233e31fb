# SPDX-License-Identifier: MIT
# Finds nlohmann/json.hpp, with which headers of checkpoints are read: in the
# PyPI package of a Python environment, or where NLOHMANN_JSON_INCLUDE_DIR, CMAKE_PREFIX_PATH or the system have it.
include(FindInPackage)

if(NOT NLOHMANN_JSON_INCLUDE_DIR)
  traingraph_find_in_package(json_header nlohmann-json nlohmann/json.hpp)
  if(json_header)
    cmake_path(GET json_header PARENT_PATH json_dir)
    cmake_path(GET json_dir PARENT_PATH json_dir)
  endif()
endif()
find_path(NLOHMANN_JSON_INCLUDE_DIR nlohmann/json.hpp HINTS ${json_dir}
  DOC "Folder of nlohmann/json.hpp")
if(NOT NLOHMANN_JSON_INCLUDE_DIR)
  message(FATAL_ERROR
    "nlohmann/json.hpp was not found. Install it (pip install nlohmann-json, "
    "apt install nlohmann-json3-dev, brew install nlohmann-json) or set "
    "NLOHMANN_JSON_INCLUDE_DIR.")
endif()
message(STATUS "nlohmann/json.hpp: ${NLOHMANN_JSON_INCLUDE_DIR}")

# Its licence goes with the library.
file(GLOB json_license
  "${NLOHMANN_JSON_INCLUDE_DIR}/../../nlohmann_json-*.dist-info/licenses/LICENSE"
  "${NLOHMANN_JSON_INCLUDE_DIR}/../LICENSE.MIT"
  "${NLOHMANN_JSON_INCLUDE_DIR}/../share/doc/nlohmann-json3-dev/copyright")
