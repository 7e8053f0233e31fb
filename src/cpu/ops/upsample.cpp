// SPDX-License-Identifier: MIT
// upsample and its gradient: loops of ours, in the layout that the image has.
// oneDNN's resampling cannot align corners, and takes nearest samples from
// positions in float32.
#include "base/checked.h"
#include "cpu/ops/elementwise_lowering.h"
#include "cpu/ops/upsample_loops.h"
#include "cpu/primitive_threads.h"

namespace traingraph::cpu {
namespace {

/// Plans from the image `x` before sampling and `y` after it.
UpsamplePlan plan_of(const UnitBuilder& unit, const Layout& x,
                     const Layout& y) {
  const auto& attrs = unit.attrs<UpsampleAttrs>();
  const Layout::Sizes &in = x.sizes(), &out = y.sizes();
  const std::size_t last = in.size() - 1;
  const auto taps = [&](std::int64_t from, std::int64_t to) {
    return upsample_taps(from, to, attrs.sample_mode, attrs.aligns_corners);
  };
  const bool has_rows = attrs.shape.rank() == 2;
  UpsamplePlan plan{
      .rows = has_rows ? taps(in[last - 1], out[last - 1]) : taps(1, 1),
      .columns = taps(in[last], out[last]),
      .images = 1,
      .inner = x.strides()[last],
      .num_workers = 1};
  plan.images = num_elements(x) / (plan.rows.in * plan.in_row());
  const std::int64_t elements = std::max(num_elements(x), num_elements(y));
  const std::int64_t rows =
      plan.images * std::min(plan.rows.in, plan.rows.out());
  plan.num_workers = static_cast<int>(std::clamp<std::int64_t>(
      std::min(rows, elements / kCheapGrain), 1, PrimitiveThreads::count()));
  return plan;
}

int add_space(UnitBuilder& unit, const UpsamplePlan& plan,
              std::int64_t num_floats) {
  return unit.scratch(checked_bytes<float>(
      checked_multiply(num_floats, std::int64_t{plan.num_workers}, "scratch"),
      "scratch"));
}

void emit_nearest(UnitBuilder& unit, const UpsamplePlan& plan, int in,
                  int out) {
  const DataType type = unit.result_desc().data_type;
  visit_floats<row::upsample>(unit, type, [&]<class T>(T) {
    emit(unit, [=](BindContext& at) -> BoundKernel {
      return [plan, x = typed<T>(at[in]), y = typed<T>(at[out])] {
        upsample_nearest(plan, x, y);
      };
    });
  });
}

}  // namespace

void lower_upsample(UnitBuilder& unit) {
  const Layout x = layout_like(unit.layout(0), unit.input_desc(0));
  const Layout y = layout_like(x, unit.result_desc());
  const UpsamplePlan plan = plan_of(unit, x, y);
  const int in = unit.read(0, x), out = unit.write(0, y);
  if (unit.attrs<UpsampleAttrs>().sample_mode == SampleMode::Nearest) {
    return emit_nearest(unit, plan, in, out);
  }
  const int space = add_space(unit, plan, linear_space(plan));
  const DataType type = unit.result_desc().data_type;
  visit_floats<row::upsample>(unit, type, [&]<class T>(T) {
    emit(unit, [=](BindContext& at) -> BoundKernel {
      return
          [plan, x = typed<T>(at[in]), y = typed<T>(at[out]),
           space = floats(at[space])] { upsample_linear(plan, x, space, y); };
    });
  });
}

void lower_upsample_gradient(UnitBuilder& unit) {
  const Layout gradient = layout_like(unit.layout(0), unit.input_desc(0));
  const Layout dx = layout_like(gradient, unit.result_desc());
  const UpsamplePlan plan = plan_of(unit, dx, gradient);
  const UpsampleShares rows(plan.rows), columns(plan.columns);
  const int in = unit.read(0, gradient), out = unit.write(0, dx);
  const int space = add_space(unit, plan, gradient_space(plan));
  const DataType type = unit.result_desc().data_type;
  visit_floats<row::upsample_gradient>(unit, type, [&]<class T>(T) {
    emit(unit, [=](BindContext& at) -> BoundKernel {
      return [=, gradient = typed<T>(at[in]), dx = typed<T>(at[out]),
              space = floats(at[space])] {
        upsample_gradient(plan, rows, columns, gradient, space, dx);
      };
    });
  });
}

}  // namespace traingraph::cpu
