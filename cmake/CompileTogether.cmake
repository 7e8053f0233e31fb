# SPDX-License-Identifier: MIT
# What is built once, from nothing: a wheel, and what CI cross-compiles.
option(TRAINGRAPH_COMPILE_TOGETHER "Compile many files as one" ${SKBUILD})

# What every file includes is parsed once: traingraph_precompile(TARGET HEADER...)
function(traingraph_precompile target)
  if(TRAINGRAPH_COMPILE_TOGETHER)
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
