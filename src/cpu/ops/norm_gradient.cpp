// SPDX-License-Identifier: MIT
// The gradient of batch normalisation, along with those of the ReLU behind it
// and a sum of two gradients that arrive there (fusion.h).
#include <bit>
#include <cmath>
#include <limits>
#include <optional>

#include "cpu/ops/norm_gradient_loops.h"
#include "cpu/ops/norm_kernels.h"

namespace traingraph::cpu {
namespace {

using dnnl::memory;

/// Near the mean, to 18 bits: then differences from it are exact, and their
/// last bits as random as those of x. An error that is always the same would
/// show in a sum of millions.
float round_center(float mean) {
  const auto bits = std::bit_cast<std::uint32_t>(mean);
  return std::bit_cast<float>((bits + 0x20u) & ~0x3fu);
}

/// From center to mean. `measured` is where differences add up to nothing: the
/// mean of the batch in all its digits, if that is the mean that was given.
double from_center(float mean, float center, double measured) {
  constexpr double kRounding = 4 * std::numeric_limits<float>::epsilon();
  const double given = static_cast<double>(mean) - center;
  const bool is_batch_mean =
      std::fabs(measured - given) <= kRounding * std::fabs(mean);
  return is_batch_mean ? measured : given;
}

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

/// dx = (g - mean_gradient) * scale + ((x - center) * slope + rest), by
/// channel; g is what arrives at the norm.
struct Backward {
  IncomingGradient in;
  const float* x = nullptr;
  float *center = nullptr, *mean_gradient = nullptr, *scale = nullptr,
        *slope = nullptr, *rest = nullptr;
  float* dx = nullptr;
  bool is_training = false;

  static constexpr int kNumCoefficients = 5;
  void set(std::int64_t c, const Products& mean_of, double factor,
           double slope_of_x) const {
    mean_gradient[c] = static_cast<float>(mean_of.gradient);
    scale[c] = static_cast<float>(factor);
    slope[c] = static_cast<float>(slope_of_x);
    // What the two means lost as float32.
    rest[c] =
        static_cast<float>(-factor * (mean_of.gradient - mean_gradient[c]) -
                           slope_of_x * mean_of.difference);
  }
  void run(const NormPlan& plan, const NormTask& task) const;
};

void Backward::run(const NormPlan& plan, const NormTask& task) const {
  const LaneValues<kNumCoefficients> lanes(
      plan, task.group, {center, mean_gradient, scale, slope, rest});
  const float *c = lanes[0], *m = lanes[1], *s = lanes[2], *k = lanes[3],
              *r = lanes[4];
  const float *gradient = in.kept ? in.kept : in.gradient, *from = x;
  float* to = dx;
  const auto run = [&](auto g) {
    if (!is_training) {
      return for_each_element(plan, task, [=](std::int64_t i, std::int64_t l) {
        to[i] = g(i) * s[l];
      });
    }
    for_each_element(plan, task, [=](std::int64_t i, std::int64_t l) {
      to[i] = (g(i) - m[l]) * s[l] + ((from[i] - c[l]) * k[l] + r[l]);
    });
  };
  if (in.activated && !in.kept) {
    run([=, y = in.activated, a = in.negative_slope](std::int64_t i) {
      return gradient[i] * (y[i] > 0 ? 1.0f : a);
    });
  } else {
    run([=](std::int64_t i) { return gradient[i]; });
  }
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
  // Both results take over different bytes, of what nobody reads any more.
  for (int arg : {args.gradient, args.more}) {
    if (arg >= 0) norm.may_overwrite(is_kept ? args.kept : args.dx, arg);
  }
  return args;
}

Backward bind(const Args& args, const NormPlan& plan, float negative_slope,
              std::span<std::byte* const> at) {
  const std::int64_t channels = plan.num_channels();
  Backward bound;
  bound.in = {.gradient = floats(at[args.gradient]),
              .more = floats_or_null(at, args.more),
              .activated = floats_or_null(at, args.activated),
              .negative_slope = negative_slope,
              .kept = floats_or_null(at, args.kept)};
  bound.x = floats(at[args.x]);
  bound.center = floats(at[args.center]);
  bound.mean_gradient = floats(at[args.coefficients]);
  bound.scale = bound.mean_gradient + channels;
  bound.slope = bound.scale + channels;
  bound.rest = bound.slope + channels;
  bound.dx = floats(at[args.dx]);
  return bound;
}

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
  lowering.emit([=, plan = data.plan, is_training = attrs.training,
                 epsilon = attrs.epsilon](
                    std::span<std::byte* const> at) -> BoundKernel {
    Backward backward = bind(args, plan, negative_slope, at);
    backward.is_training = is_training;
    return [=, gamma = floats_or_null(at, args.gamma),
            mean = floats(at[args.mean]), variance = floats(at[args.variance]),
            dgamma = floats_or_null(at, args.dgamma),
            dbeta = floats_or_null(at, args.dbeta),
            totals = typed<double>(at[args.totals])] {
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
      for_each_channel(plan, [&](std::int64_t c) {
        if (c >= plan.view.channels) return backward.set(c, {}, 0, 0);
        const double inverse =
            1 / std::sqrt(static_cast<double>(variance[c]) + epsilon);
        const double factor = (gamma ? gamma[c] : 1.0) * inverse;
        const auto n = static_cast<double>(plan.num_samples);
        Products sums;
        if (needs_sums) sums = merge_products(plan, totals, c);
        const double rest = from_center(mean[c], backward.center[c],
                                        is_training ? sums.difference / n : 0);
        const double product = sums.product - rest * sums.gradient;
        if (dgamma) dgamma[c] = static_cast<float>(product * inverse);
        if (dbeta) dbeta[c] = static_cast<float>(sums.gradient);
        const Products mean_of{sums.gradient / n, 0, rest};
        backward.set(c, mean_of, factor,
                     -factor * inverse * inverse * product / n);
      });
      for_each_task_back(
          plan, [&](const NormTask& task) { backward.run(plan, task); });
    };
  });
}

}  // namespace traingraph::cpu
