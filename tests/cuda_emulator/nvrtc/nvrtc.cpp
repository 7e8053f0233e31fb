// SPDX-License-Identifier: MIT
// NVRTC's functions. Its version is one that NVIDIA has not, and says what the
// processor has, so that caches keep apart what is not the same code.
#include "cuda/abi/nvrtc.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "control.h"
#include "nvrtc/compile.h"
#include "nvrtc/image.h"
#include "nvrtc/text.h"

namespace traingraph::cuda {

using namespace cuda_emulator;

struct CompilerProgramTag {
  std::string text, name, log, code;
  Headers headers;
};

#define FUNCTION(member, symbol, parameters) \
  extern "C"                                 \
      __attribute__((visibility("default"))) CompilerResult symbol parameters;
TRAINGRAPH_CUDA_NVRTC(FUNCTION)
#undef FUNCTION

namespace {

// All of them must be there.
const Nvrtc kAll = {
#define FUNCTION(member, symbol, parameters) &symbol,
    TRAINGRAPH_CUDA_NVRTC(FUNCTION)
#undef FUNCTION
};

constexpr CompilerResult kInvalidInput{3}, kInvalidProgram{4},
    kInvalidOption{5};

std::atomic<long> num_compilations;

/// What g++ is told instead; false: there is no such option.
bool translate(std::string_view option, std::vector<std::string>& options) {
  constexpr std::string_view kArchitecture = "--gpu-architecture=sm_";
  constexpr std::string_view kDefinition = "-D";
  if (option.starts_with(kArchitecture)) {
    option.remove_prefix(kArchitecture.size());
    options.push_back("-D__CUDA_ARCH__=" + std::string(option) + "0");
    return true;
  }
  if (option.starts_with(kDefinition)) {
    options.emplace_back(option);
    return true;
  }
  constexpr std::array kKnown = {std::string_view("--std=c++17"),
                                 std::string_view("--fmad=false"),
                                 std::string_view("--device-as-default-"
                                                  "execution-space")};
  return std::ranges::find(kKnown, option) != kKnown.end();
}

CompilerResult give(const std::string& bytes, std::size_t with, char* to) {
  std::memcpy(to, bytes.c_str(), bytes.size() + with);
  return CompilerResult::Success;
}

}  // namespace

CompilerResult nvrtcVersion(int* major, int* minor) {
  *major = 13;
  *minor = has_fast_fma() ? 99 : 98;
  return kAll.version == nullptr ? kInvalidInput : CompilerResult::Success;
}

CompilerResult nvrtcCreateProgram(CompilerProgram* program, const char* text,
                                  const char* name, int count,
                                  const char* const* headers,
                                  const char* const* header_names) {
  if (program == nullptr || text == nullptr || count < 0) return kInvalidInput;
  auto* made = new CompilerProgramTag;
  made->text = text;
  made->name = name == nullptr ? "default_program" : name;
  for (int i = 0; i < count; ++i) made->headers[header_names[i]] = headers[i];
  *program = made;
  return CompilerResult::Success;
}

CompilerResult nvrtcDestroyProgram(CompilerProgram* program) {
  if (program == nullptr || *program == nullptr) return kInvalidProgram;
  delete std::exchange(*program, nullptr);
  return CompilerResult::Success;
}

CompilerResult nvrtcCompileProgram(CompilerProgram program, int count,
                                   const char* const* options) {
  if (program == nullptr) return kInvalidProgram;
  std::vector<std::string> translated;
  for (int i = 0; i < count; ++i) {
    if (translate(options[i], translated)) continue;
    program->log = "the emulator knows no option " + std::string(options[i]);
    return kInvalidOption;
  }
  ++num_compilations;
  Compiled compiled = compile(
      host_text(program->text, program->name, program->headers), translated);
  program->log = std::move(compiled.log);
  if (!compiled.is_success) return CompilerResult::CompilationError;
  const ImageHeader header{.bytes = compiled.library.size()};
  program->code.assign(reinterpret_cast<const char*>(&header), sizeof header);
  program->code += compiled.library;
  return CompilerResult::Success;
}

CompilerResult nvrtcGetProgramLogSize(CompilerProgram program,
                                      std::size_t* bytes) {
  if (program == nullptr) return kInvalidProgram;
  *bytes = program->log.size() + 1;
  return CompilerResult::Success;
}

CompilerResult nvrtcGetProgramLog(CompilerProgram program, char* log) {
  return program == nullptr ? kInvalidProgram : give(program->log, 1, log);
}

CompilerResult nvrtcGetCUBINSize(CompilerProgram program, std::size_t* bytes) {
  if (program == nullptr) return kInvalidProgram;
  *bytes = program->code.size();
  return CompilerResult::Success;
}

CompilerResult nvrtcGetCUBIN(CompilerProgram program, char* code) {
  return program == nullptr ? kInvalidProgram : give(program->code, 0, code);
}

}  // namespace traingraph::cuda

long cuda_emulator_num_compilations() {
  return traingraph::cuda::num_compilations;
}
