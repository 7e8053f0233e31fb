// SPDX-License-Identifier: MIT
// Batch normalisation, in whatever layout the data has, along with the residual
// sum and the activation behind them (lowering/fusion_search.h). oneDNN's
// primitives lose digits where there are many samples per channel, and their
// ReLU makes 0 of NaN.
#include <optional>

#include "cpu/ops/norm_affine.h"
#include "cpu/ops/norm_kernels.h"
#include "formulas/moments.h"

namespace traingraph::cpu {
namespace {

/// What is computed behind the norm in the same unit.
struct Epilogue {
  UnitBuilder last;   // the node whose result the unit writes
  int residual = -1;  // argument
  std::optional<ActivationAttrs> activation;
};

Epilogue join_epilogue(UnitBuilder& norm, const Layout& layout) {
  Epilogue epilogue{.last = norm, .activation = {}};
  while (auto next = epilogue.last.fusion().join_next()) {
    const ValueId value = epilogue.last.node().outputs[0];
    if (next->node().op->kind == OpKind::Binary) {
      const int other = next->node().inputs[0] == value ? 1 : 0;
      epilogue.residual = next->read(other, layout);
    } else {
      epilogue.activation = next->attrs<ActivationAttrs>();
    }
    epilogue.last = *next;
  }
  return epilogue;
}

/// Arguments of the forward, -1: none; and the activation behind it.
struct ForwardArgs {
  int x, gamma, beta, residual, y, coefficients;
  std::optional<ActivationAttrs> activation;
};

ForwardArgs add_forward_args(UnitBuilder& unit, const NormLayout& data) {
  ForwardArgs args{};
  args.x = unit.read(0, data.layout);
  args.gamma = read_optional(unit, 1);
  args.beta = read_optional(unit, 2);
  Epilogue epilogue = join_epilogue(unit, data.layout);
  args.residual = epilogue.residual;
  args.y = epilogue.last.write(0, data.layout);
  unit.may_overwrite(args.y, args.x);
  if (args.residual >= 0) unit.may_overwrite(args.y, args.residual);
  args.coefficients =
      unit.scratch(3 * data.plan.num_channels() * sizeof(float));
  args.activation = epilogue.activation;
  return args;
}

template <class T>
Affine<T> bind_affine(const ForwardArgs& args, const NormPlan& plan,
                      BindContext& at) {
  Affine<T> affine;
  if (args.activation) affine.activate(*args.activation);
  affine.bind(typed<T>(at[args.x]), floats(at[args.coefficients]),
              plan.num_channels());
  affine.residual = typed_or_null<T>(at, args.residual);
  affine.y = typed<T>(at[args.y]);
  return affine;
}

/// Running statistics, which training moves: those of samples in general.
struct RunningArgs {
  int mean, variance;
};

struct Running {
  Running(const RunningArgs& args, float momentum, BindContext& at)
      : mean(floats(at[args.mean])),
        variance(floats(at[args.variance])),
        keep(momentum) {}

  /// Towards the moments of n samples.
  void move(std::int64_t c, const Moments& moments, double n) const {
    move(mean[c], moments.mean);
    move(variance[c], moments.variance * formulas::unbiasing(n));
  }
  void move(float& running, double now) const {
    running = static_cast<float>(
        formulas::moved(static_cast<double>(running), now, keep));
  }

  float *mean, *variance;
  double keep;
};

template <class T>
void lower_training(UnitBuilder& unit) {
  const NormLayout data = choose_norm_layout(unit, 0);
  const auto& attrs = unit.attrs<BatchNormAttrs>();
  const ForwardArgs args = add_forward_args(unit, data);
  const RunningArgs running{unit.mutate(3), unit.mutate(4)};
  const int statistics[] = {unit.write(1), unit.write(2)};
  const int totals = unit.scratch(num_totals(data.plan, 2) * sizeof(double));
  emit(
      unit,
      [=, plan = data.plan, attrs = attrs](BindContext& at) -> BoundKernel {
        const auto affine = bind_affine<T>(args, plan, at);
        return [=, running = Running(running, attrs.momentum, at),
                epsilon = attrs.epsilon, gamma = floats_or_null(at, args.gamma),
                beta = floats_or_null(at, args.beta),
                mean = floats(at[statistics[0]]),
                variance = floats(at[statistics[1]]),
                totals = typed<double>(at[totals])] {
          for_each_task(plan, [&](const NormTask& task) {
            measure_moments(plan, task, affine.x, totals);
          });
          for_each_channel(plan, [&](std::int64_t c) {
            if (c >= plan.view.channels) return affine.set_padding(c);
            const Moments moments = merge_moments(plan, totals, c);
            affine.set(c, moments.mean, moments.variance, epsilon, gamma, beta);
            mean[c] = static_cast<float>(moments.mean);
            variance[c] = static_cast<float>(moments.variance);
            running.move(c, moments, static_cast<double>(plan.num_samples));
          });
          for_each_task_back(
              plan, [&](const NormTask& task) { affine.run(plan, task); });
        };
      });
}

template <class T>
void lower_moments(UnitBuilder& unit) {
  const NormLayout data = choose_norm_layout(unit, 0);
  const int x = unit.read(0, data.layout), moments = unit.write();
  const int totals = unit.scratch(num_totals(data.plan, 2) * sizeof(double));
  emit(unit, [=, plan = data.plan](BindContext& at) -> BoundKernel {
    return [=, x = typed<T>(at[x]), totals = typed<double>(at[totals]),
            moments = MomentRows(floats(at[moments]), plan.view.channels)] {
      for_each_task(plan, [&](const NormTask& task) {
        measure_moments(plan, task, x, totals);
      });
      for_each_channel(plan, [&](std::int64_t c) {
        if (c >= plan.view.channels) return;
        const Moments own = merge_moments(plan, totals, c);
        moments.set(c, static_cast<double>(plan.num_samples), own.mean,
                    own.variance);
      });
    };
  });
}

template <class T>
void lower_apply(UnitBuilder& unit) {
  const NormLayout data = choose_norm_layout(unit, 0);
  const auto& attrs = unit.attrs<BatchNormAttrs>();
  const ForwardArgs args = add_forward_args(unit, data);
  std::optional<RunningArgs> running_args;
  if (attrs.training) running_args = {unit.mutate(3), unit.mutate(4)};
  const int moments = unit.read(5);
  const int copies[] = {write_used(unit, 1), write_used(unit, 2)};
  emit(unit,
       [=, plan = data.plan, attrs = attrs](BindContext& at) -> BoundKernel {
         const auto affine = bind_affine<T>(args, plan, at);
         std::optional<Running> running;
         if (running_args) running.emplace(*running_args, attrs.momentum, at);
         return [=, epsilon = attrs.epsilon,
                 gamma = floats_or_null(at, args.gamma),
                 beta = floats_or_null(at, args.beta),
                 mean = floats_or_null(at, copies[0]),
                 variance = floats_or_null(at, copies[1]),
                 rows = MomentRows(floats(at[moments]), plan.view.channels)] {
           for_each_channel(plan, [&](std::int64_t c) {
             if (c >= plan.view.channels) return affine.set_padding(c);
             const Moments moments{rows.mean(c), rows.variance(c)};
             affine.set(c, moments.mean, moments.variance, epsilon, gamma,
                        beta);
             if (mean) mean[c] = static_cast<float>(moments.mean);
             if (variance) variance[c] = static_cast<float>(moments.variance);
             if (running) running->move(c, moments, rows.count(c));
           });
           for_each_task_back(
               plan, [&](const NormTask& task) { affine.run(plan, task); });
         };
       });
}

template <class T>
void lower_inference(UnitBuilder& unit) {
  const auto& attrs = unit.attrs<BatchNormAttrs>();
  const NormLayout data = choose_norm_layout(unit, 0);
  const ForwardArgs args = add_forward_args(unit, data);
  const int running[] = {unit.read(3), unit.read(4)};
  const int copies[] = {write_used(unit, 1), write_used(unit, 2)};
  emit(unit,
       [=, plan = data.plan,
        epsilon = attrs.epsilon](BindContext& at) -> BoundKernel {
         const auto affine = bind_affine<T>(args, plan, at);
         return
             [=, gamma = floats_or_null(at, args.gamma),
              beta = floats_or_null(at, args.beta),
              mean = floats(at[running[0]]), variance = floats(at[running[1]]),
              mean_copy = floats_or_null(at, copies[0]),
              variance_copy = floats_or_null(at, copies[1])] {
               for_each_channel(plan, [&](std::int64_t c) {
                 if (c >= plan.view.channels) return affine.set_padding(c);
                 affine.set(c, mean[c], variance[c], epsilon, gamma, beta);
                 if (mean_copy) mean_copy[c] = mean[c];
                 if (variance_copy) variance_copy[c] = variance[c];
               });
               for_each_task_back(
                   plan, [&](const NormTask& task) { affine.run(plan, task); });
             };
       });
}

}  // namespace

void lower_batch_norm(UnitBuilder& unit) {
  const bool is_training = unit.attrs<BatchNormAttrs>().training;
  const DataType type = unit.input_desc(0).data_type;
  visit_floats<row::batch_norm>(unit, type, [&]<class T>(T) {
    is_training ? lower_training<T>(unit) : lower_inference<T>(unit);
  });
}

void lower_batch_norm_moments(UnitBuilder& unit) {
  const DataType type = unit.input_desc(0).data_type;
  visit_floats<row::batch_norm_moments>(
      unit, type, [&]<class T>(T) { lower_moments<T>(unit); });
}

void lower_batch_norm_apply(UnitBuilder& unit) {
  const DataType type = unit.input_desc(0).data_type;
  visit_floats<row::batch_norm_apply>(
      unit, type, [&]<class T>(T) { lower_apply<T>(unit); });
}

}  // namespace traingraph::cpu
