# SPDX-License-Identifier: MIT
# A wheel is built once, from nothing: what every file includes is parsed once, and
# many files are compiled as one. Unnamed namespaces of such files are one, so their
# names differ, or CMake's SKIP_UNITY_BUILD_INCLUSION keeps a file apart.
#
# traingraph_compile_together(TARGET HEADER...)
function(traingraph_compile_together target)
  if(SKBUILD)
    target_precompile_headers(${target} PRIVATE ${ARGN})
    set_target_properties(${target} PROPERTIES
      UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 16)
  endif()
endfunction()
