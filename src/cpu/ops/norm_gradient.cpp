// SPDX-License-Identifier: MIT
// The gradient of batch normalisation, or its sums alone, along with the
// gradients of the activation behind it and a sum of two gradients that arrive
// there (lowering/fusion_search.h).
#include <cmath>
#include <optional>

#include "cpu/ops/norm_gradient_loops.h"
#include "cpu/ops/norm_kernels.h"

namespace traingraph::cpu {
namespace {

/// The nodes of the unit: the last one is the norm's gradient.
struct Chain {
  std::optional<UnitBuilder> sum, activation;
  UnitBuilder norm;

  /// Is it an activation whose gradient reads what the norm computes again?
  bool computes_again() const { return activation && !has_relu(); }
  bool has_relu() const {
    return activation &&
           activation->attrs<ActivationAttrs>().type == ActivationType::ReLU;
  }
};

Chain join_chain(const UnitBuilder& head) {
  Chain chain{.sum = {}, .activation = {}, .norm = head};
  while (auto next = chain.norm.fusion().join_next()) {
    const bool is_sum = chain.norm.node().op->kind == OpKind::Binary;
    (is_sum ? chain.sum : chain.activation) = chain.norm;
    chain.norm = *next;
  }
  return chain;
}

enum { kGradient, kX, kGamma, kMean, kVariance };
constexpr int kBeta = 2;  // of the norm

/// Arguments; -1: none.
struct Args {
  int gradient = -1, more = -1, activated = -1, kept = -1;
  int x = -1, gamma = -1, mean = -1, variance = -1;
  int beta = -1, again = -1;  // where the norm is computed again
  int dx = -1, dgamma = -1, dbeta = -1;
  int center = -1, coefficients = -1, totals = -1;
};

bool keeps_incoming(Chain& chain) {
  return chain.activation && chain.activation->fusion().outlives_unit(0);
}

/// What arrives at the norm.
void add_incoming(Chain& chain, const Layout& layout, Args& args) {
  UnitBuilder& first = chain.sum          ? *chain.sum
                       : chain.activation ? *chain.activation
                                          : chain.norm;
  args.gradient = first.read(0, layout);
  args.more = chain.sum ? chain.sum->read(1, layout) : -1;
  args.activated = chain.has_relu() ? chain.activation->read(1, layout) : -1;
}

/// Each result may overwrite an incoming gradient, which is not read again.
void may_overwrite_incoming(Chain& chain, const Args& args, int result) {
  for (int arg : {args.gradient, args.more}) {
    if (arg >= 0) chain.norm.may_overwrite(result, arg);
  }
}

void add_source(UnitBuilder& norm, const NormLayout& data, Args& args) {
  args.x = norm.read(kX, data.layout);
  args.center = norm.scratch(data.plan.num_channels() * sizeof(float));
}

void add_sums(Chain& chain, const NormLayout& data, Args& args) {
  UnitBuilder& norm = chain.norm;
  if (keeps_incoming(chain)) {
    args.kept = chain.activation->write(0, data.layout);
    may_overwrite_incoming(chain, args, args.kept);
  }
  args.totals = norm.scratch(num_totals(data.plan, 3) * sizeof(double));
}

void add_result(UnitBuilder& norm, const NormLayout& data, Args& args) {
  args.gamma = read_optional(norm, kGamma);
  args.dx = norm.write(0, data.layout);
  args.coefficients =
      norm.scratch(4 * data.plan.num_channels() * sizeof(float));
}

/// Of one unit that does all.
Args add_args(Chain& chain, const NormLayout& data) {
  UnitBuilder& norm = chain.norm;
  Args args;
  add_incoming(chain, data.layout, args);
  add_source(norm, data, args);
  add_sums(chain, data, args);
  add_result(norm, data, args);
  args.mean = norm.read(kMean);
  args.variance = norm.read(kVariance);
  args.dgamma = write_used(norm, 1);
  args.dbeta = write_used(norm, 2);
  if (!keeps_incoming(chain)) may_overwrite_incoming(chain, args, args.dx);
  if (chain.computes_again()) {
    UnitBuilder forward = norm.fusion().made_by(kMean);
    args.beta = read_optional(forward, kBeta);
    args.again = norm.scratch(3 * data.plan.num_channels() * sizeof(float));
    if (args.kept < 0) args.kept = args.dx;
  }
  return args;
}

template <class T>
Backward<T> bind_backward(const Args& args, const NormPlan& plan,
                          const ActivationAttrs& activation, BindContext& at) {
  Backward<T> bound;
  bound.in.gradient = typed<T>(at[args.gradient]);
  bound.in.more = typed_or_null<T>(at, args.more);
  bound.in.activated = typed_or_null<T>(at, args.activated);
  bound.in.negative_slope = activation.a;
  bound.in.kept = typed_or_null<T>(at, args.kept);
  bound.x = typed<T>(at[args.x]);
  if (args.again >= 0) {
    bound.in.times_slope = activation_gradient_row(activation);
    bound.in.again.bind(bound.x, floats(at[args.again]), plan.num_channels());
  }
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

/// Differences are taken from near the means.
template <class T>
void set_centers(const NormPlan& plan, const Backward<T>& backward,
                 const float* mean) {
  for (std::int64_t c = 0; c < plan.num_channels(); ++c) {
    const bool is_padding = c >= plan.view.channels;
    backward.center[c] = is_padding ? 0 : round_center(mean[c]);
  }
}

template <class T>
void measure(const NormPlan& plan, const Backward<T>& backward,
             double* totals) {
  for_each_task(plan, [&](const NormTask& task) {
    measure_products(plan, task, backward.in, backward.x, backward.center,
                     totals);
  });
}

template <class T>
void finish(const NormPlan& plan, const Backward<T>& backward) {
  for_each_task_back(plan,
                     [&](const NormTask& task) { backward.run(plan, task); });
}

/// The unit that does all, bound.
template <class T>
struct Kernel {
  Kernel(const Args& args, const NormPlan& norm_plan,
         const BatchNormAttrs& attrs, const ActivationAttrs& activation,
         BindContext& at)
      : plan(norm_plan),
        epsilon(attrs.epsilon),
        needs_sums(attrs.training || args.dgamma >= 0 || args.dbeta >= 0 ||
                   args.kept >= 0),
        backward(bind_backward<T>(args, norm_plan, activation, at)),
        gamma(floats_or_null(at, args.gamma)),
        beta(floats_or_null(at, args.beta)),
        mean(floats(at[args.mean])),
        variance(floats(at[args.variance])),
        dgamma(floats_or_null(at, args.dgamma)),
        dbeta(floats_or_null(at, args.dbeta)),
        totals(typed<double>(at[args.totals])) {
    backward.is_training = attrs.training;
  }

  void run() const {
    set_centers(plan, backward, mean);
    if (backward.in.times_slope.zip) {
      for_each_channel(plan, [&](std::int64_t c) { compute_again(c); });
    }
    if (needs_sums) measure(plan, backward, totals);
    for_each_channel(plan, [&](std::int64_t c) { finish_channel(c); });
    finish(plan, backward);
  }

 private:
  void compute_again(std::int64_t c) const {
    const Affine<T>& forward = backward.in.again;
    if (c >= plan.view.channels) return forward.set_padding(c);
    forward.set(c, mean[c], variance_of(c), epsilon, gamma, beta);
  }
  void finish_channel(std::int64_t c) const {
    if (c >= plan.view.channels) return backward.set(c, {}, 0, 0);
    const auto n = static_cast<double>(plan.num_samples);
    Products sums;
    if (needs_sums) sums = merge_products(plan, totals, c);
    const double inverse = 1 / std::sqrt(variance_of(c) + epsilon);
    const double factor = (gamma ? gamma[c] : 1.0) * inverse;
    const double measured = backward.is_training ? sums.difference / n : 0;
    const double rest =
        from_center(mean[c], backward.center[c], measured, 1 / inverse);
    const double around_mean = sums.product - rest * sums.gradient;
    if (dgamma) dgamma[c] = static_cast<float>(around_mean * inverse);
    if (dbeta) dbeta[c] = static_cast<float>(sums.gradient);
    backward.set(c, {sums.gradient / n, 0, rest}, factor,
                 -inverse * inverse * around_mean / n);
  }
  double variance_of(std::int64_t c) const {
    const double stored = variance[c];
    if (!backward.is_training || !std::isinf(stored)) return stored;
    return measure_variance(plan, backward.x, c, mean[c]);
  }

  NormPlan plan;
  float epsilon;
  bool needs_sums;
  Backward<T> backward;
  const float *gamma, *beta, *mean, *variance;  // the first two may be null
  float *dgamma, *dbeta;                        // may be null
  double* totals;
};

struct Lowered {
  Chain& chain;
  NormLayout data;
  BatchNormAttrs attrs;
  ActivationAttrs activation;
};

template <class T>
void lower_all(const Lowered& lowered) {
  const Args args = add_args(lowered.chain, lowered.data);
  emit(lowered.chain.norm,
       [args, plan = lowered.data.plan, attrs = lowered.attrs,
        activation = lowered.activation](BindContext& at) -> BoundKernel {
         return [kernel = Kernel<T>(args, plan, attrs, activation, at)] {
           kernel.run();
         };
       });
}

/// Inputs: gradient, x, moments.
template <class T>
void lower_sums(const Lowered& lowered) {
  UnitBuilder& norm = lowered.chain.norm;
  Args args;
  add_incoming(lowered.chain, lowered.data.layout, args);
  add_source(norm, lowered.data, args);
  add_sums(lowered.chain, lowered.data, args);
  const int moments = norm.read(2), sums = norm.write(0);
  args.dgamma = write_used(norm, 1);
  args.dbeta = write_used(norm, 2);
  emit(norm,
       [=, plan = lowered.data.plan, epsilon = lowered.attrs.epsilon,
        activation = lowered.activation](BindContext& at) -> BoundKernel {
         const std::int64_t channels = plan.view.channels;
         return
             [=, backward = bind_backward<T>(args, plan, activation, at),
              rows = MomentRows(floats(at[moments]), channels),
              totals = typed<double>(at[args.totals]), sums = floats(at[sums]),
              dgamma = floats_or_null(at, args.dgamma),
              dbeta = floats_or_null(at, args.dbeta)] {
               set_centers(plan, backward, rows.means());
               measure(plan, backward, totals);
               for_each_channel(plan, [&](std::int64_t c) {
                 if (c >= channels) return;
                 const Products of = merge_products(plan, totals, c);
                 const Moments all{rows.mean(c), rows.variance(c)};
                 const double rest = all.mean - backward.center[c];
                 const double around_mean = of.product - rest * of.gradient;
                 const double deviation = std::sqrt(all.variance + epsilon);
                 sums[c] = static_cast<float>(of.gradient);
                 sums[channels + c] = static_cast<float>(around_mean);
                 if (dgamma)
                   dgamma[c] = static_cast<float>(around_mean / deviation);
                 if (dbeta) dbeta[c] = sums[c];
               });
             };
       });
}

/// Inputs: gradient, x, gamma, moments, sums.
template <class T>
void lower_apply(UnitBuilder& norm, const NormLayout& data) {
  Args args;
  args.gradient = norm.read(kGradient, data.layout);
  add_source(norm, data, args);
  add_result(norm, data, args);
  norm.may_overwrite(args.dx, args.gradient);
  const int moments = norm.read(3), sums = norm.read(4);
  emit(norm,
       [=, plan = data.plan, epsilon = norm.attrs<BatchNormAttrs>().epsilon](
           BindContext& at) -> BoundKernel {
         const std::int64_t channels = plan.view.channels;
         auto backward = bind_backward<T>(args, plan, ActivationAttrs(), at);
         backward.is_training = true;
         return [=, gamma = floats_or_null(at, args.gamma),
                 rows = MomentRows(floats(at[moments]), channels),
                 sums = floats(at[sums])] {
           set_centers(plan, backward, rows.means());
           for_each_channel(plan, [&](std::int64_t c) {
             if (c >= channels) return backward.set(c, {}, 0, 0);
             const Moments all{rows.mean(c), rows.variance(c)};
             const double n = rows.count(c);
             const double inverse = 1 / std::sqrt(all.variance + epsilon);
             const double rest = all.mean - backward.center[c];
             backward.set(c, {sums[c] / n, 0, rest},
                          (gamma ? gamma[c] : 1.0) * inverse,
                          -inverse * inverse * sums[channels + c] / n);
           });
           finish(plan, backward);
         };
       });
}

Lowered describe(Chain& chain) {
  return {.chain = chain,
          .data = choose_norm_layout(chain.norm, kX),
          .attrs = chain.norm.attrs<BatchNormAttrs>(),
          .activation = chain.activation
                            ? chain.activation->attrs<ActivationAttrs>()
                            : ActivationAttrs()};
}

}  // namespace

void lower_batch_norm_gradient(UnitBuilder& unit) {
  Chain chain = join_chain(unit);
  const Lowered lowered = describe(chain);
  const DataType type = chain.norm.input_desc(kX).data_type;
  visit_floats<row::batch_norm_gradient>(
      unit, type, [&]<class T>(T) { lower_all<T>(lowered); });
}

void lower_batch_norm_gradient_sums(UnitBuilder& unit) {
  Chain chain = join_chain(unit);
  const Lowered lowered = describe(chain);
  const DataType type = chain.norm.input_desc(kX).data_type;
  visit_floats<row::batch_norm_gradient_sums>(
      unit, type, [&]<class T>(T) { lower_sums<T>(lowered); });
}

void lower_batch_norm_gradient_apply(UnitBuilder& unit) {
  const NormLayout data = choose_norm_layout(unit, kX);
  const DataType type = unit.input_desc(kX).data_type;
  visit_floats<row::batch_norm_gradient_apply>(
      unit, type, [&]<class T>(T) { lower_apply<T>(unit, data); });
}

}  // namespace traingraph::cpu
