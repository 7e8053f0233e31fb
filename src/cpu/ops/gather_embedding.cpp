// SPDX-License-Identifier: MIT
// embedding and its gradient; the loops are in gather_embedding_loops.h.
#include "base/checked.h"
#include "cpu/ops/gather_embedding_loops.h"
#include "cpu/ops/gather_indices.h"
#include "cpu/typed_address.h"

namespace traingraph::cpu {
namespace {

constexpr int kIndices = 1;

EmbeddingPlan plan_of(const UnitBuilder& unit, const Shape& weights,
                      std::int64_t padding_index) {
  return {.count = weights.num_elements() / weights.back(),
          .width = weights.back(),
          .num_tokens = unit.input_shape(kIndices).num_elements(),
          .padding_index = padding_index};
}

/// Calls use(T{}, I{}): how input 0 and the indices are stored.
template <const Kernel& kRow, class Use>
void visit_types(const UnitBuilder& unit, Use&& use) {
  const DataType type = unit.input_desc(0).data_type;
  visit_floats<kRow>(unit, type, [&]<class T>(T) {
    visit_index_type(unit, kIndices, [&]<class I>(I) { use(T{}, I{}); });
  });
}

/// Rows that are looked up change where they are stored.
template <class T, class I>
void lower_renormalizing(UnitBuilder& unit, const EmbeddingPlan& plan,
                         const MaximumNorm& norm, const IndexCheck& check) {
  const int weights = unit.mutate(0), at = unit.read(kIndices);
  const int y = unit.write(0);
  const int is_done =
      unit.scratch(checked_bytes<std::uint8_t>(plan.count, "scratch"));
  emit(unit, [=](BindContext& args) -> BoundKernel {
    return
        [=, weights = typed<T>(args[weights]), at = typed<I>(args[at]),
         y = typed<T>(args[y]), is_done = typed<std::uint8_t>(args[is_done])] {
          check.require(at);
          renormalize(plan, norm, at, weights, is_done);
          look_up(plan, weights, at, y);
        };
  });
}

template <class T, class I>
void lower_reading(UnitBuilder& unit, const EmbeddingPlan& plan,
                   const MaximumNorm& norm, const IndexCheck& check) {
  const int weights = unit.read(0), at = unit.read(kIndices);
  const int y = unit.write(0);
  emit(unit, [=](BindContext& args) -> BoundKernel {
    return [=, weights = typed<T>(args[weights]), at = typed<I>(args[at]),
            y = typed<T>(args[y])] {
      check.require(at);
      if (norm.most > 0) {
        look_up_scaled(plan, norm, weights, at, y);
      } else {
        look_up(plan, weights, at, y);
      }
    };
  });
}

}  // namespace

void lower_embedding(UnitBuilder& unit) {
  const auto& attrs = unit.attrs<EmbeddingAttrs>();
  const EmbeddingPlan plan =
      plan_of(unit, unit.input_shape(0), attrs.padding_index);
  const IndexCheck check(unit, kIndices, plan.count);
  const MaximumNorm norm{.most = attrs.maximum_norm, .p = attrs.p_norm};
  visit_types<row::embedding>(unit, [&]<class T, class I>(T, I) {
    if (mutates(unit.node(), 0)) {
      lower_renormalizing<T, I>(unit, plan, norm, check);
    } else {
      lower_reading<T, I>(unit, plan, norm, check);
    }
  });
}

void lower_embedding_gradient(UnitBuilder& unit) {
  const auto& attrs = unit.attrs<EmbeddingGradientAttrs>();
  const EmbeddingPlan plan = plan_of(unit, attrs.shape, attrs.padding_index);
  const IndexCheck check(unit, kIndices, plan.count);
  const bool divides = attrs.scales_gradient_by_frequency;
  const std::int64_t num_elements = attrs.shape.num_elements();
  const int gradient = unit.read(0), at = unit.read(kIndices);
  const int dweights = unit.write(0);
  const int times =
      divides ? unit.scratch(checked_bytes<std::int64_t>(plan.count, "scratch"))
              : -1;
  visit_types<row::embedding_gradient>(unit, [&]<class T, class I>(T, I) {
    const int sums = add_sums<T>(unit, dweights, num_elements);
    emit(unit, [=](BindContext& args) -> BoundKernel {
      return [=, gradient = typed<T>(args[gradient]), at = typed<I>(args[at]),
              times = divides ? typed<std::int64_t>(args[times]) : nullptr,
              sums = floats(args[sums]), dweights = typed<T>(args[dweights])] {
        check.require(at);
        add_tokens(plan, gradient, at, sums);
        if (divides) divide_by_frequency(plan, at, times, sums);
        store_sums(sums, dweights, num_elements);
      };
    });
  });
}

}  // namespace traingraph::cpu
