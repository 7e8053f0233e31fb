// SPDX-License-Identifier: MIT
#include "cuda/emulated_card.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>

#include "cuda/code/headers.h"

namespace traingraph::cuda::test {
namespace {

constexpr const char* kPath = "TRAINGRAPH_CUDA_PATH";

void* open(const char* library) {
  const std::string path = std::string(std::getenv(kPath)) + "/" + library;
  return dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
}

}  // namespace

void use_emulated_card() {
  setenv(kPath, TRAINGRAPH_CUDA_EMULATOR, /*overwrite=*/0);
}

void* emulator_function(const char* name) {
  for (const char* library : {"libcuda.so.1", "libnvrtc.so.13"}) {
    if (void* function = dlsym(open(library), name)) return function;
  }
  return nullptr;
}

CompiledText compile_text(const std::string& text) {
  const Library<Nvrtc> library = nvrtc_library();
  if (library.functions == nullptr) {
    return {CompilerResult::CompilationError, {}, library.reason};
  }
  const Nvrtc& nvrtc = *library.functions;
  std::vector<const char*> headers, names;
  for (const Header& header : kernel_headers()) {
    headers.push_back(header.text);
    names.push_back(header.name);
  }
  CompilerProgram program = nullptr;
  nvrtc.create_program(&program, text.c_str(), "test.cu",
                       static_cast<int>(names.size()), headers.data(),
                       names.data());
  const char* options[] = {"--gpu-architecture=sm_90", "--std=c++17",
                           "--device-as-default-execution-space",
                           "--fmad=false"};
  CompiledText compiled;
  compiled.result = nvrtc.compile_program(program, std::size(options), options);
  std::size_t bytes = 0;
  nvrtc.get_log_size(program, &bytes);
  compiled.log.resize(bytes);
  nvrtc.get_log(program, compiled.log.data());
  nvrtc.get_code_size(program, &bytes);
  compiled.code.resize(bytes);
  nvrtc.get_code(program, compiled.code.data());
  nvrtc.destroy_program(&program);
  return compiled;
}

void EmulatedCard::SetUp() {
  use_emulated_card();
  driver_ = driver_library().functions;
  ASSERT_NE(driver_, nullptr) << driver_library().reason;
  emulator_function<void()>("cuda_emulator_recover")();
  ASSERT_EQ(driver_->init(0), Result::Success);
  ContextHandle context = nullptr;
  ASSERT_EQ(driver_->primary_context_retain(&context, 0), Result::Success);
  ASSERT_EQ(driver_->context_set_current(context), Result::Success);
  ASSERT_EQ(driver_->stream_create(&stream_, kStreamNonBlocking),
            Result::Success);
}

void EmulatedCard::TearDown() {
  emulator_function<void()>("cuda_emulator_recover")();
  for (const DeviceAddress address : allocated_) driver_->mem_free(address);
  if (module_ != nullptr) driver_->module_unload(module_);
}

void EmulatedCard::load(const std::string& text) {
  const CompiledText compiled = compile_text(
      "#include \"cuda/kernels/portable_cuda.cuh\"\n"
      "using namespace traingraph::cuda;\n" +
      text);
  ASSERT_EQ(compiled.result, CompilerResult::Success) << compiled.log;
  ASSERT_EQ(driver_->module_load_data(&module_, compiled.code.data()),
            Result::Success);
}

FunctionHandle EmulatedCard::function(const char* name) {
  FunctionHandle function = nullptr;
  EXPECT_EQ(driver_->module_get_function(&function, module_, name),
            Result::Success);
  return function;
}

DeviceAddress EmulatedCard::allocate(std::size_t bytes) {
  DeviceAddress address = 0;
  EXPECT_EQ(driver_->mem_alloc(&address, bytes), Result::Success);
  allocated_.push_back(address);
  return address;
}

}  // namespace traingraph::cuda::test
