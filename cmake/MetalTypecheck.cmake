# SPDX-License-Identifier: MIT
# Checks metal/ against Apple's headers on any platform that has clang and a
# copy of the macOS SDK: cmake --preset metal-typecheck -DAPPLE_SDK=<path>.
# The SDK is not part of this project.
if(NOT IS_DIRECTORY "${APPLE_SDK}/System/Library/Frameworks")
  message(FATAL_ERROR "Give the path of a macOS SDK: -DAPPLE_SDK=<path>")
endif()
find_program(TYPECHECK_COMPILER NAMES clang++-19 clang++ REQUIRED)

# clang compares the folder's name with the target's.
get_filename_component(sdk_name "${APPLE_SDK}" NAME)
if(sdk_name MATCHES "^macOS")
  file(CREATE_LINK "${APPLE_SDK}" "${PROJECT_BINARY_DIR}/MacOSX.sdk" SYMBOLIC)
  set(APPLE_SDK "${PROJECT_BINARY_DIR}/MacOSX.sdk")
endif()

function(traingraph_metal_typecheck name)
  set(stamps)
  foreach(source IN LISTS ARGN)
    file(RELATIVE_PATH file "${PROJECT_SOURCE_DIR}" "${source}")
    set(stamp "${PROJECT_BINARY_DIR}/typecheck/${file}.ok")
    cmake_path(GET stamp PARENT_PATH folder)
    file(MAKE_DIRECTORY "${folder}")
    add_custom_command(OUTPUT "${stamp}"
      COMMAND "${TYPECHECK_COMPILER}" -fsyntax-only
        -target arm64-apple-macos13 -isysroot "${APPLE_SDK}"
        -std=c++20 -fno-objc-arc -fblocks -Wall -Wextra -Werror
        "-I${PROJECT_SOURCE_DIR}/include" "-I${PROJECT_SOURCE_DIR}/src"
        "-I${PROJECT_SOURCE_DIR}" -MD -MF "${stamp}.d" -MT "${stamp}"
        "${source}"
      COMMAND "${CMAKE_COMMAND}" -E touch "${stamp}"
      DEPENDS "${source}" DEPFILE "${stamp}.d"
      COMMENT "Checking ${file} against Apple's headers" VERBATIM)
    list(APPEND stamps "${stamp}")
  endforeach()
  add_custom_target(${name} DEPENDS ${stamps})
endfunction()
