// SPDX-License-Identifier: MIT
// The gradient of instance, group and layer normalization, along with that of
// the activation behind it.
#include "cpu/ops/norm_sample_gradient_lanes.h"

namespace traingraph::cpu {
namespace {

enum { kSampleGradient, kSampleX, kSampleGamma, kSampleMean, kSampleVariance };
constexpr int kSampleBeta = 2;  // of the norm

/// Arguments; -1: none.
struct SampleArgs {
  int gradient, x, gamma, mean, variance;
  int beta = -1;  // where an activation's gradient needs the norm's result
  int dx, dgamma, dbeta;
  int sums = -1, rows = -1, partial = -1;
  int totals = -1, coefficients = -1;  // of lanes
  std::optional<ActivationAttrs> activation = {};
};

/// `head` is the norm's gradient, or that of the activation behind the norm.
SampleArgs add_args(UnitBuilder& head, UnitBuilder& norm,
                    const Layout& layout) {
  SampleArgs args{};
  args.gradient = head.read(0, layout);
  args.x = norm.read(kSampleX, layout);
  args.gamma = read_optional(norm, kSampleGamma);
  args.mean = norm.read(kSampleMean);
  args.variance = norm.read(kSampleVariance);
  if (head.node().op->kind == OpKind::ActivationGradient) {
    args.activation = head.attrs<ActivationAttrs>();
    UnitBuilder forward = norm.fusion().made_by(kSampleMean);
    args.beta = read_optional(forward, kSampleBeta);
  }
  args.dx = norm.write(0, layout);
  args.dgamma = write_used(norm, 1);
  args.dbeta = write_used(norm, 2);
  norm.may_overwrite(args.dx, args.gradient);
  return args;
}

void add_scratch(UnitBuilder& unit, const SamplePlan& plan, SampleArgs& args) {
  if (!plan.is_per_element || plan.is_by_columns()) {
    args.sums = unit.scratch(checked_bytes<SampleSums>(
        plan.rows() * plan.runs_per_row(), "scratch"));
    args.rows =
        unit.scratch(checked_bytes<RowGradient>(plan.rows(), "scratch"));
  } else {
    args.partial = unit.scratch(checked_bytes<double>(
        2 * plan.num_chunks() * plan.length(), "scratch"));
  }
}

void add_lane_scratch(UnitBuilder& unit, const NormPlan& lanes,
                      SampleArgs& args) {
  args.totals =
      unit.scratch(checked_bytes<double>(num_totals(lanes, 3), "scratch"));
  args.coefficients = unit.scratch(checked_bytes<float>(
      SampleLanesGradient<float>::kCoefficients * lanes.num_channels(),
      "scratch"));
}

template <class T>
SampleGradient<T> bind_rows(const SamplePlan& plan,
                            const SampleNormAttrs& attrs,
                            const SampleArgs& args, BindContext& at) {
  const T* const gradient = typed<T>(at[args.gradient]);
  const T* const x = typed<T>(at[args.x]);
  const float* const gamma = floats_or_null(at, args.gamma);
  T* const dx = typed<T>(at[args.dx]);
  ActivatedGradient<T> activated{
      .again = {.x = x, .gamma = gamma, .beta = floats_or_null(at, args.beta)},
      .gradient = gradient};
  if (args.activation) {
    activated.times_slope = activation_gradient_row(*args.activation);
  }
  return {plan,
          attrs.epsilon,
          attrs.training,
          {.g = args.activation ? dx : gradient, .x = x, .dx = dx},
          activated,
          gamma,
          floats(at[args.mean]),
          floats(at[args.variance]),
          floats_or_null(at, args.dgamma),
          floats_or_null(at, args.dbeta),
          typed_or_null<SampleSums>(at, args.sums),
          typed_or_null<RowGradient>(at, args.rows),
          typed_or_null<double>(at, args.partial)};
}

template <template <class> class Kernel, class T>
void emit_kernel(UnitBuilder& norm, const SamplePlan& plan,
                 const SampleArgs& args) {
  emit(norm,
       [=,
        attrs = norm.attrs<SampleNormAttrs>()](BindContext& at) -> BoundKernel {
         return Kernel<T>{bind_rows<T>(plan, attrs, args, at)};
       });
}

template <class T>
void emit_lanes(UnitBuilder& norm, const SamplePlan& plan,
                const NormPlan& by_sample, const SampleArgs& args) {
  emit(norm,
       [=, attrs = norm.attrs<SampleNormAttrs>(),
        lanes = SampleLanes(by_sample, plan.view.outer)](
           BindContext& at) -> BoundKernel {
         return SampleLanesGradient<T>({bind_rows<T>(plan, attrs, args, at)},
                                       lanes, typed<double>(at[args.totals]),
                                       floats(at[args.coefficients]));
       });
}

}  // namespace

void lower_sample_norm_gradient(UnitBuilder& unit) {
  UnitBuilder norm = unit.fusion().join_next().value_or(unit);
  const auto& attrs = norm.attrs<SampleNormAttrs>();
  SamplePlan plan(SampleView(norm.input_shape(kSampleX), attrs),
                  /*has_element_parameters=*/attrs.groups == 0);
  const auto found = find_sample_layout(norm, kSampleX);
  if (found) plan.piece = plan.segment_length();
  SampleArgs args =
      add_args(unit, norm,
               found ? found->layout : norm.plain(norm.input_desc(kSampleX)));
  add_scratch(norm, plan, args);
  if (found) add_lane_scratch(norm, found->plan, args);
  const DataType type = norm.result_desc().data_type;
  visit_floats<row::sample_norm_gradient>(unit, type, [&]<class T>(T) {
    if (found) return emit_lanes<T>(norm, plan, found->plan, args);
    plan.is_per_element
        ? emit_kernel<SampleElementGradient, T>(norm, plan, args)
        : emit_kernel<SampleChannelGradient, T>(norm, plan, args);
  });
}

}  // namespace traingraph::cpu
