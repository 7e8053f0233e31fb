// SPDX-License-Identifier: MIT
// A GPU that computes wrongly is found out by the CPU.
#include <gtest/gtest.h>

#include "metal/gpu_test.h"

namespace traingraph::testing {
namespace {

class VerifyGpu : public GpuTest {
 protected:
  VerifyGpu() : net(Device::gpu(), {.verify = Device::cpu()}) { net.compile(); }

  /// From now on the results of the n-th run of `op` are 1% too large.
  static void corrupt(const char* op, int n) {
    auto runs = std::make_shared<int>(0);
    emulator::corrupt_operation(
        op, [runs, n](std::vector<std::vector<double>>& results) {
          if (++*runs != n) return;
          for (double& value : results[0]) value *= 1.01;
        });
  }

  SmallNet net;
};

TEST_F(VerifyGpu, ASoundDeviceTrains) {
  net.step().wait();
  net.phases();
  net.infer();
}

TEST_F(VerifyGpu, AWrongForwardTensorIsNamed) {
  corrupt("matrixMultiplication", 1);
  const ErrorInfo error = error_of<DeviceError>([&] { net.step().wait(); });
  EXPECT_EQ(error.op, "verify");
  EXPECT_EQ(error.node, "first");
  EXPECT_NE(error.what.find("forward tensor"), std::string::npos) << error.what;
  EXPECT_NE(error.got, error.expected);
}

TEST_F(VerifyGpu, AWrongGradientIsNamed) {
  net.forward().wait();
  corrupt("matrixMultiplication", 1);
  const ErrorInfo error =
      error_of<DeviceError>([&] { net.t->execute_gradient().wait(); });
  EXPECT_EQ(error.node, "second");
  EXPECT_NE(error.what.find("gradient tensor"), std::string::npos)
      << error.what;
}

TEST_F(VerifyGpu, TheNextExecutionIsCheckedAfresh) {
  corrupt("matrixMultiplication", 1);
  EXPECT_THROW(net.step().wait(), DeviceError);
  emulator::reset_faults();
  net.step().wait();
}

}  // namespace
}  // namespace traingraph::testing
