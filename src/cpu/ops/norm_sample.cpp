// SPDX-License-Identifier: MIT
// Instance, group and layer normalization in loops of ours, on plain layouts:
// oneDNN's layer and group normalization take the mean in one float32 sum.
#include "cpu/ops/norm_kernels.h"
#include "cpu/ops/norm_sample_loops.h"

namespace traingraph::cpu {
namespace {

/// Statistics of the samples, or running ones; arguments, -1: none.
struct SampleArgs {
  int x, gamma, beta, y;
  int mean, variance;                  // of rows
  int running_mean, running_variance;  // of groups
  int pieces, scales;
};

SampleArgs add_args(UnitBuilder& unit, const SamplePlan& plan) {
  const bool is_training = unit.attrs<SampleNormAttrs>().training;
  SampleArgs args{};
  args.x = unit.read(0);
  args.gamma = read_optional(unit, 1);
  args.beta = read_optional(unit, 2);
  args.running_mean = args.running_variance = -1;
  if (unit.has(3)) {
    args.running_mean = is_training ? unit.mutate(3) : unit.read(3);
    args.running_variance = is_training ? unit.mutate(4) : unit.read(4);
  }
  args.y = unit.write(0);
  unit.may_run_in_place(0, 0);
  args.mean = unit.write(1);
  args.variance = unit.write(2);
  args.pieces = args.scales = -1;
  if (plan.is_split()) {
    const std::int64_t rows = plan.rows();
    args.pieces = unit.scratch(
        checked_bytes<SampleMoments>(rows * plan.pieces_per_row(), "scratch"));
    args.scales = unit.scratch(checked_bytes<RowScale>(rows, "scratch"));
  }
  return args;
}

/// The unit, bound.
template <class T>
struct SampleKernel {
  SamplePlan plan;
  SampleNormAttrs attrs;
  SampleAffine<T> affine;
  float *mean, *variance, *running_mean, *running_variance;
  SampleMoments* pieces;
  RowScale* scales;

  void operator()() const {
    if (running_mean && !attrs.training) {
      run_with_running_statistics();
    } else if (plan.is_split()) {
      run_pieces();
    } else {
      run_rows();
    }
    if (running_mean && attrs.training) update_running_statistics();
  }

  SampleMoments measure(std::int64_t row, std::int64_t piece) const {
    const std::int64_t begin = piece * SamplePlan::kPiece;
    const std::int64_t n = std::min(SamplePlan::kPiece, plan.length() - begin);
    return measure_piece(affine.x + row * plan.length() + begin, n);
  }
  RowScale finish(std::int64_t row, const SampleMoments& moments) const {
    mean[row] = static_cast<float>(moments.mean);
    variance[row] = static_cast<float>(moments.variance());
    return {moments.mean, moments.variance(), attrs.epsilon};
  }

  void run_rows() const {
    for_each_task(plan.rows(), plan.length(), [&](std::int64_t row) {
      SampleMoments moments;
      for (std::int64_t i = 0; i < plan.pieces_per_row(); ++i) {
        moments.merge(measure(row, i));
      }
      affine.run(plan, row, finish(row, moments), 0, plan.length());
    });
  }

  void run_pieces() const {
    const std::int64_t per_row = plan.pieces_per_row();
    const std::int64_t num_pieces = plan.rows() * per_row;
    for_each_task(num_pieces, SamplePlan::kPiece, [&](std::int64_t i) {
      pieces[i] = measure(i / per_row, i % per_row);
    });
    for (std::int64_t row = 0; row < plan.rows(); ++row) {
      SampleMoments moments;
      for (std::int64_t i = 0; i < per_row; ++i) {
        moments.merge(pieces[row * per_row + i]);
      }
      scales[row] = finish(row, moments);
    }
    for_each_task_back(num_pieces, SamplePlan::kPiece, [&](std::int64_t i) {
      const std::int64_t row = i / per_row;
      const std::int64_t begin = i % per_row * SamplePlan::kPiece;
      affine.run(plan, row, scales[row], begin,
                 std::min(plan.length(), begin + SamplePlan::kPiece));
    });
  }

  void run_with_running_statistics() const {
    for_each_task(plan.rows(), plan.length(), [&](std::int64_t row) {
      const std::int64_t group = row % plan.view.groups;
      mean[row] = running_mean[group];
      variance[row] = running_variance[group];
      affine.run(plan, row, {mean[row], variance[row], attrs.epsilon}, 0,
                 plan.length());
    });
  }

  /// By the mean over the samples, of unbiased variances.
  void update_running_statistics() const {
    const auto n = static_cast<double>(plan.length());
    const double unbias = n > 1 ? n / (n - 1) : 1;
    const auto samples = static_cast<double>(plan.view.outer);
    const double keep = attrs.momentum;
    const std::int64_t groups = plan.view.groups;
    for (std::int64_t group = 0; group < groups; ++group) {
      double means = 0, variances = 0;
      for (std::int64_t row = group; row < plan.rows(); row += groups) {
        means += mean[row];
        variances += variance[row];
      }
      running_mean[group] = static_cast<float>(keep * running_mean[group] +
                                               (1 - keep) * (means / samples));
      running_variance[group] =
          static_cast<float>(keep * running_variance[group] +
                             (1 - keep) * (variances / samples * unbias));
    }
  }
};

}  // namespace

void lower_sample_norm(UnitBuilder& unit) {
  const auto& attrs = unit.attrs<SampleNormAttrs>();
  const SamplePlan plan(SampleView(unit.input_shape(0), attrs),
                        /*has_element_parameters=*/attrs.groups == 0);
  const SampleArgs args = add_args(unit, plan);
  const DataType type = unit.result_desc().data_type;
  visit_floats<row::sample_norm>(unit, type, [&]<class T>(T) {
    emit(unit, [=](BindContext& at) -> BoundKernel {
      return SampleKernel<T>{plan,
                             attrs,
                             {.x = typed<T>(at[args.x]),
                              .gamma = floats_or_null(at, args.gamma),
                              .beta = floats_or_null(at, args.beta),
                              .y = typed<T>(at[args.y])},
                             floats(at[args.mean]),
                             floats(at[args.variance]),
                             floats_or_null(at, args.running_mean),
                             floats_or_null(at, args.running_variance),
                             typed_or_null<SampleMoments>(at, args.pieces),
                             typed_or_null<RowScale>(at, args.scales)};
    });
  });
}

}  // namespace traingraph::cpu
