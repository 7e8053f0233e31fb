// SPDX-License-Identifier: MIT
// The choice of layouts for plain loops, and the loops that are not templates.
#include "cpu/ops/elementwise_lowering.h"

#include <algorithm>

namespace traingraph::cpu {
namespace {

template <class T>
void upcast(const T* from, std::int64_t n, float* to) {
  for (std::int64_t i = 0; i < n; ++i) to[i] = from[i];
}

template <class T>
void narrow(const float* from, std::int64_t n, T* to) {
  for (std::int64_t i = 0; i < n; ++i) to[i] = from[i];
}

}  // namespace

template <class T>
void run_map(std::int64_t n, std::int64_t grain, const T* x, T* y, MapRow row) {
  parallel_for(n, grain, [=](std::int64_t begin, std::int64_t end) {
    if constexpr (is_exact<T>) {
      row.run(row.f, x + begin, y + begin, end - begin);
    } else {
      float piece[kUpcastPiece];
      for (std::int64_t i = begin; i < end; i += kUpcastPiece) {
        const std::int64_t count = std::min(kUpcastPiece, end - i);
        upcast(x + i, count, piece);
        row.run(row.f, piece, piece, count);
        narrow(piece, count, y + i);
      }
    }
  });
}

template <class T>
void run_zip(std::int64_t n, std::int64_t grain, const T* x, const T* y, T* z,
             ZipRow row) {
  parallel_for(n, grain, [=](std::int64_t begin, std::int64_t end) {
    if constexpr (is_exact<T>) {
      row.run(row.f, x + begin, y + begin, z + begin, end - begin);
    } else {
      float left[kUpcastPiece], right[kUpcastPiece];
      for (std::int64_t i = begin; i < end; i += kUpcastPiece) {
        const std::int64_t count = std::min(kUpcastPiece, end - i);
        upcast(x + i, count, left);
        upcast(y + i, count, right);
        row.run(row.f, left, right, left, count);
        narrow(left, count, z + i);
      }
    }
  });
}

template <class T>
void run_broadcast_zip(const BroadcastPlan<2>& plan, std::int64_t grain,
                       const T* x, const T* y, T* z, ZipRow row) {
  // The innermost step of a dense operand is one element or none.
  const auto steps = plan.strides[plan.rank - 1];
  const auto load = [](const T* from, bool moves, std::int64_t n, float* to) {
    if (moves) return upcast(from, n, to);
    std::fill_n(to, n, static_cast<float>(*from));
  };
  broadcast_rows(plan, grain,
                 [&](std::int64_t at, const auto& from, std::int64_t count) {
                   float left[kUpcastPiece], right[kUpcastPiece];
                   for (std::int64_t i = 0; i < count; i += kUpcastPiece) {
                     const std::int64_t n = std::min(kUpcastPiece, count - i);
                     load(x + from[0] + i * steps[0], steps[0] != 0, n, left);
                     load(y + from[1] + i * steps[1], steps[1] != 0, n, right);
                     row.run(row.f, left, right, left, n);
                     narrow(left, n, z + at + i);
                   }
                 });
}

template void run_map(std::int64_t, std::int64_t, const float*, float*, MapRow);
template void run_map(std::int64_t, std::int64_t, const bfloat16*, bfloat16*,
                      MapRow);
template void run_map(std::int64_t, std::int64_t, const float16*, float16*,
                      MapRow);
template void run_zip(std::int64_t, std::int64_t, const float*, const float*,
                      float*, ZipRow);
template void run_zip(std::int64_t, std::int64_t, const bfloat16*,
                      const bfloat16*, bfloat16*, ZipRow);
template void run_zip(std::int64_t, std::int64_t, const float16*,
                      const float16*, float16*, ZipRow);
template void run_broadcast_zip(const BroadcastPlan<2>&, std::int64_t,
                                const bfloat16*, const bfloat16*, bfloat16*,
                                ZipRow);
template void run_broadcast_zip(const BroadcastPlan<2>&, std::int64_t,
                                const float16*, const float16*, float16*,
                                ZipRow);

std::int64_t num_elements(const Layout& layout) {
  return static_cast<std::int64_t>(layout.bytes() /
                                   size_of(layout.data_type()));
}

Layout loop_layout(const UnitBuilder& unit, int input, bool keeps_zero) {
  Layout layout = unit.layout(input);
  if (is_padded(layout) && !keeps_zero) {
    return unit.plain(unit.input_desc(input));
  }
  return layout;
}

Layout common_layout(const UnitBuilder& unit, int first, int second,
                     bool keeps_zero) {
  const Layout& plain = unit.plain(unit.input_desc(first));
  Layout layout = loop_layout(unit, first, keeps_zero);
  if (!same_layout(layout, plain)) return layout;
  return loop_layout(unit, second, keeps_zero);
}

}  // namespace traingraph::cpu
