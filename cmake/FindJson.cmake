# SPDX-License-Identifier: MIT
# Finds nlohmann/json.hpp, with which headers of checkpoints are read: in the
# PyPI package of a Python environment, as FindOneDnn.cmake does, or where
# NLOHMANN_JSON_INCLUDE_DIR, CMAKE_PREFIX_PATH or the system have it.
if(NOT NLOHMANN_JSON_INCLUDE_DIR)
  if(Python_EXECUTABLE)
    set(json_python "${Python_EXECUTABLE}")
  else()
    find_program(TRAINGRAPH_PYTHON NAMES python3 python)
    set(json_python "${TRAINGRAPH_PYTHON}")
  endif()
  if(json_python)
    execute_process(
      COMMAND "${json_python}" "${CMAKE_CURRENT_LIST_DIR}/find_json.py"
      OUTPUT_VARIABLE json_dir OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
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
