// SPDX-License-Identifier: MIT
#include "cuda/ops/elementwise_expression.h"

#include <algorithm>

#include "cuda/ops/elementwise_text.h"
#include "cuda/ops/walk.h"

namespace traingraph::cuda {
namespace {

bool is_product(const Expression::Step& step) {
  return step.unit.node().op->kind == OpKind::MatMul;
}

}  // namespace

UnitBuilder* find_product(Expression& expression) {
  const auto found = std::ranges::find_if(expression.steps, is_product);
  return found == expression.steps.end() ? nullptr : &found->unit;
}

std::vector<int> read_operands(Expression& expression) {
  std::vector<int> args(expression.operands.size(), -1);
  for (Expression::Step& step : expression.steps) {
    if (is_product(step)) continue;
    for (std::size_t input = 0; input < step.sources.size(); ++input) {
      if (step.sources[input] >= 0) continue;
      int& arg = args[~step.sources[input]];
      if (arg < 0) arg = step.unit.read(static_cast<int>(input));
    }
  }
  return args;
}

void may_overwrite_operands(Expression& expression, int out,
                            const std::vector<int>& args,
                            const std::vector<int>& others) {
  UnitBuilder& last = expression.steps.back().unit;
  const TensorDescriptor& result = last.result_desc();
  for (std::size_t k = 0; k < args.size(); ++k) {
    if (args[k] < 0) continue;
    const auto& [step, input] = expression.operands[k];
    const TensorDescriptor& desc =
        expression.steps[step].unit.input_desc(input);
    const bool is_shared = std::ranges::any_of(others, [&](int other) {
      return other >= 0 && last.share_storage(args[k], other);
    });
    if (!is_shared && desc.shape == result.shape &&
        size_of(desc.data_type) == size_of(result.data_type)) {
      last.may_overwrite(out, args[k]);
    }
  }
}

std::string write_expression(KernelWriter& kernel, Expression& expression,
                             const std::vector<int>& args, const std::string& i,
                             const std::string& product) {
  const Extents sizes = result_extents(expression.steps.back().unit);
  std::vector<std::string> pointers;
  std::vector<Extents> strides;
  std::vector<std::size_t> read;  // operands
  for (std::size_t k = 0; k < args.size(); ++k) {
    if (args[k] < 0) continue;
    const auto& [step, input] = expression.operands[k];
    UnitBuilder& reader = expression.steps[step].unit;
    pointers.push_back(
        kernel.pointer(args[k], reader.input_desc(input).data_type));
    strides.push_back(
        broadcast_strides(input_extents(reader, input), sizes.size()));
    read.push_back(k);
  }
  const std::vector<std::string> offsets =
      Walk(sizes, strides).write_offsets(kernel, i);
  std::vector<std::string> operands(args.size()), computed;
  const auto add_local = [&](const std::string& value) {
    const std::string name = kernel.local();
    kernel.body("    const auto " + name + " = " + value + ";\n");
    return name;
  };
  for (std::size_t k = 0; k < read.size(); ++k) {
    operands[read[k]] = add_local(pointers[k] + "[" + offsets[k] + "]");
  }
  for (const Expression::Step& step : expression.steps) {
    if (is_product(step)) {
      computed.push_back(product);
      continue;
    }
    std::vector<std::string> sources;
    for (const int source : step.sources) {
      sources.push_back(source < 0 ? operands[~source] : computed[source]);
    }
    computed.push_back(add_local(elementwise_text(step.unit, sources)));
  }
  return computed.back();
}

}  // namespace traingraph::cuda
