// SPDX-License-Identifier: MIT
// The gradient of instance, group and layer normalization.
#include "cpu/ops/norm_kernels.h"
#include "cpu/ops/norm_sample_gradient_loops.h"

namespace traingraph::cpu {
namespace {

/// Arguments; -1: none.
struct SampleArgs {
  int gradient, x, gamma, mean, variance;
  int dx, dgamma, dbeta;
  int sums, rows, partial;
};

SampleArgs add_args(UnitBuilder& unit, const SamplePlan& plan) {
  SampleArgs args{};
  args.gradient = unit.read(0);
  args.x = unit.read(1);
  args.gamma = read_optional(unit, 2);
  args.mean = unit.read(3);
  args.variance = unit.read(4);
  args.dx = unit.write(0);
  args.dgamma = write_used(unit, 1);
  args.dbeta = write_used(unit, 2);
  unit.may_overwrite(args.dx, args.gradient);
  args.sums = args.rows = args.partial = -1;
  if (!plan.is_per_element || plan.is_by_columns()) {
    args.sums = unit.scratch(checked_bytes<SampleSums>(
        plan.rows() * plan.runs_per_row(), "scratch"));
    args.rows =
        unit.scratch(checked_bytes<RowGradient>(plan.rows(), "scratch"));
  } else {
    args.partial = unit.scratch(checked_bytes<double>(
        2 * plan.num_chunks() * plan.length(), "scratch"));
  }
  return args;
}

/// What both kernels have, bound.
template <class T>
struct SampleGradient {
  SamplePlan plan;
  float epsilon;
  bool is_training;
  SampleElements<T> elements;
  const float *gamma, *mean, *variance;  // gamma may be null
  float *dgamma, *dbeta;                 // these may be null
  SampleSums* sums;                      // of runs
  RowGradient* rows;
  double* partial;

  bool has_parameters() const { return dgamma || dbeta; }
  std::int64_t offset_of(std::int64_t row) const { return row * plan.length(); }
  /// Differences from the mean are 0 where all elements are equal. A channel
  /// adds up so many that their rounding must not be always the same.
  float center(std::int64_t row) const {
    return plan.is_per_element ? mean[row] : round_center(mean[row]);
  }
  RowGradient finish(std::int64_t row, const SampleSums& of_row) const {
    return {of_row,           center(row), plan.length(), mean[row],
            variance_of(row), epsilon,     is_training};
  }
  /// Measured again where float32 could not hold it.
  double variance_of(std::int64_t row) const {
    const double stored = variance[row];
    if (!is_training || !std::isinf(stored)) return stored;
    return measure_wide(elements.x + offset_of(row), plan.length()).variance();
  }
};

/// Scale and shift have a value for each element of a row.
template <class T>
struct ElementKernel : SampleGradient<T> {
  using Base = SampleGradient<T>;
  using Base::plan, Base::elements, Base::gamma, Base::sums, Base::rows;

  void operator()() const {
    plan.is_by_columns() ? run_columns_of_all() : run_chunks();
  }

  SampleSums measure(std::int64_t row, std::int64_t piece) const {
    const std::int64_t begin = piece * SamplePlan::kPiece;
    const std::int64_t n = std::min(SamplePlan::kPiece, plan.length() - begin);
    const auto [g, x, dx] = elements.at(this->offset_of(row) + begin);
    return sum_products(g, x, gamma ? gamma + begin : nullptr,
                        this->center(row), n);
  }

  void run_chunks() const {
    const std::int64_t length = plan.length(),
                       per_chunk = plan.rows_per_chunk();
    for_each_task(plan.num_chunks(), per_chunk * length, [&](std::int64_t i) {
      double* totals = this->partial + 2 * i * length;
      std::fill_n(totals, 2 * length, 0.0);
      const std::int64_t last = std::min(plan.rows(), (i + 1) * per_chunk);
      ColumnSums columns(length, totals, totals + length);
      for (std::int64_t row = i * per_chunk; row < last; ++row) {
        columns.add_row(elements.at(this->offset_of(row)),
                        this->finish(row, measure(row, 0)), gamma);
      }
    });
    if (!this->has_parameters()) return;
    parallel_for(length, grain_of_tasks(2 * plan.num_chunks()),
                 [&](std::int64_t begin, std::int64_t end) {
                   add_chunks(this->dgamma, this->partial, begin, end);
                   add_chunks(this->dbeta, this->partial + length, begin, end);
                 });
  }

  void add_chunks(float* result, const double* totals, std::int64_t begin,
                  std::int64_t end) const {
    if (!result) return;
    const std::int64_t stride = 2 * plan.length();
    constexpr std::int64_t kColumns = 64;
    for (std::int64_t first = begin; first < end; first += kColumns) {
      const std::int64_t count = std::min(kColumns, end - first);
      double sums_of[kColumns] = {};
      for (std::int64_t i = 0; i < plan.num_chunks(); ++i) {
        const double* from = totals + i * stride + first;
        for (std::int64_t j = 0; j < count; ++j) sums_of[j] += from[j];
      }
      for (std::int64_t j = 0; j < count; ++j) {
        result[first + j] = static_cast<float>(sums_of[j]);
      }
    }
  }

  void run_columns_of_all() const {
    const std::int64_t length = plan.length(), pieces = plan.runs_per_row();
    for_each_task(
        plan.rows() * pieces, SamplePlan::kPiece,
        [&](std::int64_t i) { sums[i] = measure(i / pieces, i % pieces); });
    for (std::int64_t row = 0; row < plan.rows(); ++row) {
      SampleSums of_row;
      for (std::int64_t i = 0; i < pieces; ++i) {
        of_row.add(sums[row * pieces + i], /*weight=*/1);
      }
      rows[row] = this->finish(row, of_row);
    }
    constexpr std::int64_t kColumns = 512;
    const std::int64_t blocks = divide_up(length, kColumns);
    for_each_task(blocks, plan.rows() * kColumns, [&](std::int64_t block) {
      const std::int64_t begin = block * kColumns;
      const std::int64_t end = std::min(length, begin + kColumns);
      double products[kColumns] = {}, gradients[kColumns] = {};
      {
        ColumnSums columns(end - begin, products, gradients);
        for (std::int64_t row = 0; row < plan.rows(); ++row) {
          columns.add_row(elements.at(this->offset_of(row) + begin), rows[row],
                          gamma ? gamma + begin : nullptr);
        }
      }
      store(this->dgamma, products, begin, end);
      store(this->dbeta, gradients, begin, end);
    });
  }

  static void store(float* result, const double* totals, std::int64_t begin,
                    std::int64_t end) {
    if (!result) return;
    for (std::int64_t i = begin; i < end; ++i) {
      result[i] = static_cast<float>(totals[i - begin]);
    }
  }
};

/// Scale and shift have a value for each segment of a row.
template <class T>
struct ChannelKernel : SampleGradient<T> {
  using Base = SampleGradient<T>;
  using Base::plan, Base::elements, Base::gamma, Base::sums, Base::rows;

  void operator()() const {
    const bool needs_sums = this->is_training || this->has_parameters();
    const std::int64_t num_rows = plan.rows(), runs = plan.runs_per_row();
    if (plan.is_split()) {
      const std::int64_t length =
          std::min(plan.segment_length(), SamplePlan::kPiece);
      if (needs_sums) {
        for_each_task(num_rows * runs, length,
                      [&](std::int64_t i) { measure(i / runs, i % runs); });
      }
      for (std::int64_t row = 0; row < num_rows; ++row) finish_row(row);
      for_each_task_back(num_rows * runs, length,
                         [&](std::int64_t i) { write(i / runs, i % runs); });
    } else {
      for_each_task(num_rows, plan.length(), [&](std::int64_t row) {
        for (std::int64_t i = 0; needs_sums && i < runs; ++i) measure(row, i);
        finish_row(row);
        for (std::int64_t i = 0; i < runs; ++i) write(row, i);
      });
    }
    if (!this->has_parameters()) return;
    for_each_task(plan.view.num_parameters(), plan.view.outer,
                  [&](std::int64_t channel) { finish_channel(channel); });
  }

  /// Where run `i` of a row begins in it, and how long it is.
  std::pair<std::int64_t, std::int64_t> extent(std::int64_t i) const {
    const std::int64_t segment = i / plan.runs_per_segment();
    const std::int64_t begin = i % plan.runs_per_segment() * SamplePlan::kPiece;
    return {segment * plan.segment_length() + begin,
            std::min(SamplePlan::kPiece, plan.segment_length() - begin)};
  }
  float weight(std::int64_t row, std::int64_t run) const {
    const std::int64_t segment = run / plan.runs_per_segment();
    const std::int64_t group = row % plan.view.groups;
    return gamma ? gamma[group * plan.view.width + segment] : 1.0f;
  }

  void measure(std::int64_t row, std::int64_t run) const {
    const auto [begin, n] = extent(run);
    const auto [g, x, dx] = elements.at(this->offset_of(row) + begin);
    sums[row * plan.runs_per_row() + run] =
        sum_products(g, x, nullptr, this->center(row), n);
  }
  void finish_row(std::int64_t row) const {
    SampleSums of_row;
    for (std::int64_t i = 0; this->is_training && i < plan.runs_per_row();
         ++i) {
      of_row.add(sums[row * plan.runs_per_row() + i], weight(row, i));
    }
    rows[row] = this->finish(row, of_row);
  }
  void write(std::int64_t row, std::int64_t run) const {
    const auto [begin, n] = extent(run);
    elements.at(this->offset_of(row) + begin)
        .run(rows[row], n, [w = weight(row, run)](std::int64_t) { return w; });
  }
  void finish_channel(std::int64_t channel) const {
    const std::int64_t group = channel / plan.view.width;
    const std::int64_t runs = plan.runs_per_segment();
    double products = 0, gradients = 0;
    for (std::int64_t row = group; row < plan.rows(); row += plan.view.groups) {
      SampleSums of_segment;
      const SampleSums* from =
          sums + row * plan.runs_per_row() + channel % plan.view.width * runs;
      for (std::int64_t i = 0; i < runs; ++i) of_segment.add(from[i], 1);
      const double apart = rows[row].apart * of_segment.gradient;
      products += (of_segment.product - apart) * rows[row].inverse;
      gradients += of_segment.gradient;
    }
    if (this->dgamma) this->dgamma[channel] = static_cast<float>(products);
    if (this->dbeta) this->dbeta[channel] = static_cast<float>(gradients);
  }
};

template <template <class> class Kernel, class T>
void emit_kernel(UnitBuilder& unit, const SamplePlan& plan,
                 const SampleArgs& args) {
  const auto& attrs = unit.attrs<SampleNormAttrs>();
  emit(unit,
       [=, epsilon = attrs.epsilon,
        is_training = attrs.training](BindContext& at) -> BoundKernel {
         return Kernel<T>{{plan,
                           epsilon,
                           is_training,
                           {.g = typed<T>(at[args.gradient]),
                            .x = typed<T>(at[args.x]),
                            .dx = typed<T>(at[args.dx])},
                           floats_or_null(at, args.gamma),
                           floats(at[args.mean]),
                           floats(at[args.variance]),
                           floats_or_null(at, args.dgamma),
                           floats_or_null(at, args.dbeta),
                           typed_or_null<SampleSums>(at, args.sums),
                           typed_or_null<RowGradient>(at, args.rows),
                           typed_or_null<double>(at, args.partial)}};
       });
}

}  // namespace

void lower_sample_norm_gradient(UnitBuilder& unit) {
  const auto& attrs = unit.attrs<SampleNormAttrs>();
  const SamplePlan plan(SampleView(unit.input_shape(1), attrs),
                        /*has_element_parameters=*/attrs.groups == 0);
  const SampleArgs args = add_args(unit, plan);
  const DataType type = unit.result_desc().data_type;
  visit_floats<row::sample_norm_gradient>(unit, type, [&]<class T>(T) {
    plan.is_per_element ? emit_kernel<ElementKernel, T>(unit, plan, args)
                        : emit_kernel<ChannelKernel, T>(unit, plan, args);
  });
}

}  // namespace traingraph::cpu
