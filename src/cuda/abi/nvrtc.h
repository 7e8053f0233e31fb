// SPDX-License-Identifier: MIT
// What we call of NVRTC (libnvrtc.so), the compiler of kernels: declarations of
// our own, as in driver.h.
#pragma once

#include <cstddef>

namespace traingraph::cuda {

using CompilerProgram = struct CompilerProgramTag*;  // nvrtcProgram
enum class CompilerResult : int { Success = 0, CompilationError = 6 };

#define TRAINGRAPH_CUDA_NVRTC(FUNCTION)                                      \
  FUNCTION(version, nvrtcVersion, (int* major, int* minor))                  \
  FUNCTION(create_program, nvrtcCreateProgram,                               \
           (CompilerProgram*, const char* text, const char* name, int count, \
            const char* const* headers, const char* const* header_names))    \
  FUNCTION(destroy_program, nvrtcDestroyProgram, (CompilerProgram*))         \
  FUNCTION(compile_program, nvrtcCompileProgram,                             \
           (CompilerProgram, int count, const char* const* options))         \
  FUNCTION(get_log_size, nvrtcGetProgramLogSize,                             \
           (CompilerProgram, std::size_t* bytes))                            \
  FUNCTION(get_log, nvrtcGetProgramLog, (CompilerProgram, char* log))        \
  FUNCTION(get_code_size, nvrtcGetCUBINSize,                                 \
           (CompilerProgram, std::size_t* bytes))                            \
  FUNCTION(get_code, nvrtcGetCUBIN, (CompilerProgram, char* code))

struct Nvrtc {
#define FUNCTION(member, symbol, parameters) CompilerResult(*member) parameters;
  TRAINGRAPH_CUDA_NVRTC(FUNCTION)
#undef FUNCTION
};

}  // namespace traingraph::cuda
