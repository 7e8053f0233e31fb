// SPDX-License-Identifier: MIT
// Losses and their gradients: what the graph asks for becomes one LossPlan;
// the loops are in loss_element_loops.h and loss_class_loops.h.
#include <algorithm>
#include <optional>
#include <vector>

#include "base/checked.h"
#include "cpu/float_types.h"
#include "cpu/ops/gather_indices.h"
#include "cpu/ops/loss_class_loops.h"
#include "cpu/ops/loss_element_loops.h"
#include "cpu/strided_copy.h"
#include "cpu/typed_address.h"
#include "ops/loss_shapes.h"

namespace traingraph::cpu {
namespace {

/// An input that is read as it is, or spread over a larger shape first.
struct Spread {
  int arg = -1;  // -1: absent
  int scratch = -1;
  std::optional<StridedCopy> copy;

  const float* bind(std::span<std::byte* const> at) const {
    if (arg < 0) return nullptr;
    return floats(at[copy ? scratch : arg]);
  }
  void prepare(std::span<std::byte* const> at) const {
    if (copy) (*copy)(at[arg], at[scratch]);
  }
};

/// `view` is the input's shape, but for axes of size 1.
Spread read_spread(NodeLowering& lowering, int input, const Shape& view,
                   const Shape& target) {
  Spread spread;
  spread.arg = lowering.read(input);
  if (view.num_elements() == target.num_elements()) return spread;
  spread.scratch =
      lowering.scratch(checked_bytes<float>(target.num_elements(), "scratch"));
  spread.copy = StridedCopy::broadcast(view, target, sizeof(float));
  return spread;
}

/// What loss and gradient read; prediction, labels and weights.
struct Operands {
  LossPlan plan;
  int prediction = -1, class_weights = -1;
  Spread labels, weights;
  bool are_names = false, are_wide = false;  // of classes: int32, int64
  std::optional<IndexCheck> check;           // of these

  /// The first of them is input `first`.
  Operands(NodeLowering& lowering, int first) {
    const auto& attrs = lowering.attrs<LossAttrs>();
    const Shape& shape = lowering.input_shape(first);
    plan = plan_loss(attrs, shape);
    prediction = lowering.read(first);
    const TensorDescriptor& desc = lowering.input_desc(first + 1);
    are_names = are_class_indices(attrs.type, desc.data_type);
    are_wide = desc.data_type == DataType::Int64;
    if (are_names) {
      labels.arg = lowering.read(first + 1);
      check.emplace(lowering, first + 1, plan.classes);
      check->ignored = attrs.ignore_index;
    } else {
      const Shape view =
          loss_labels_shape(attrs.type, shape, desc.shape, are_names).value();
      labels = read_spread(lowering, first + 1, view, shape);
    }
    if (lowering.has(first + 2)) read_weights(lowering, first + 2, shape);
    if (lowering.has(first + 3)) class_weights = lowering.read(first + 3);
  }

  template <class T>
  LossArgs<T> bind(std::span<std::byte* const> at) const {
    LossArgs<T> args;
    args.prediction = typed<T>(at[prediction]);
    if (!are_names) args.labels = labels.bind(at);
    if (are_names && !are_wide)
      args.names = typed<std::int32_t>(at[labels.arg]);
    if (are_names && are_wide) {
      args.wide_names = typed<std::int64_t>(at[labels.arg]);
    }
    args.weights = weights.bind(at);
    if (class_weights >= 0) args.class_weights = floats(at[class_weights]);
    return args;
  }

  /// Runs `run` when labels and weights are checked and in place.
  template <class T, class Run>
  BoundKernel prepared(std::span<std::byte* const> at, const LossArgs<T>& args,
                       Run run) const {
    if (!labels.copy && !weights.copy && !check) return run;
    const std::vector<std::byte*> addresses(at.begin(), at.end());
    return [*this, addresses, args, run] {
      if (args.names) check->require(args.names);
      if (args.wide_names) check->require(args.wide_names);
      labels.prepare(addresses);
      weights.prepare(addresses);
      run();
    };
  }

 private:
  void read_weights(NodeLowering& lowering, int input, const Shape& shape) {
    const Shape& given = lowering.input_shape(input);
    if (given.num_elements() == 1) {
      weights.arg = lowering.read(input);
      return;
    }
    plan.has_many_weights = true;
    const LossType type = plan.attrs.type;
    weights = read_spread(lowering, input,
                          loss_weights_shape(type, shape, given).value(),
                          element_loss_shape(type, shape));
  }
};

/// Calls use(losses) with the loops of a type of loss.
template <class Use>
void with_losses(const LossPlan& plan, Use&& use) {
  switch (plan.attrs.type) {
    case LossType::SoftmaxCrossEntropy:
    case LossType::CategoricalCrossEntropy:
      return use(ClassLosses{});
    case LossType::CosineDistance:
      return use(CosineLosses{});
    default:
      with_formula(plan.attrs, [&]<class Formula>(const Formula& formula) {
        use(ElementLosses<Formula>{formula});
      });
  }
}

}  // namespace

LossPlan plan_loss(const LossAttrs& attrs, const Shape& prediction) {
  LossPlan plan;
  plan.attrs = attrs;
  plan.num_losses = element_loss_shape(attrs.type, prediction).num_elements();
  if (sums_over_classes(attrs.type)) {
    plan.samples = prediction[0];
    plan.classes = prediction[1];
    plan.inner = plan.num_losses / plan.samples;
  } else if (attrs.type == LossType::CosineDistance) {
    plan.samples = prediction[0];
    plan.inner = prediction.num_elements() / plan.samples;
  } else {
    plan.inner = plan.num_losses;
  }
  plan.divisor = static_cast<double>(plan.num_losses);
  return plan;
}

double LossPlan::scale() const {
  const bool is_mean = attrs.reduction == ReductionType::Mean;
  return attrs.weight / (is_mean ? divisor : 1.0);
}

std::int64_t LossPlan::num_partials() const {
  if (!is_reduced()) return 0;
  if (attrs.type == LossType::CosineDistance) return samples;
  if (sums_over_classes(attrs.type)) {
    return samples * ((inner + kLossColumns - 1) / kLossColumns);
  }
  return (num_losses + kLossBlock - 1) / kLossBlock;
}

void finish_loss(const LossPlan& plan, const double* partials, float* result) {
  double sum = 0;
  const std::int64_t count = plan.num_partials();
  for (std::int64_t i = 0; i < count; ++i) sum += partials[i];
  result[0] = static_cast<float>(sum * plan.scale());
}

void lower_loss(NodeLowering& lowering) {
  const Operands operands(lowering, /*first=*/0);
  const LossPlan& plan = operands.plan;
  const int result = lowering.write(0);
  int partials = -1;
  if (plan.is_reduced()) {
    partials =
        lowering.scratch(checked_bytes<double>(plan.num_partials(), "scratch"));
  }
  const DataType type = lowering.input_desc(0).data_type;
  visit_float_type(lowering, type, [&]<class T>(T) {
    lowering.emit([=](std::span<std::byte* const> at) -> BoundKernel {
      LossArgs<T> args = operands.bind<T>(at);
      args.result = floats(at[result]);
      if (partials >= 0) args.partials = typed<double>(at[partials]);
      return operands.prepared(at, args, [plan = operands.plan, args] {
        with_losses(plan, [&](const auto& losses) { losses.loss(plan, args); });
      });
    });
  });
}

void lower_loss_gradient(NodeLowering& lowering) {
  const int gradient = lowering.read(0);
  const Operands operands(lowering, /*first=*/1);
  const int dx = lowering.write(0);
  const DataType type = lowering.input_desc(1).data_type;
  visit_float_type(lowering, type, [&]<class T>(T) {
    lowering.emit([=](std::span<std::byte* const> at) -> BoundKernel {
      LossArgs<T> args = operands.bind<T>(at);
      args.gradient = floats(at[gradient]);
      args.dx = typed<T>(at[dx]);
      return operands.prepared(at, args, [plan = operands.plan, args] {
        with_losses(plan,
                    [&](const auto& losses) { losses.gradient(plan, args); });
      });
    });
  });
}

}  // namespace traingraph::cpu
