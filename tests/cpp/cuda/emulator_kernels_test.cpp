// SPDX-License-Identifier: MIT
// Threads, blocks and their memory on the emulated card: right kernels are
// right in any order, and each kind of mistake shows.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "cuda/emulated_card.h"

namespace traingraph::cuda::test {
namespace {

class EmulatorKernels : public EmulatedCard {};

constexpr Result kIllegalAddress{700}, kLaunchFailed{719};

TEST_F(EmulatorKernels, AddsVectors) {
  load(R"(
extern "C" __global__ void __launch_bounds__(128) add(
    const float* x, const float* y, float* z, Index n) {
  begin_after_previous();
  for (Index i = thread_of_grid(); i < n; i += threads_of_grid()) {
    z[i] = x[i] + y[i];
  }
})");
  std::vector<float> x(1000);
  std::iota(x.begin(), x.end(), 1.0f);
  const DeviceAddress a = upload(x), b = upload(x), c = allocate(4000);
  ASSERT_EQ(launch(function("add"), 3, 128, a, b, c, 1000ll), Result::Success);
  const auto z = download<float>(c, 1000);
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ(z[i], 2 * x[i]);
}

TEST_F(EmulatorKernels, HoldsLaunchesToWhatTheKernelDeclares) {
  load(R"(
extern "C" __global__ void __launch_bounds__(64) nothing() {})");
  const FunctionHandle kernel = function("nothing");
  EXPECT_EQ(launch(kernel, 1, 65), Result::InvalidValue);
  EXPECT_EQ(launch(kernel, 0, 64), Result::InvalidValue);
  EXPECT_EQ(driver_->launch_kernel(kernel, 1, 1, 1, 64, 1, 1, 50000, stream_,
                                   nullptr, nullptr),
            Result::InvalidValue);
  EXPECT_EQ(driver_->function_set_attribute(
                kernel, FunctionAttribute::MaxDynamicSharedSizeBytes, 50000),
            Result::Success);
  EXPECT_EQ(driver_->launch_kernel(kernel, 1, 1, 1, 64, 1, 1, 50000, stream_,
                                   nullptr, nullptr),
            Result::Success);
  EXPECT_EQ(synchronize(), Result::Success);
}

constexpr const char* kBlockSum = R"(
extern "C" __global__ void sum(const float* x, float* y) {
  SHARED(float, parts, 8);
  const float mine = warp_sum(x[threadIdx.x]);
  if (threadIdx.x % kWarp == 0) parts[threadIdx.x / kWarp] = mine;
  barrier();
  float all = 0;
  for (int i = 0; i < blockDim.x / kWarp; ++i) all += parts[i];
  y[threadIdx.x] = all;
})";

TEST_F(EmulatorKernels, SumsOverABlock) {
  load(kBlockSum);
  const DeviceAddress x = upload(std::vector<float>(256, 2.0f));
  const DeviceAddress y = allocate(1024);
  ASSERT_EQ(launch(function("sum"), 1, 256, x, y), Result::Success);
  EXPECT_EQ(download<float>(y, 256), std::vector<float>(256, 512.0f));
}

TEST_F(EmulatorKernels, SeesAMissingBarrier) {
  std::string text = kBlockSum;
  const std::string barrier = "barrier();";
  text.erase(text.find(barrier), barrier.size());
  load(text);
  const DeviceAddress x = upload(std::vector<float>(256, 2.0f));
  const DeviceAddress y = allocate(1024);
  ASSERT_EQ(launch(function("sum"), 1, 256, x, y), Result::Success);
  const auto sums = download<float>(y, 256);
  EXPECT_TRUE(std::ranges::any_of(sums, [](float v) { return std::isnan(v); }));
}

TEST_F(EmulatorKernels, HasDynamicSharedMemoryAndUnevenWarps) {
  load(R"(
extern "C" __global__ void turn(const int* x, int* y) {
  int* all = shared_memory<int>();
  all[threadIdx.x] = shuffle_xor(x[threadIdx.x], 1);
  barrier();
  y[threadIdx.x] = all[blockDim.x - 1 - threadIdx.x];
})");
  std::vector<int> x(38);
  std::iota(x.begin(), x.end(), 0);
  const DeviceAddress from = upload(x), to = allocate(38 * 4);
  DeviceAddress parameters[] = {from, to};
  void* addresses[] = {&parameters[0], &parameters[1]};
  ASSERT_EQ(driver_->launch_kernel(function("turn"), 1, 1, 1, 38, 1, 1, 38 * 4,
                                   stream_, addresses, nullptr),
            Result::Success);
  const auto y = download<int>(to, 38);
  for (int i = 0; i < 38; ++i) {
    EXPECT_EQ(y[static_cast<std::size_t>(i)], (37 - i) ^ 1);
  }
}

TEST_F(EmulatorKernels, SeesAThreadThatMissesABarrier) {
  load(R"(
extern "C" __global__ void leave() {
  if (threadIdx.x == 7) return;
  barrier();
})");
  const FunctionHandle leave = function("leave");
  ASSERT_EQ(launch(leave, 1, 32), Result::Success);
  EXPECT_EQ(synchronize(), kLaunchFailed);
  EXPECT_EQ(launch(leave, 1, 32), kLaunchFailed);  // a lost card stays so
}

TEST_F(EmulatorKernels, SeesWritesBesideArrays) {
  load(R"(
extern "C" __global__ void fill(float* x, int n) { x[n] = 1; }
extern "C" __global__ void fill_shared(int n) {
  SHARED(float, x, 4);
  x[n] = 1;
})");
  const DeviceAddress x = allocate(40);
  const struct {
    const char* what;
    int index;
    Result result;
  } cases[] = {{"the last", 9, Result::Success},
               {"one behind it, in the red zone", 10, kIllegalAddress},
               {"one before it, in the red zone", -1, kIllegalAddress},
               {"behind the pages", 64, kIllegalAddress},
               {"before the pages", -2048, kIllegalAddress}};
  for (const auto& each : cases) {
    emulator_function<void()>("cuda_emulator_recover")();
    ASSERT_EQ(launch(function("fill"), 1, 1, x, each.index), Result::Success);
    EXPECT_EQ(synchronize(), each.result) << each.what;
  }
  emulator_function<void()>("cuda_emulator_recover")();
  ASSERT_EQ(launch(function("fill_shared"), 1, 1, 4), Result::Success);
  EXPECT_EQ(synchronize(), kIllegalAddress);
}

TEST_F(EmulatorKernels, SeesDivisionByZero) {
  load(R"(
extern "C" __global__ void divide(int* x, int y) { x[0] /= y; })");
  const DeviceAddress x = upload(std::vector<int>{1});
  ASSERT_EQ(launch(function("divide"), 1, 1, x, 0), Result::Success);
  EXPECT_EQ(synchronize(), kLaunchFailed);
}

TEST_F(EmulatorKernels, RoundsHalfFloatsAsCardsDo) {
  load(R"(
extern "C" __global__ void to_half(const float* x, unsigned short* y) {
  const float16 rounded(x[threadIdx.x]);
  y[threadIdx.x] = rounded.bits;
})");
  const std::vector<float> x = {1,    -2,        65504, 65520, 5.9604645e-8f,
                                2049, -INFINITY, -NAN};
  const DeviceAddress from = upload(x), to = allocate(2 * x.size());
  ASSERT_EQ(
      launch(function("to_half"), 1, static_cast<unsigned>(x.size()), from, to),
      Result::Success);
  const std::vector<unsigned short> expected = {0x3c00, 0xc000, 0x7bff, 0x7c00,
                                                1,      0x6800, 0xfc00, 0x7fff};
  EXPECT_EQ(download<unsigned short>(to, x.size()), expected);
}

TEST_F(EmulatorKernels, SaysWhatTheCompilerSays) {
  const CompiledText compiled = compile_text("int x = nobody_knows;\n");
  EXPECT_EQ(compiled.result, CompilerResult::CompilationError);
  EXPECT_NE(compiled.log.find("test.cu:1"), std::string::npos) << compiled.log;
  EXPECT_NE(compiled.log.find("nobody_knows"), std::string::npos);
}

}  // namespace
}  // namespace traingraph::cuda::test
