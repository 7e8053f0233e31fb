// SPDX-License-Identifier: MIT
// The emulated card (tests/cuda_emulator) as the driver's functions show it.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "cuda/abi/libraries.h"

namespace traingraph::cuda::test {

/// Has TRAINGRAPH_CUDA_PATH name it, unless somebody else did.
void use_emulated_card();

/// A function of tests/cuda_emulator/control.h.
void* emulator_function(const char* name);
template <class Function>
Function* emulator_function(const char* name) {
  return reinterpret_cast<Function*>(emulator_function(name));
}

/// Text of a module to its machine code, or the log of the compiler.
struct CompiledText {
  CompilerResult result;
  std::string code, log;
};
CompiledText compile_text(const std::string& text);

/// A stream and kernels on the emulated card, alive again for each test.
class EmulatedCard : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  /// The kernels of a text, which follows the headers and `using namespace`.
  void load(const std::string& text);
  FunctionHandle function(const char* name);

  /// Device memory with these values.
  template <class T>
  DeviceAddress upload(const std::vector<T>& values) {
    const DeviceAddress to = allocate(values.size() * sizeof(T));
    EXPECT_EQ(driver_->copy_to_device_async(to, values.data(),
                                            values.size() * sizeof(T), stream_),
              Result::Success);
    return to;
  }
  template <class T>
  std::vector<T> download(DeviceAddress from, std::size_t count) {
    std::vector<T> values(count);
    EXPECT_EQ(driver_->copy_to_host_async(values.data(), from,
                                          count * sizeof(T), stream_),
              Result::Success);
    return values;
  }
  DeviceAddress allocate(std::size_t bytes);

  template <class... P>
  Result launch(FunctionHandle kernel, unsigned blocks, unsigned threads,
                P... parameters) {
    void* addresses[] = {&parameters..., nullptr};
    return driver_->launch_kernel(kernel, blocks, 1, 1, threads, 1, 1, 0,
                                  stream_, addresses, nullptr);
  }
  Result synchronize() { return driver_->stream_synchronize(stream_); }

  const Driver* driver_ = nullptr;
  StreamHandle stream_ = nullptr;
  ModuleHandle module_ = nullptr;
  std::vector<DeviceAddress> allocated_;
};

}  // namespace traingraph::cuda::test
