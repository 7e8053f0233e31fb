// SPDX-License-Identifier: MIT
#include "cuda/code/compiler.h"

#include <array>
#include <cstdint>

#include "cuda/abi/libraries.h"
#include "cuda/code/code_cache.h"
#include "cuda/code/headers.h"
#include "traingraph/error.h"

namespace traingraph::cuda {
namespace {

/// FNV-1a. A collision would need two kernels of one module.
std::uint64_t hash_of(const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const unsigned char c : text) hash = (hash ^ c) * 0x100000001b3u;
  return hash;
}

std::string hexadecimal(std::uint64_t number) {
  std::string text;
  for (int shift = 60; shift >= 0; shift -= 4) {
    text += "0123456789abcdef"[number >> shift & 15];
  }
  return text;
}

std::string named(const KernelText& text) {
  constexpr std::string_view kName = "KERNEL";
  std::string definition = text.definition;
  definition.replace(definition.find(kName), kName.size(), kernel_name(text));
  return definition;
}

std::string module_text(std::span<const KernelText> texts) {
  std::set<std::string> headers;
  for (const KernelText& text : texts) {
    headers.insert(text.headers.begin(), text.headers.end());
  }
  std::string module = "#include \"cuda/kernels/portable_cuda.cuh\"\n";
  for (const std::string& header : headers) {
    module += "#include \"cuda/kernels/" + header + "\"\n";
  }
  module += "using namespace traingraph::cuda;\n";
  for (const KernelText& text : texts) module += "\n" + named(text);
  return module;
}

/// Ends the program when it goes.
struct Program {
  explicit Program(const Nvrtc& nvrtc) : nvrtc(nvrtc) {}
  ~Program() { nvrtc.destroy_program(&handle); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  const Nvrtc& nvrtc;
  CompilerProgram handle = nullptr;
};

std::string log_of(const Program& program) {
  std::size_t bytes = 0;
  program.nvrtc.get_log_size(program.handle, &bytes);
  std::string log(bytes, '\0');
  if (bytes > 0) program.nvrtc.get_log(program.handle, log.data());
  return log;
}

void require_success(CompilerResult result, const char* call,
                     const std::string& got) {
  if (result == CompilerResult::Success) return;
  throw InternalError(
      ErrorInfo{.op = "compile",
                .node = "gpu",
                .what = std::string(call) + " refuses a kernel of ours",
                .got = got,
                .hint = "Please report this with the text above."});
}

std::string compile(const Nvrtc& nvrtc, const std::string& text,
                    const std::vector<std::string>& options) {
  std::vector<const char*> headers, names, flags;
  for (const Header& header : kernel_headers()) {
    headers.push_back(header.text);
    names.push_back(header.name);
  }
  for (const std::string& option : options) flags.push_back(option.c_str());
  Program program(nvrtc);
  require_success(
      nvrtc.create_program(&program.handle, text.c_str(), "traingraph.cu",
                           static_cast<int>(names.size()), headers.data(),
                           names.data()),
      "nvrtcCreateProgram", {});
  const CompilerResult result = nvrtc.compile_program(
      program.handle, static_cast<int>(flags.size()), flags.data());
  if (result != CompilerResult::Success) {
    require_success(result, "nvrtcCompileProgram",
                    log_of(program) + "\n" + text);
  }
  std::size_t bytes = 0;
  require_success(nvrtc.get_code_size(program.handle, &bytes),
                  "nvrtcGetCUBINSize", {});
  std::string code(bytes, '\0');
  require_success(nvrtc.get_code(program.handle, code.data()), "nvrtcGetCUBIN",
                  {});
  return code;
}

/// Two accumulators of FNV-1a over everything that the code follows from.
std::string key_of(const std::string& text,
                   const std::vector<std::string>& options,
                   std::array<int, 2> version) {
  static const std::string headers = [] {
    std::string texts;
    for (const Header& header : kernel_headers()) texts += header.text;
    return hexadecimal(hash_of(texts)) + hexadecimal(hash_of(texts + "2"));
  }();
  std::string all = text + headers;
  for (const std::string& option : options) all += "\n" + option;
  all += std::to_string(version[0]) + "." + std::to_string(version[1]);
  return hexadecimal(hash_of(all)) + hexadecimal(hash_of(all + "2"));
}

}  // namespace

std::string kernel_name(const KernelText& text) {
  return "kernel_" + hexadecimal(hash_of(text.definition));
}

std::string compile_kernels(std::span<const KernelText> texts,
                            const std::string& architecture) {
  const Library<Nvrtc> library = nvrtc_library();
  if (library.functions == nullptr) {
    throw UnsupportedError(
        ErrorInfo{.op = "compile", .node = "gpu", .what = library.reason});
  }
  const Nvrtc& nvrtc = *library.functions;
  // Products and sums say fma() where they want it: element-wise formulas round
  // as on the CPU.
  const std::vector<std::string> options = {
      "--gpu-architecture=" + architecture, "--std=c++17",
      "--device-as-default-execution-space", "--fmad=false"};
  std::array<int, 2> version{};
  nvrtc.version(&version[0], &version[1]);
  const std::string text = module_text(texts);
  const std::string key = key_of(text, options, version);
  if (auto cached = read_cached_code(key)) return *std::move(cached);
  std::string code = compile(nvrtc, text, options);
  write_cached_code(key, code);
  return code;
}

}  // namespace traingraph::cuda
