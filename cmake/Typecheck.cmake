# SPDX-License-Identifier: MIT
# Targets that check types and build nothing, so that the oldest compilers are
# heard where they cannot build:
#   metal-typecheck  everything that a Mac compiles, for the oldest macOS, with
#                    Apple's headers, on any platform that has clang and a copy
#                    of the SDK (which is not part of this project):
#                    make typecheck APPLE_SDK=<path>
#   oldest-clang     what Linux compiles, with clang 16, about Xcode 15's:
#                    make oldest-clang
# Accelerate's cblas_sgemm is 13.3's.
set(oldest_macos 13.3)
set(oldest_macos_macro -D__ENVIRONMENT_OS_VERSION_MIN_REQUIRED__=130300)
find_program(CLANG_16 NAMES clang++-16)
find_program(CLANG_19 NAMES clang++-19)

# Headers of other projects, in one folder: nothing else of this machine is seen.
find_package(GTest REQUIRED)
find_package(Python 3.10 REQUIRED COMPONENTS Interpreter Development.Module)
execute_process(COMMAND "${Python_EXECUTABLE}" -c
  "import pybind11; print(pybind11.get_include())"
  OUTPUT_VARIABLE pybind11_headers OUTPUT_STRIP_TRAILING_WHITESPACE
  COMMAND_ERROR_IS_FATAL ANY)
get_target_property(onednn_headers DNNL::dnnl INTERFACE_INCLUDE_DIRECTORIES)
find_path(gtest_headers gtest/gtest.h REQUIRED)
set(third_party "${PROJECT_BINARY_DIR}/third_party")
function(traingraph_borrow folder)  # its entries that match
  foreach(pattern IN LISTS ARGN)
    file(GLOB entries "${folder}/${pattern}")
    foreach(entry IN LISTS entries)
      get_filename_component(entry_name "${entry}" NAME)
      file(CREATE_LINK "${entry}" "${third_party}/${entry_name}" SYMBOLIC)
    endforeach()
  endforeach()
endfunction()
file(MAKE_DIRECTORY "${third_party}")
foreach(folder IN LISTS onednn_headers)
  traingraph_borrow("${folder}" dnnl* oneapi)
endforeach()
traingraph_borrow("${gtest_headers}" gtest)
traingraph_borrow("${pybind11_headers}" pybind11)
traingraph_borrow("${NLOHMANN_JSON_INCLUDE_DIR}" nlohmann)
foreach(folder IN LISTS Python_INCLUDE_DIRS)
  traingraph_borrow("${folder}" *.h cpython internal)
  # Debian's pyconfig.h includes that of the architecture.
  get_filename_component(folder "${folder}" DIRECTORY)
  traingraph_borrow("${folder}" *-linux-gnu)
endforeach()

# Some are compiled on Macs only or on Linux only.
file(GLOB_RECURSE typecheck_sources CONFIGURE_DEPENDS
  "${PROJECT_SOURCE_DIR}/src/*.cpp" "${PROJECT_SOURCE_DIR}/metal/*.cpp"
  "${PROJECT_SOURCE_DIR}/python/src/*.cpp"
  "${PROJECT_SOURCE_DIR}/examples/*.cpp" "${PROJECT_SOURCE_DIR}/tests/c/*.cpp"
  "${PROJECT_SOURCE_DIR}/tests/cpp/*.cpp"
  "${PROJECT_SOURCE_DIR}/tests/fuzz/*.cpp"
  "${PROJECT_SOURCE_DIR}/tests/interop/*.cpp"
  "${PROJECT_SOURCE_DIR}/tests/metal_probes/*.cpp")
# Macs have the other CPU engine.
set(cblas_sources ${typecheck_sources})
list(FILTER cblas_sources INCLUDE REGEX "/src/cpu/cblas/")
list(FILTER typecheck_sources EXCLUDE REGEX "/src/cpu/cblas/")
file(GLOB_RECURSE apple_sources CONFIGURE_DEPENDS
  "${PROJECT_SOURCE_DIR}/metal/*.mm"
  "${PROJECT_SOURCE_DIR}/tests/metal_probes/*.mm")
set(apple_sources ${apple_sources} ${typecheck_sources} ${cblas_sources})
list(FILTER apple_sources EXCLUDE REGEX
  "/tests/cpp/(emulator|metal|cuda)/|/metal_probes/tests/|/src/cuda/|/src/cpu/onednn/|/gnu_openmp|/metal/no_metal")

set(common_flags -std=c++20 -fsyntax-only -Wall -Wextra -Werror
  # Tests are told where their data is.
  "-DTRAINGRAPH_KEPT=\"\"" "-DTRAINGRAPH_DIGITS=\"\""
  "-DTRAINGRAPH_FUZZ_CORPUS=\"\"" "-DTRAINGRAPH_FAKE_MPI=\"\""
  "-I${PROJECT_SOURCE_DIR}"
  "-I${PROJECT_SOURCE_DIR}/include" "-I${PROJECT_SOURCE_DIR}/src"
  "-I${PROJECT_SOURCE_DIR}/python/src" "-I${PROJECT_SOURCE_DIR}/tests/cpp"
  "-I${PROJECT_SOURCE_DIR}/tests/fuzz" -isystem "${third_party}")

# traingraph_typecheck(target compiler FLAGS ... SOURCES ...)
function(traingraph_typecheck target compiler)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "FLAGS;SOURCES")
  get_filename_component(compiler_name "${compiler}" NAME)
  set(stamps)
  foreach(source IN LISTS arg_SOURCES)
    file(RELATIVE_PATH file "${PROJECT_SOURCE_DIR}" "${source}")
    set(stamp
      "${PROJECT_BINARY_DIR}/typecheck/${target}/${compiler_name}/${file}.ok")
    set(loop_flags)  # as the build has it
    if(file MATCHES "^(src|tests/cpp)/cpu/")
      set(loop_flags -fopenmp-simd)
    endif()
    cmake_path(GET stamp PARENT_PATH folder)
    file(MAKE_DIRECTORY "${folder}")
    add_custom_command(OUTPUT "${stamp}"
      COMMAND "${compiler}" ${common_flags} ${loop_flags} ${arg_FLAGS}
        -MD -MF "${stamp}.d" -MT "${stamp}" "${source}"
      COMMAND "${CMAKE_COMMAND}" -E touch "${stamp}"
      DEPENDS "${source}" DEPFILE "${stamp}.d"
      COMMENT "${compiler_name}: ${file}" VERBATIM)
    list(APPEND stamps "${stamp}")
  endforeach()
  add_custom_target(${target}-${compiler_name} DEPENDS ${stamps})
  if(NOT TARGET ${target})
    add_custom_target(${target})
  endif()
  add_dependencies(${target} ${target}-${compiler_name})
endfunction()

if(TRAINGRAPH_METAL_TYPECHECK)
  if(NOT IS_DIRECTORY "${APPLE_SDK}/System/Library/Frameworks")
    message(FATAL_ERROR "Give the path of a macOS SDK: -DAPPLE_SDK=<path>")
  endif()
  if(NOT CLANG_16 AND NOT CLANG_19)
    message(FATAL_ERROR "Neither clang++-16 nor clang++-19 was found.")
  endif()
  # clang compares the folder's name with the target's.
  file(CREATE_LINK "${APPLE_SDK}" "${PROJECT_BINARY_DIR}/MacOSX.sdk" SYMBOLIC)
  set(sdk "${PROJECT_BINARY_DIR}/MacOSX.sdk")
  foreach(compiler IN LISTS CLANG_16 CLANG_19)
    if(NOT compiler)
      message(WARNING "clang 16 and 19 check types; one of them is missing.")
      continue()
    endif()
    # A libc++ beside the compiler would go before the SDK's. Xcode's clang has
    # defined what Apple's headers ask for longer than clang has.
    traingraph_typecheck(metal-typecheck "${compiler}"
      FLAGS -target arm64-apple-macos${oldest_macos} -isysroot "${sdk}"
        -nostdinc++ -isystem "${sdk}/usr/include/c++/v1" -fblocks -fno-objc-arc
        -include TargetConditionals.h ${oldest_macos_macro}
        -DTRAINGRAPH_ACCELERATE -DACCELERATE_NEW_LAPACK 
        -DTRAINGRAPH_ENGINE_ON_THREAD_POOL
        -isystem "${PROJECT_SOURCE_DIR}/cmake/typecheck"
      SOURCES ${apple_sources})
  endforeach()
endif()

if(TRAINGRAPH_OLDEST_CLANG)
  if(NOT CLANG_16)
    message(FATAL_ERROR "clang++-16 was not found.")
  endif()
  traingraph_typecheck(oldest-clang "${CLANG_16}"
    FLAGS -DTRAINGRAPH_ENGINE_ON_THREAD_POOL
      "-I${PROJECT_SOURCE_DIR}/tests/emulator/include"
    SOURCES ${typecheck_sources})
endif()
