# SPDX-License-Identifier: MIT
# Files of packages from PyPI, in the Python environment that builds:
# Python_EXECUTABLE's, which scikit-build-core sets, else that of the first python3
# of PATH, which is the active environment's.
include_guard(GLOBAL)

if(Python_EXECUTABLE)
  set(TRAINGRAPH_PYTHON "${Python_EXECUTABLE}")
else()
  find_program(TRAINGRAPH_PYTHON NAMES python3 python)
endif()

# The path of the file of `package` that ends in `end`, in this environment or the
# folder that may follow; empty where there is none.
function(traingraph_find_in_package variable package end)
  set(${variable} "" PARENT_SCOPE)
  if(NOT TRAINGRAPH_PYTHON)
    return()
  endif()
  execute_process(
    COMMAND "${TRAINGRAPH_PYTHON}"
      "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/find_in_package.py" ${package} ${end} ${ARGN}
    OUTPUT_VARIABLE path OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  set(${variable} "${path}" PARENT_SCOPE)
endfunction()
