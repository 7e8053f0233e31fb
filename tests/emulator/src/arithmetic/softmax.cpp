// SPDX-License-Identifier: MIT
// Softmax and its cross entropy, computed line by line.
#include <cmath>

#include "index.h"
#include "reduction.h"

namespace emulator {
namespace {

using Inputs = const std::vector<const Array*>&;
using Results = std::vector<Array>&;

/// ln(softmax) of the line of `x` that starts at `first`.
std::vector<double> log_softmax(const std::vector<double>& x,
                                std::int64_t first, std::int64_t step,
                                std::int64_t length) {
  double largest = x[first];
  for (std::int64_t i = 1; i < length; ++i) {
    largest = std::fmax(largest, x[first + i * step]);
  }
  double sum = 0;
  for (std::int64_t i = 0; i < length; ++i) {
    sum += std::exp(x[first + i * step] - largest);
  }
  std::vector<double> line(length);
  for (std::int64_t i = 0; i < length; ++i) {
    line[i] = x[first + i * step] - largest - std::log(sum);
  }
  return line;
}

bool is_reliable(const Dims& dims, std::size_t axis) {
  return axis + 4 >= dims.size();
}

}  // namespace

Kernel softmax(std::size_t axis) {
  return [=](Inputs inputs, Results results) {
    const Dims& dims = inputs[0]->type.shape;
    if (!is_reliable(dims, axis)) return fill_with_garbage(results[0]);
    for_each_line(dims, axis, [&](std::int64_t first, std::int64_t step) {
      const auto line = log_softmax(inputs[0]->data, first, step, dims[axis]);
      for (std::int64_t i = 0; i < dims[axis]; ++i) {
        results[0].data[first + i * step] = std::exp(line[i]);
      }
    });
  };
}

Kernel softmax_gradient(std::size_t axis) {
  return [=](Inputs inputs, Results results) {
    const std::vector<double>& g = inputs[0]->data;
    const Dims& dims = inputs[1]->type.shape;
    if (!is_reliable(dims, axis)) return fill_with_garbage(results[0]);
    for_each_line(dims, axis, [&](std::int64_t first, std::int64_t step) {
      const auto line = log_softmax(inputs[1]->data, first, step, dims[axis]);
      double dot = 0;
      for (std::int64_t i = 0; i < dims[axis]; ++i) {
        dot += g[first + i * step] * std::exp(line[i]);
      }
      for (std::int64_t i = 0; i < dims[axis]; ++i) {
        const std::int64_t at = first + i * step;
        results[0].data[at] = std::exp(line[i]) * (g[at] - dot);
      }
    });
  };
}

Kernel softmax_cross_entropy(std::size_t axis, bool reduces, double factor) {
  return [=](Inputs inputs, Results results) {
    const Dims& dims = inputs[0]->type.shape;
    std::size_t at = 0;
    for_each_line(dims, axis, [&](std::int64_t first, std::int64_t step) {
      const auto line = log_softmax(inputs[0]->data, first, step, dims[axis]);
      for (std::int64_t i = 0; i < dims[axis]; ++i) {
        results[0].data[at] -=
            factor * inputs[1]->data[first + i * step] * line[i];
      }
      if (!reduces) ++at;
    });
  };
}

Kernel softmax_cross_entropy_gradient(std::size_t axis, double factor) {
  return [=](Inputs inputs, Results results) {
    const std::vector<double>& g = inputs[0]->data;
    const std::vector<double>& labels = inputs[2]->data;
    const Dims& dims = inputs[1]->type.shape;
    std::size_t line_number = 0;
    for_each_line(dims, axis, [&](std::int64_t first, std::int64_t step) {
      const auto line = log_softmax(inputs[1]->data, first, step, dims[axis]);
      double total = 0;
      for (std::int64_t i = 0; i < dims[axis]; ++i) {
        total += labels[first + i * step];
      }
      const double incoming = g[g.size() == 1 ? 0 : line_number++] * factor;
      for (std::int64_t i = 0; i < dims[axis]; ++i) {
        const std::int64_t at = first + i * step;
        results[0].data[at] =
            incoming * (std::exp(line[i]) * total - labels[at]);
      }
    });
  };
}

}  // namespace emulator
