// SPDX-License-Identifier: MIT
#include "reduction.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "index.h"

namespace emulator {
namespace {

using Inputs = const std::vector<const Array*>&;
using Results = std::vector<Array>&;

bool is_reliable(const Dims& dims, const Dims& axes) {
  const auto rank = std::ssize(dims);
  return std::ranges::all_of(axes, [&](auto axis) { return axis >= rank - 4; });
}

double first_value(Reduction reduction) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  switch (reduction) {
    case Reduction::kProduct:
    case Reduction::kAnd:
      return 1;
    case Reduction::kMaximum:
    case Reduction::kMaximumPropagateNaN:
      return -kInfinity;
    case Reduction::kMinimum:
    case Reduction::kMinimumPropagateNaN:
      return kInfinity;
    default:
      return 0;
  }
}

double combine(Reduction reduction, double a, double b) {
  switch (reduction) {
    case Reduction::kProduct:
      return a * b;
    case Reduction::kMaximum:
      return std::fmax(a, b);
    case Reduction::kMinimum:
      return std::fmin(a, b);
    case Reduction::kMaximumPropagateNaN:
      return std::isnan(a) || a > b ? a : b;
    case Reduction::kMinimumPropagateNaN:
      return std::isnan(a) || a < b ? a : b;
    case Reduction::kAnd:
      return a != 0 && b != 0;
    case Reduction::kOr:
      return a != 0 || b != 0;
    default:
      return a + b;
  }
}

/// Calls visit(source offset, result offset) for every source element.
template <class Visit>
void for_each_reduced(const Dims& source, const Dims& result, Visit visit) {
  const Dims strides = broadcast_strides(result, source);
  for_each_index(source, [&](const Dims& index, std::int64_t flat) {
    visit(flat, offset_of(index, strides));
  });
}

}  // namespace

Kernel reduce(Reduction reduction, Dims axes) {
  return [=](Inputs inputs, Results results) {
    const Array& source = *inputs[0];
    std::vector<double>& out = results[0].data;
    if (!is_reliable(source.type.shape, axes)) {
      return fill_with_garbage(results[0]);
    }
    std::fill(out.begin(), out.end(), first_value(reduction));
    for_each_reduced(source.type.shape, results[0].type.shape,
                     [&](auto from, auto to) {
                       out[to] = combine(reduction, out[to], source.data[from]);
                     });
    if (reduction != Reduction::kMean) return;
    const double count = double(source.data.size()) / double(out.size());
    for (double& value : out) value /= count;
  };
}

Kernel arg_reduce(bool is_maximum, std::size_t axis) {
  return [=](Inputs inputs, Results results) {
    const Dims& dims = inputs[0]->type.shape;
    const std::vector<double>& x = inputs[0]->data;
    if (!is_reliable(dims, {static_cast<std::int64_t>(axis)})) {
      return fill_with_garbage(results[0]);
    }
    std::size_t line = 0;
    for_each_line(dims, axis, [&](std::int64_t first, std::int64_t step) {
      std::int64_t best = 0;
      for (std::int64_t i = 1; i < dims[axis]; ++i) {
        const double value = x[first + i * step];
        const double best_value = x[first + best * step];
        if (is_maximum ? value > best_value : value < best_value) best = i;
      }
      results[0].data[line++] = static_cast<double>(best);
    });
  };
}

Kernel variance(Dims axes) {
  return [=](Inputs inputs, Results results) {
    const Array& source = *inputs[0];
    const Dims& dims = source.type.shape;
    std::vector<double>& out = results[0].data;
    if (!is_reliable(dims, axes)) return fill_with_garbage(results[0]);
    std::vector<Array> means{inputs.size() == 2 ? *inputs[1] : results[0]};
    if (inputs.size() == 1) reduce(Reduction::kMean, axes)({&source}, means);
    const Array& mean = means[0];
    const Dims mean_strides = broadcast_strides(mean.type.shape, dims);
    const Dims strides = broadcast_strides(results[0].type.shape, dims);
    for_each_index(dims, [&](const Dims& index, std::int64_t flat) {
      const double distance =
          source.data[flat] - mean.data[offset_of(index, mean_strides)];
      out[offset_of(index, strides)] += distance * distance;
    });
    const double count = double(source.data.size()) / double(out.size());
    for (double& value : out) value /= count;
  };
}

}  // namespace emulator
