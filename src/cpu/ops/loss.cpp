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

  const float* bind(BindContext& at) const {
    if (arg < 0) return nullptr;
    return floats(at[copy ? scratch : arg]);
  }
  /// Spreads it, when called; empty: there is nothing to do.
  BoundKernel bind_copy(BindContext& at) const {
    if (!copy) return {};
    return [copy = *copy, from = at[arg], to = at[scratch]] { copy(from, to); };
  }
};

/// `view` is the input's shape, but for axes of size 1.
Spread read_spread(UnitBuilder& unit, int input, const Shape& view,
                   const Shape& target) {
  Spread spread;
  spread.arg = unit.read(input);
  if (view.num_elements() == target.num_elements()) return spread;
  spread.scratch =
      unit.scratch(checked_bytes<float>(target.num_elements(), "scratch"));
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
  Operands(UnitBuilder& unit, int first) {
    const auto& attrs = unit.attrs<LossAttrs>();
    const Shape& shape = unit.input_shape(first);
    plan = plan_loss(attrs, shape);
    prediction = unit.read(first);
    const TensorDescriptor& desc = unit.input_desc(first + 1);
    are_names = are_class_indices(attrs.type, desc.data_type);
    are_wide = desc.data_type == DataType::Int64;
    if (are_names) {
      labels.arg = unit.read(first + 1);
      check.emplace(unit, first + 1, plan.classes);
      check->ignored = attrs.ignore_index;
    } else {
      const Shape view =
          loss_labels_shape(attrs.type, shape, desc.shape, are_names).value();
      labels = read_spread(unit, first + 1, view, shape);
    }
    if (unit.has(first + 2)) read_weights(unit, first + 2, shape);
    if (unit.has(first + 3)) class_weights = unit.read(first + 3);
  }

  template <class T>
  LossArgs<T> bind(BindContext& at) const {
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
  BoundKernel prepared(BindContext& at, const LossArgs<T>& args,
                       Run run) const {
    if (!labels.copy && !weights.copy && !check) return run;
    return [check = check, args, run, spread_labels = labels.bind_copy(at),
            spread_weights = weights.bind_copy(at)] {
      if (args.names) check->require(args.names);
      if (args.wide_names) check->require(args.wide_names);
      if (spread_labels) spread_labels();
      if (spread_weights) spread_weights();
      run();
    };
  }

 private:
  void read_weights(UnitBuilder& unit, int input, const Shape& shape) {
    const Shape& given = unit.input_shape(input);
    if (given.num_elements() == 1) {
      weights.arg = unit.read(input);
      return;
    }
    plan.has_many_weights = true;
    const LossType type = plan.attrs.type;
    weights =
        read_spread(unit, input, loss_weights_shape(type, shape, given).value(),
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

void finish_loss(const LossPlan& plan, const double* partials, float* result) {
  double sum = 0;
  const std::int64_t count = plan.num_partials();
  for (std::int64_t i = 0; i < count; ++i) sum += partials[i];
  result[0] = static_cast<float>(sum * plan.scale());
}

void lower_loss(UnitBuilder& unit) {
  const Operands operands(unit, /*first=*/0);
  const LossPlan& plan = operands.plan;
  const int result = unit.write(0);
  int partials = -1;
  if (plan.is_reduced()) {
    partials =
        unit.scratch(checked_bytes<double>(plan.num_partials(), "scratch"));
  }
  const DataType type = unit.input_desc(0).data_type;
  visit_floats<row::loss>(unit, type, [&]<class T>(T) {
    emit(unit, [=](BindContext& at) -> BoundKernel {
      LossArgs<T> args = operands.bind<T>(at);
      args.result = floats(at[result]);
      if (partials >= 0) args.partials = typed<double>(at[partials]);
      return operands.prepared(at, args, [plan = operands.plan, args] {
        with_losses(plan, [&](const auto& losses) { losses.loss(plan, args); });
      });
    });
  });
}

void lower_loss_gradient(UnitBuilder& unit) {
  const int gradient = unit.read(0);
  const Operands operands(unit, /*first=*/1);
  const int dx = unit.write(0);
  const DataType type = unit.input_desc(1).data_type;
  visit_floats<row::loss_gradient>(unit, type, [&]<class T>(T) {
    emit(unit, [=](BindContext& at) -> BoundKernel {
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
