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

enum { kGradient, kX, kGamma, kMean, kVariance };

/// Arguments; -1: none.
struct Args {
  int gradient = -1, more = -1, activated = -1, kept = -1;
  int x = -1, gamma = -1, mean = -1, variance = -1;
  int dx = -1, dgamma = -1, dbeta = -1;
  int center = -1, coefficients = -1, totals = -1;
  int own = -1, shared = -1;
};

bool keeps_incoming(const Chain& chain) {
  return chain.relu && chain.relu->outlives_unit(0);
}

/// What arrives at the norm.
void add_incoming(Chain& chain, const Layout& layout, Args& args) {
  NodeLowering& first = chain.sum    ? *chain.sum
                        : chain.relu ? *chain.relu
                                     : chain.norm;
  args.gradient = first.read(0, layout);
  args.more = chain.sum ? chain.sum->read(1, layout) : -1;
  args.activated = chain.relu ? chain.relu->read(1, layout) : -1;
}

/// Each result may overwrite an incoming gradient, which is not read again.
void may_overwrite_incoming(Chain& chain, const Args& args, int result) {
  for (int arg : {args.gradient, args.more}) {
    if (arg >= 0) chain.norm.may_overwrite(result, arg);
  }
}

void add_measured(Chain& chain, const NormLayout& data, Args& args) {
  NodeLowering& norm = chain.norm;
  args.x = norm.read(kX, data.layout);
  args.mean = norm.read(kMean);
  args.center = norm.scratch(data.plan.num_channels() * sizeof(float));
}

void add_sums(Chain& chain, const NormLayout& data, Args& args) {
  NodeLowering& norm = chain.norm;
  if (keeps_incoming(chain)) {
    args.kept = chain.relu->write(0, data.layout);
    may_overwrite_incoming(chain, args, args.kept);
  }
  args.totals = norm.scratch(num_totals(data.plan, 3) * sizeof(double));
}

void add_results(Chain& chain, const NormLayout& data, Args& args) {
  NodeLowering& norm = chain.norm;
  args.gamma = read_optional(norm, kGamma);
  args.variance = norm.read(kVariance);
  args.dx = norm.write(0, data.layout);
  args.dgamma = write_used(norm, 1);
  args.dbeta = write_used(norm, 2);
  args.coefficients =
      norm.scratch(4 * data.plan.num_channels() * sizeof(float));
  if (!keeps_incoming(chain)) may_overwrite_incoming(chain, args, args.dx);
}

/// Of one unit that does all.
Args add_args(Chain& chain, const NormLayout& data) {
  Args args;
  add_incoming(chain, data.layout, args);
  add_measured(chain, data, args);
  add_sums(chain, data, args);
  add_results(chain, data, args);
  return args;
}

template <class T>
Backward<T> bind(const Args& args, const NormPlan& plan, float negative_slope,
                 std::span<std::byte* const> at) {
  Backward<T> bound;
  bound.in = {.gradient = typed<T>(at[args.gradient]),
              .more = typed_or_null<T>(at, args.more),
              .activated = typed_or_null<T>(at, args.activated),
              .negative_slope = negative_slope,
              .kept = typed_or_null<T>(at, args.kept)};
  bound.x = typed<T>(at[args.x]);
  bound.center = floats(at[args.center]);
  if (args.dx < 0) return bound;
  const std::int64_t channels = plan.num_channels();
  bound.mean_gradient = floats(at[args.coefficients]);
  bound.scale = bound.mean_gradient + channels;
  bound.slope = bound.scale + channels;
  bound.rest = bound.slope + channels;
  bound.dx = typed<T>(at[args.dx]);
  return bound;
}

/// A unit, bound.
template <class T>
struct Kernel {
  Kernel(const Args& args, const NormPlan& norm_plan,
         const BatchNormAttrs& attrs, float negative_slope,
         std::span<std::byte* const> at)
      : plan(norm_plan),
        epsilon(attrs.epsilon),
        needs_sums(attrs.training || args.dgamma >= 0 || args.dbeta >= 0 ||
                   args.kept >= 0),
        backward(bind<T>(args, norm_plan, negative_slope, at)),
        gamma(floats_or_null(at, args.gamma)),
        mean(floats_or_null(at, args.mean)),
        variance(floats_or_null(at, args.variance)),
        dgamma(floats_or_null(at, args.dgamma)),
        dbeta(floats_or_null(at, args.dbeta)),
        totals(typed_or_null<double>(at, args.totals)),
        own(typed_or_null<double>(at, args.own)),
        shared(typed_or_null<double>(at, args.shared)) {
    backward.is_training = attrs.training;
  }

  NormPlan plan;
  float epsilon;
  bool needs_sums;
  Backward<T> backward;
  // These may be null: not of this unit.
  const float *gamma, *mean, *variance;
  float *dgamma, *dbeta;
  double *totals, *own, *shared;

  void run() const {
    set_centers();
    if (needs_sums) measure();
    for_each_channel(plan, [&](std::int64_t c) {
      Products sums;
      if (needs_sums && c < plan.view.channels) {
        sums = merge_products(plan, totals, c);
      }
      finish_channel(c, static_cast<double>(plan.num_samples), sums, sums);
    });
    finish();
  }

  /// The first of two units: sums of this process's samples.
  void begin() const {
    set_centers();
    measure();
    shared[0] = static_cast<double>(plan.num_samples);
    for_each_channel(plan, [&](std::int64_t c) {
      if (c >= plan.view.channels) return;
      const Products sums = merge_products(plan, totals, c);
      store(sums, own, c);
      store(sums, shared + 1, c);
    });
  }

  /// The second one: `shared` has those of all processes.
  void end() const {
    set_centers();
    for_each_channel(plan, [&](std::int64_t c) {
      Products sums, all;
      if (c < plan.view.channels) {
        sums = stored(own, c);
        all = stored(shared + 1, c);
      }
      finish_channel(c, shared[0], sums, all);
    });
    finish();
  }

 private:
  void set_centers() const {
    for (std::int64_t c = 0; c < plan.num_channels(); ++c) {
      const bool is_padding = c >= plan.view.channels;
      backward.center[c] = is_padding ? 0 : round_center(mean[c]);
    }
  }
  void measure() const {
    for_each_task(plan, [&](const NormTask& task) {
      measure_products(plan, task, backward.in, backward.x, backward.center,
                       totals);
    });
  }
  void finish() const {
    for_each_task_back(plan,
                       [&](const NormTask& task) { backward.run(plan, task); });
  }

  void store(const Products& sums, double* to, std::int64_t c) const {
    const std::int64_t channels = plan.view.channels;
    to[c] = sums.gradient;
    to[channels + c] = sums.product;
    to[2 * channels + c] = sums.difference;
  }
  Products stored(const double* from, std::int64_t c) const {
    const std::int64_t channels = plan.view.channels;
    return {from[c], from[channels + c], from[2 * channels + c]};
  }

  /// Of n samples with the sums `all`. `sums` are those of this process: so are
  /// the gradients of gamma and beta.
  void finish_channel(std::int64_t c, double n, const Products& sums,
                      const Products& all) const {
    if (c >= plan.view.channels) return backward.set(c, {}, 0, 0);
    const double inverse = 1 / std::sqrt(variance_of(c) + epsilon);
    const double factor = (gamma ? gamma[c] : 1.0) * inverse;
    const double measured = backward.is_training ? all.difference / n : 0;
    const double rest =
        from_center(mean[c], backward.center[c], measured, 1 / inverse);
    const auto around_mean = [&](const Products& of) {
      return of.product - rest * of.gradient;
    };
    if (dgamma) dgamma[c] = static_cast<float>(around_mean(sums) * inverse);
    if (dbeta) dbeta[c] = static_cast<float>(sums.gradient);
    const Products mean_of{all.gradient / n, 0, rest};
    backward.set(c, mean_of, factor, -inverse * inverse * around_mean(all) / n);
  }
  /// Statistics of several processes stay as they were stored.
  double variance_of(std::int64_t c) const {
    const double stored = variance[c];
    if (!backward.is_training || shared || !std::isinf(stored)) return stored;
    return measure_variance(plan, backward.x, c, mean[c]);
  }
};

struct Lowered {
  Chain& chain;
  NormLayout data;
  BatchNormAttrs attrs;
  float negative_slope;
};

template <class T>
void lower_own(const Lowered& lowered) {
  const Args args = add_args(lowered.chain, lowered.data);
  lowered.chain.norm.emit([args, plan = lowered.data.plan,
                           attrs = lowered.attrs,
                           slope = lowered.negative_slope](
                              std::span<std::byte* const> at) -> BoundKernel {
    return [kernel = Kernel<T>(args, plan, attrs, slope, at)] { kernel.run(); };
  });
}

/// In two units, between which sums become those of all processes.
template <class T>
void lower_shared(const Lowered& lowered) {
  Chain& chain = lowered.chain;
  const NormLayout& data = lowered.data;
  NodeLowering& norm = chain.norm;
  const std::int64_t count = 3 * data.plan.view.channels;
  const StorageId own = norm.add_statistics(count);
  const StorageId shared = norm.add_statistics(1 + count);
  Args first;
  add_incoming(chain, data.layout, first);
  add_measured(chain, data, first);
  add_sums(chain, data, first);
  first.own = norm.write_statistics(own);
  first.shared = norm.write_statistics(shared);
  const auto emit = [&](const Args& args, auto run, auto&& emit_unit) {
    emit_unit([args, run, plan = data.plan, with = lowered.attrs,
               slope = lowered.negative_slope](
                  std::span<std::byte* const> at) -> BoundKernel {
      return [run, kernel = Kernel<T>(args, plan, with, slope, at)] {
        run(kernel);
      };
    });
  };
  const bool is_kept = keeps_incoming(chain);
  emit(
      first, [](const Kernel<T>& kernel) { kernel.begin(); },
      [&](KernelFactory bind) { norm.emit_begin(std::move(bind)); });

  Args second;
  if (is_kept) {
    second.gradient = chain.relu->read_result(0, data.layout);
  } else {
    add_incoming(chain, data.layout, second);
  }
  add_measured(chain, data, second);
  add_results(chain, data, second);
  second.own = norm.read_statistics(own);
  second.shared = norm.read_statistics(shared);
  emit(
      second, [](const Kernel<T>& kernel) { kernel.end(); },
      [&](KernelFactory bind) {
        norm.emit_end(shared, /*are_moments=*/false, std::move(bind));
      });
}

}  // namespace

void lower_batch_norm_gradient(NodeLowering& lowering) {
  Chain chain = join_chain(lowering);
  const auto& attrs = chain.norm.attrs<BatchNormAttrs>();
  const Lowered lowered{
      .chain = chain,
      .data = choose_norm_layout(chain.norm, 1),
      .attrs = attrs,
      .negative_slope =
          chain.relu ? chain.relu->attrs<ActivationAttrs>().a : 0};
  const bool is_shared = attrs.training && lowering.shares_statistics();
  const DataType type = chain.norm.result_desc().data_type;
  visit_float_or_bfloat16(lowering, type, [&]<class T>(T) {
    is_shared ? lower_shared<T>(lowered) : lower_own<T>(lowered);
  });
}

}  // namespace traingraph::cpu
