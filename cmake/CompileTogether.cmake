# SPDX-License-Identifier: MIT
# What is built once, from nothing, is built in fewer pieces: wheels, the tests of
# `make test`, what is cross-compiled. While one file changes, files of their own are
# faster.
set(is_wheel OFF)
if(SKBUILD)
  set(is_wheel ON)
endif()
option(TRAINGRAPH_COMPILE_TOGETHER
  "Compile files in batches, with precompiled headers" ${is_wheel})

# What every file includes is parsed once: traingraph_precompile(TARGET HEADER...)
# or, where all flags are the same, traingraph_precompile(TARGET REUSE_FROM OTHER).
function(traingraph_precompile target)
  if(NOT TRAINGRAPH_COMPILE_TOGETHER)
    return()
  endif()
  if(ARGV1 STREQUAL "REUSE_FROM")
    target_precompile_headers(${target} ${ARGN})
  else()
    target_precompile_headers(${target} PRIVATE ${ARGN})
  endif()
endfunction()

# So many files are compiled as one; fewer where they take long, for the last batches
# are compiled side by side. Their unnamed namespaces are one, so names in them
# differ, or CMake's SKIP_UNITY_BUILD_INCLUSION keeps a file apart.
function(traingraph_compile_together target files)
  if(TRAINGRAPH_COMPILE_TOGETHER)
    set_target_properties(${target} PROPERTIES
      UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${files})
  endif()
endfunction()

# These files of a target are compiled as one, the others each alone.
function(traingraph_compile_group target group)
  if(TRAINGRAPH_COMPILE_TOGETHER)
    set_target_properties(${target} PROPERTIES
      UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
    set_source_files_properties(${ARGN}
      TARGET_DIRECTORY ${target} PROPERTIES UNITY_GROUP ${group})
  endif()
endfunction()
