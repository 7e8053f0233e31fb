// SPDX-License-Identifier: MIT
// The gradient of batch normalisation, along with those of the ReLU behind it
// and a sum of two gradients that arrive there (fusion.h).
#include <cmath>
#include <optional>

#include "cpu/ops/norm_gradient_loops.h"
#include "cpu/ops/norm_kernels.h"

namespace traingraph::cpu {
namespace {

/// The nodes of the unit: the last one is the norm's gradient.
struct Chain {
  std::optional<NodeLowering> sum, relu;
  NodeLowering norm;
};

Chain join_chain(const NodeLowering& head) {
  Chain chain{.sum = {}, .relu = {}, .norm = head};
  while (auto next = chain.norm.join_next()) {
    const bool is_sum = chain.norm.node().op->kind == OpKind::Binary;
    (is_sum ? chain.sum : chain.relu) = chain.norm;
    chain.norm = *next;
  }
  return chain;
}

/// Arguments; -1: none.
struct Args {
  int gradient, more, activated, kept, x, gamma, mean, variance;
  int dx, dgamma, dbeta;
  int center, coefficients, totals;
};

Args add_args(Chain& chain, const NormLayout& data) {
  enum { kGradient, kX, kGamma, kMean, kVariance };
  const auto& [layout, plan] = data;
  NodeLowering& norm = chain.norm;
  NodeLowering& first = chain.sum    ? *chain.sum
                        : chain.relu ? *chain.relu
                                     : norm;
  Args args{};
  args.gradient = first.read(0, layout);
  args.more = chain.sum ? chain.sum->read(1, layout) : -1;
  args.activated = chain.relu ? chain.relu->read(1, layout) : -1;
  args.x = norm.read(kX, layout);
  args.gamma = read_optional(norm, kGamma);
  args.mean = norm.read(kMean);
  args.variance = norm.read(kVariance);
  const bool is_kept = chain.relu && chain.relu->outlives_unit(0);
  args.kept = is_kept ? chain.relu->write(0, layout) : -1;
  args.dx = norm.write(0, layout);
  args.dgamma = write_used(norm, 1);
  args.dbeta = write_used(norm, 2);
  const std::size_t channels = plan.num_channels() * sizeof(float);
  args.center = norm.scratch(channels);
  args.coefficients = norm.scratch(4 * channels);
  args.totals = norm.scratch(num_totals(plan, 3) * sizeof(double));
  // Each result may overwrite an incoming gradient, which is not read again.
  for (int arg : {args.gradient, args.more}) {
    if (arg >= 0) norm.may_overwrite(is_kept ? args.kept : args.dx, arg);
  }
  return args;
}

template <class T>
Backward<T> bind(const Args& args, const NormPlan& plan, float negative_slope,
                 std::span<std::byte* const> at) {
  const std::int64_t channels = plan.num_channels();
  Backward<T> bound;
  bound.in = {.gradient = typed<T>(at[args.gradient]),
              .more = typed_or_null<T>(at, args.more),
              .activated = typed_or_null<T>(at, args.activated),
              .negative_slope = negative_slope,
              .kept = typed_or_null<T>(at, args.kept)};
  bound.x = typed<T>(at[args.x]);
  bound.center = floats(at[args.center]);
  bound.mean_gradient = floats(at[args.coefficients]);
  bound.scale = bound.mean_gradient + channels;
  bound.slope = bound.scale + channels;
  bound.rest = bound.slope + channels;
  bound.dx = typed<T>(at[args.dx]);
  return bound;
}

/// The unit, bound.
template <class T>
struct Kernel {
  NormPlan plan;
  float epsilon;
  bool needs_sums;
  Backward<T> backward;
  const float *gamma, *mean, *variance;  // gamma may be null
  float *dgamma, *dbeta;                 // these may be null
  double* totals;

  void operator()() const {
    for (std::int64_t c = 0; c < plan.num_channels(); ++c) {
      const bool is_padding = c >= plan.view.channels;
      backward.center[c] = is_padding ? 0 : round_center(mean[c]);
    }
    if (needs_sums) {
      for_each_task(plan, [&](const NormTask& task) {
        measure_products(plan, task, backward.in, backward.x, backward.center,
                         totals);
      });
    }
    for_each_channel(plan, [&](std::int64_t c) { finish_channel(c); });
    for_each_task_back(plan,
                       [&](const NormTask& task) { backward.run(plan, task); });
  }

  void finish_channel(std::int64_t c) const {
    if (c >= plan.view.channels) return backward.set(c, {}, 0, 0);
    const double inverse =
        1 / std::sqrt(static_cast<double>(variance[c]) + epsilon);
    const double factor = (gamma ? gamma[c] : 1.0) * inverse;
    const auto n = static_cast<double>(plan.num_samples);
    Products sums;
    if (needs_sums) sums = merge_products(plan, totals, c);
    const double measured = backward.is_training ? sums.difference / n : 0;
    const double rest =
        from_center(mean[c], backward.center[c], measured, 1 / inverse);
    const double product = sums.product - rest * sums.gradient;
    if (dgamma) dgamma[c] = static_cast<float>(product * inverse);
    if (dbeta) dbeta[c] = static_cast<float>(sums.gradient);
    const Products mean_of{sums.gradient / n, 0, rest};
    backward.set(c, mean_of, factor, -factor * inverse * inverse * product / n);
  }
};

}  // namespace

void lower_batch_norm_gradient(NodeLowering& lowering) {
  Chain chain = join_chain(lowering);
  const auto& attrs = chain.norm.attrs<BatchNormAttrs>();
  const NormLayout data = choose_norm_layout(chain.norm, 1);
  const Args args = add_args(chain, data);
  const float negative_slope =
      chain.relu ? chain.relu->attrs<ActivationAttrs>().a : 0;
  const bool needs_sums =
      attrs.training || args.dgamma >= 0 || args.dbeta >= 0 || args.kept >= 0;
  const DataType type = chain.norm.result_desc().data_type;
  visit_float_or_bfloat16(lowering, type, [&]<class T>(T) {
    lowering.emit([=, plan = data.plan, is_training = attrs.training,
                   epsilon = attrs.epsilon](
                      std::span<std::byte* const> at) -> BoundKernel {
      Kernel<T> kernel{plan,
                       epsilon,
                       needs_sums,
                       bind<T>(args, plan, negative_slope, at),
                       floats_or_null(at, args.gamma),
                       floats(at[args.mean]),
                       floats(at[args.variance]),
                       floats_or_null(at, args.dgamma),
                       floats_or_null(at, args.dbeta),
                       typed<double>(at[args.totals])};
      kernel.backward.is_training = is_training;
      return kernel;
    });
  });
}

}  // namespace traingraph::cpu
