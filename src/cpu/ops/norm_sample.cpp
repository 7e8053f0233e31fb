// SPDX-License-Identifier: MIT
// Instance, group and layer normalization in loops of ours, along with the
// activation behind them: oneDNN's layer and group normalization take the mean
// in one float32 sum.
#include "cpu/ops/norm_affine.h"
#include "cpu/ops/norm_kernels.h"
#include "cpu/ops/norm_sample_layout.h"
#include "cpu/ops/norm_sample_loops.h"
#include "formulas/moments.h"

namespace traingraph::cpu {
namespace {

/// Statistics of the samples, or running ones; arguments, -1: none.
struct SampleArgs {
  int x, gamma, beta, y;
  int mean, variance;                  // of rows
  int running_mean, running_variance;  // of groups
  int pieces = -1, scales = -1;
  int totals = -1, coefficients = -1;  // of lanes
  std::optional<ActivationAttrs> activation = {};
};

SampleArgs add_args(UnitBuilder& unit, const Layout& layout) {
  const bool is_training = unit.attrs<SampleNormAttrs>().training;
  SampleArgs args{};
  args.x = unit.read(0, layout);
  args.gamma = read_optional(unit, 1);
  args.beta = read_optional(unit, 2);
  args.running_mean = args.running_variance = -1;
  if (unit.has(3)) {
    args.running_mean = is_training ? unit.mutate(3) : unit.read(3);
    args.running_variance = is_training ? unit.mutate(4) : unit.read(4);
  }
  auto activation = unit.fusion().join_next();
  if (activation) args.activation = activation->attrs<ActivationAttrs>();
  args.y = activation ? activation->write(0, layout) : unit.write(0, layout);
  unit.may_overwrite(args.y, args.x);
  args.mean = unit.write(1);
  args.variance = unit.write(2);
  return args;
}

void add_scratch(UnitBuilder& unit, const SamplePlan& plan, SampleArgs& args) {
  if (!plan.is_split()) return;
  const std::int64_t rows = plan.rows();
  args.pieces = unit.scratch(
      checked_bytes<SampleMoments>(rows * plan.pieces_per_row(), "scratch"));
  args.scales = unit.scratch(checked_bytes<RowScale>(rows, "scratch"));
}

void add_scratch(UnitBuilder& unit, const NormPlan& lanes, SampleArgs& args) {
  args.totals =
      unit.scratch(checked_bytes<double>(num_totals(lanes, 2), "scratch"));
  args.coefficients =
      unit.scratch(checked_bytes<float>(3 * lanes.num_channels(), "scratch"));
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

  RowScale use_running(std::int64_t row) const {
    const std::int64_t group = row % plan.view.groups;
    mean[row] = running_mean[group];
    variance[row] = running_variance[group];
    return {mean[row], variance[row], attrs.epsilon};
  }

  void run_with_running_statistics() const {
    for_each_task(plan.rows(), plan.length(), [&](std::int64_t row) {
      affine.run(plan, row, use_running(row), 0, plan.length());
    });
  }

  /// By the mean over the samples, of unbiased variances.
  void update_running_statistics() const {
    const auto n = static_cast<double>(plan.length());
    const auto move = [keep = static_cast<double>(attrs.momentum)](
                          float& running, double now) {
      running = static_cast<float>(
          formulas::moved(static_cast<double>(running), now, keep));
    };
    const auto samples = static_cast<double>(plan.view.outer);
    const std::int64_t groups = plan.view.groups;
    for (std::int64_t group = 0; group < groups; ++group) {
      double means = 0, variances = 0;
      for (std::int64_t row = group; row < plan.rows(); row += groups) {
        means += mean[row];
        variances += variance[row];
      }
      move(running_mean[group], means / samples);
      move(running_variance[group],
           variances / samples * formulas::unbiasing(n));
    }
  }
};

/// The same where lanes are channels of a sample.
template <class T>
struct LanesKernel : SampleKernel<T> {
  using Base = SampleKernel<T>;

  LanesKernel(Base rows, const SampleLanes& all, const SampleArgs& args,
              BindContext& at)
      : Base(std::move(rows)),
        lanes(all),
        by_lane(),
        totals(typed<double>(at[args.totals])) {
    by_lane.bind(this->affine.x, floats(at[args.coefficients]),
                 lanes.plan.num_channels());
    by_lane.y = this->affine.y;
    by_lane.activation = this->affine.activation;
  }

  void operator()() const {
    const bool measures = !this->running_mean || this->attrs.training;
    lanes.run([](std::int64_t) {},
              [&](const NormTask& task) {
                if (!measures) return;
                measure_moments(lanes.plan, task, by_lane.x, totals);
              },
              [&](std::int64_t sample) {
                set_sample(sample, [&](std::int64_t row, std::int64_t lane) {
                  return measures ? this->finish(row, merge(lane))
                                  : this->use_running(row);
                });
              },
              [&](const NormTask& task) { by_lane.run(lanes.plan, task); });
    if (this->running_mean && measures) this->update_running_statistics();
  }

 private:
  /// Of the group that begins at a lane.
  SampleMoments merge(std::int64_t first) const {
    const auto count = static_cast<double>(lanes.plan.num_samples);
    SampleMoments moments;
    for (std::int64_t i = 0; i < this->plan.view.width; ++i) {
      const Moments of = merge_moments(lanes.plan, totals, first + i);
      moments.merge({count, of.mean, of.variance * count});
    }
    return moments;
  }

  template <class ScaleOf>
  void set_sample(std::int64_t sample, ScaleOf scale_of) const {
    const auto& [x, gamma, beta, y, activation] = this->affine;
    const SampleView& view = this->plan.view;
    lanes.for_each_row(
        view, sample,
        [&](std::int64_t row, std::int64_t lane) {
          const RowScale scale = scale_of(row, lane);
          const std::int64_t channel = row % view.groups * view.width;
          for (std::int64_t i = 0; i < view.width; ++i) {
            const float weight = gamma ? gamma[channel + i] : 1;
            const float rest = beta ? beta[channel + i] : 0;
            by_lane.set(lane + i, scale.times(weight, rest));
          }
        },
        [&](std::int64_t lane) { by_lane.set_padding(lane); });
  }

  SampleLanes lanes;
  Affine<T> by_lane;
  double* totals;
};

template <class T>
SampleKernel<T> bind_rows(const SamplePlan& plan, const SampleNormAttrs& attrs,
                          const SampleArgs& args, BindContext& at) {
  SampleKernel<T> kernel{plan,
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
  if (args.activation) {
    kernel.affine.activation = activation_row(*args.activation);
  }
  return kernel;
}

}  // namespace

void lower_sample_norm(UnitBuilder& unit) {
  const auto& attrs = unit.attrs<SampleNormAttrs>();
  const SamplePlan plan(SampleView(unit.input_shape(0), attrs),
                        /*has_element_parameters=*/attrs.groups == 0);
  const auto found = find_sample_layout(unit, 0);
  SampleArgs args =
      add_args(unit, found ? found->layout : unit.plain(unit.input_desc(0)));
  found ? add_scratch(unit, found->plan, args) : add_scratch(unit, plan, args);
  const DataType type = unit.result_desc().data_type;
  visit_floats<row::sample_norm>(unit, type, [&]<class T>(T) {
    if (!found) {
      return emit(unit, [=](BindContext& at) -> BoundKernel {
        return bind_rows<T>(plan, attrs, args, at);
      });
    }
    emit(unit,
         [=, lanes = SampleLanes(found->plan, plan.view.outer)](
             BindContext& at) -> BoundKernel {
           return LanesKernel<T>(bind_rows<T>(plan, attrs, args, at), lanes,
                                 args, at);
         });
  });
}

}  // namespace traingraph::cpu
