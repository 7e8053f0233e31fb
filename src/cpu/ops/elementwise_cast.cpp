// SPDX-License-Identifier: MIT
// Casts: a plain loop for each pair of types.
#include <type_traits>
#include <utility>

#include "base/convert.h"
#include "cpu/engine/reorder.h"
#include "cpu/ops/elementwise_lowering.h"

namespace traingraph::cpu {
namespace {

/// Casts between floats keep any layout, others take row-major data.
std::pair<Layout, Layout> cast_layouts(const UnitBuilder& unit) {
  const TensorDescriptor& source = unit.input_desc(0);
  const TensorDescriptor& target = unit.result_desc();
  const auto from = unit.layout(0), to = layout_like(from, target);
  const bool keeps = is_float(source.data_type) && is_float(target.data_type) &&
                     !is_plain(to) &&
                     same_layout(layout_like(to, source), from);
  if (keeps) return {from, to};
  return {unit.plain(source), unit.plain(target)};
}

using CastRange = void (*)(const std::byte* from, std::byte* to,
                           std::int64_t count);

template <class From, class To>
void cast_range(const std::byte* from, std::byte* to, std::int64_t count) {
  const auto* x = reinterpret_cast<const Stored<From>*>(from);
  auto* y = reinterpret_cast<Stored<To>*>(to);
  const auto run = [=] {
    for (std::int64_t i = 0; i < count; ++i) {
      y[i] = convert<To>(static_cast<From>(x[i]));
    }
  };
  // Others are rare.
  if constexpr (kIsFloatType<From> && kIsFloatType<To>) {
    vectorized(run);
  } else {
    run();
  }
}

CastRange find_cast(const UnitBuilder& unit) {
  CastRange cast = nullptr;
  visit_type(unit.input_desc(0).data_type, [&]<class From>(From) {
    visit_type(unit.result_desc().data_type,
               [&]<class To>(To) { cast = cast_range<From, To>; });
  });
  return cast;
}

}  // namespace

void lower_cast(UnitBuilder& unit) {
  const DataType from_type = unit.input_desc(0).data_type;
  const DataType to_type = unit.result_desc().data_type;
  if (from_type == to_type) return unit.alias(0, 0);
  // Products want blocks: one reorder rounds and moves what is in memory
  // anyway.
  const bool narrows = from_type == DataType::Float32 && is_float(to_type);
  if (narrows && engine_casts(to_type) && unit.fusion().defer_cast()) return;
  const auto [from, to] = cast_layouts(unit);
  const int in = unit.read(0, from), out = unit.write(0, to);
  const auto from_bytes = static_cast<std::int64_t>(size_of(from_type));
  const auto to_bytes = static_cast<std::int64_t>(size_of(to_type));
  if (from_bytes == to_bytes) unit.may_run_in_place(0, 0);
  emit(unit,
       [=, cast = find_cast(unit),
        n = num_elements(to)](BindContext& at) -> BoundKernel {
         return [=, x = at[in], y = at[out]] {
           parallel_for(n, kCheapGrain,
                        [&](std::int64_t begin, std::int64_t end) {
                          cast(x + begin * from_bytes, y + begin * to_bytes,
                               end - begin);
                        });
         };
       });
}

}  // namespace traingraph::cpu
