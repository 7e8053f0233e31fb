// SPDX-License-Identifier: MIT
// One op on any device, without planner and session: what the tests of the
// lowering run. Values are doubles, whatever the data type.
#pragma once

#include <functional>
#include <vector>

#include "metal/gpu_limits.h"
#include "support/run_program.h"

namespace traingraph::testing {

struct Operand {
  Shape shape;
  std::vector<double> values;  // again and again until the shape is full
  DataType type = DataType::Float32;
};

using Results = std::vector<std::vector<double>>;

/// All results of the op.
Results run_op_on(DeviceType device, OpKind op, const Attributes& attrs,
                  const std::vector<Operand>& operands);

/// Runs the op on a device that only the test knows.
Results run_op_in(const std::shared_ptr<DeviceContext>& device, OpKind op,
                  const Attributes& attrs,
                  const std::vector<Operand>& operands);

/// The emulated GPU with other limits.
std::shared_ptr<DeviceContext> gpu_with(
    const std::function<void(metal::GpuLimits&)>& change);

/// Small ones of both signs: sums of them are exact, whatever their order.
std::vector<double> whole_numbers(std::int64_t count, int period);
/// The CPU and that device agree to the bit.
void expect_exact(const std::shared_ptr<DeviceContext>& gpu, OpKind op,
                  const Attributes& attrs,
                  const std::vector<Operand>& operands);

/// The first result on the GPU.
std::vector<double> run_on_gpu(OpKind op, const Attributes& attrs,
                               const std::vector<Operand>& operands);

/// Why the GPU does not run the op; empty when it does.
std::string reason_refused(OpKind op, const Attributes& attrs,
                           const std::vector<TensorDescriptor>& operands);

/// Equal, or close to each other, or not finite in the same way.
void expect_alike(const std::vector<double>& got,
                  const std::vector<double>& expected, double tolerance);

}  // namespace traingraph::testing
