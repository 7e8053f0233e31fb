// SPDX-License-Identifier: MIT
#include "metal/lowering_support.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "graph/op_def.h"
#include "metal/metal_backend.h"
#include "runtime/device/backend.h"
#include "traingraph/error.h"
#include "traingraph/half_types.h"

namespace traingraph::testing {
namespace {

template <class F>
auto with_type(DataType type, F&& f) {
  switch (type) {
    case DataType::Float32:
      return f(float{});
    case DataType::Float16:
      return f(float16{});
    case DataType::BFloat16:
      return f(bfloat16{});
    case DataType::Int32:
      return f(std::int32_t{});
    case DataType::Int64:
      return f(std::int64_t{});
    case DataType::Int8:
      return f(std::int8_t{});
    case DataType::UInt8:
    case DataType::Boolean:
      return f(std::uint8_t{});
    default:
      throw InternalError("tests cannot hold " + std::string(to_string(type)));
  }
}

void fill(ProgramRun& run, ValueId value, const Operand& operand) {
  with_type(operand.type, [&]<class T>(T) {
    std::vector<T> elements(operand.shape.num_elements());
    for (std::size_t i = 0; i < elements.size(); ++i) {
      elements[i] = static_cast<T>(operand.values[i % operand.values.size()]);
    }
    run.set(value, elements);
  });
}

std::vector<double> read(const ProgramRun& run, const Program& program,
                         ValueId value) {
  return with_type(program.desc(value).data_type, [&]<class T>(T) {
    const std::vector<T> elements = run.get<T>(value);
    return std::vector<double>(elements.begin(), elements.end());
  });
}

}  // namespace

Results run_op_in(const std::shared_ptr<DeviceContext>& device, OpKind op,
                  const Attributes& attrs,
                  const std::vector<Operand>& operands) {
  Program program;
  std::vector<ValueId> inputs;
  for (const Operand& operand : operands) {
    const int i = static_cast<int>(inputs.size());
    const bool is_mutated = input_def(op_def(op), i).is_mutated;
    inputs.push_back(
        program.add_value(is_mutated ? Role::Variable : Role::Input,
                          {operand.shape, operand.type}, "input"));
  }
  std::vector<ValueId> kept = program.append(op, attrs, inputs, "node");
  std::erase_if(kept, [&](ValueId id) { return program.value(id).is_opaque; });
  ProgramRun run(program, kept, device);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    fill(run, inputs[i], operands[i]);
  }
  run.run();
  EXPECT_TRUE(run.has_intact_guards());
  Results results;
  for (ValueId id : kept) results.push_back(read(run, program, id));
  return results;
}

Results run_op_on(DeviceType device, OpKind op, const Attributes& attrs,
                  const std::vector<Operand>& operands) {
  return run_op_in(find_device_context(device), op, attrs, operands);
}

std::shared_ptr<DeviceContext> gpu_with(
    const std::function<void(metal::GpuLimits&)>& change) {
  return metal::make_context(change);
}

std::vector<double> whole_numbers(std::int64_t count, int period) {
  std::vector<double> numbers;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t half = period / 2;
    numbers.push_back(static_cast<double>(i * 5 % period - half));
  }
  return numbers;
}

void expect_exact(const std::shared_ptr<DeviceContext>& gpu, OpKind op,
                  const Attributes& attrs,
                  const std::vector<Operand>& operands) {
  EXPECT_EQ(run_op_in(gpu, op, attrs, operands),
            run_op_on(DeviceType::CPU, op, attrs, operands));
}

std::vector<double> run_on_gpu(OpKind op, const Attributes& attrs,
                               const std::vector<Operand>& operands) {
  return run_op_on(DeviceType::GPU, op, attrs, operands).at(0);
}

std::string reason_refused(OpKind op, const Attributes& attrs,
                           const std::vector<TensorDescriptor>& operands) {
  Program program;
  std::vector<ValueId> inputs;
  for (const TensorDescriptor& desc : operands) {
    inputs.push_back(program.add_value(Role::Input, desc, "input"));
  }
  program.append(op, attrs, inputs, "node");
  return find_device_context(DeviceType::GPU)
      ->target()
      .reason_unsupported(program, program.node(0));
}

void expect_alike(const std::vector<double>& got,
                  const std::vector<double>& expected, double tolerance) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double x = got[i], want = expected[i];
    if (x == want || (std::isnan(x) && std::isnan(want))) continue;
    EXPECT_LE(std::abs(x - want), tolerance * std::max(1.0, std::abs(want)))
        << "element " << i << ": expected " << want << ", got " << x;
  }
}

}  // namespace traingraph::testing
