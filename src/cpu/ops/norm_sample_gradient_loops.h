// SPDX-License-Identifier: MIT
// The loops of the gradient of the normalizations of single samples over a
// SamplePlan; sums are taken as in norm_sample_loops.h.
#pragma once

#include "cpu/ops/norm_gradient_loops.h"
#include "cpu/ops/norm_sample_loops.h"

namespace traingraph::cpu {

/// Sums of g, g (x - center) and x - center; g is weighted by gamma where that
/// is by element.
struct SampleSums {
  double gradient = 0, product = 0, difference = 0;

  void add(const SampleSums& other, double weight) {
    gradient += other.gradient * weight;
    product += other.product * weight;
    difference += other.difference;
  }
};

/// Of n elements; gamma may be null.
template <class T>
SampleSums sum_products(const T* g, const T* x, const float* gamma,
                        float center, std::int64_t n) {
  const auto run = [=](auto weight) {
    return sum_terms<3>(n, [=](std::int64_t i, float& a, float& b, float& c) {
      a = g[i] * weight(i);
      c = x[i] - center;
      b = a * c;
    });
  };
  const auto sums = gamma ? run([=](std::int64_t i) { return gamma[i]; })
                          : run([](std::int64_t) { return 1.0f; });
  return {sums[0], sums[1], sums[2]};
}

/// normalized = (x - center) * inverse + shift
/// dx = ((g gamma - mean_gradient) + ((x - center) * slope + rest)) * inverse
struct RowGradient {
  float center = 0, inverse = 1, shift = 0;
  float mean_gradient = 0, slope = 0, rest = 0;
  double apart = 0;  // from center to mean

  RowGradient() = default;
  /// From sums around `near`. `mean` is that of the row's n elements, or (not
  /// training) given.
  RowGradient(const SampleSums& sums, float near, std::int64_t n, float mean,
              double variance, float epsilon, bool is_training)
      : center(near) {
    const double share = 1 / static_cast<double>(n);
    const double scale = 1 / std::sqrt(variance + epsilon);
    apart = is_training
                ? from_center(mean, center, sums.difference * share, 1 / scale)
                : static_cast<double>(mean) - center;
    inverse = static_cast<float>(scale);
    shift = static_cast<float>(-apart * scale);
    if (!is_training) return;
    const double gradient = sums.gradient * share;
    const double product = sums.product - apart * sums.gradient;
    const double slope_of_x = -scale * scale * product * share;
    mean_gradient = static_cast<float>(gradient);
    slope = static_cast<float>(slope_of_x);
    // What the two means lost as float32.
    rest = static_cast<float>(mean_gradient - gradient - slope_of_x * apart);
  }
};

/// The tensors by element, row after row.
template <class T>
struct SampleElements {
  const T *g = nullptr, *x = nullptr;
  T* dx = nullptr;  // may be g

  SampleElements at(std::int64_t offset) const {
    return {g + offset, x + offset, dx + offset};
  }

  /// dx of n elements that share one weight, or have their own.
  template <class Weight>
  void run(const RowGradient& row, std::int64_t n, Weight weight) const {
    const T *gradient = g, *from = x;
    T* to = dx;
    const float center = row.center, scale = row.inverse, slope = row.slope;
    const float mean = row.mean_gradient, rest = row.rest;
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) {
      to[i] = ((gradient[i] * weight(i) - mean) +
               ((from[i] - center) * slope + rest)) *
              scale;
    }
  }
};

/// The gradient of the activation behind a norm, whose result it computes
/// again.
template <class T>
struct ActivatedGradient {
  SampleAffine<T> again;
  const T* gradient = nullptr;  // of the activation's result
  RowFunction times_slope = {};

  /// Elements `begin` to `end` of a row.
  void run(const SamplePlan& plan, std::int64_t row, const RowScale& scale,
           std::int64_t begin, std::int64_t end, T* to) const {
    const std::int64_t offset = row * plan.length();
    for (; begin < end; begin += kActivatedPiece) {
      const std::int64_t n = std::min(kActivatedPiece, end - begin);
      float z[kActivatedPiece];
      again.normalize(plan, row, scale, begin, begin + n, z);
      multiply_slope(times_slope, gradient + offset + begin, z,
                     to + offset + begin, n);
    }
  }
};

/// Adds up g and g * normalized by column, over rows.
class ColumnSums {
 public:
  static constexpr std::int64_t kColumns = SamplePlan::kPiece;

  /// The totals get what the rows add up to.
  ColumnSums(std::int64_t num_columns, double* products, double* gradients)
      : num_columns_(num_columns), products_(products), gradients_(gradients) {
    clear();
  }
  ~ColumnSums() { flush(); }
  ColumnSums(const ColumnSums&) = delete;
  ColumnSums& operator=(const ColumnSums&) = delete;

  /// Writes dx of the row's columns along with it; gamma may be null.
  template <class T>
  void add_row(const SampleElements<T>& elements, const RowGradient& row,
               const float* gamma) {
    if (num_rows_ == NormPlan::kRows) flush();
    ++num_rows_;
    gamma ? run(elements, row, [=](std::int64_t i) { return gamma[i]; })
          : run(elements, row, [](std::int64_t) { return 1.0f; });
  }

 private:
  template <class T, class Weight>
  void run(const SampleElements<T>& elements, const RowGradient& row,
           Weight weight) {
    const T *g = elements.g, *x = elements.x;
    T* dx = elements.dx;
    float *products = few_products_, *gradients = few_gradients_;
    const float center = row.center, scale = row.inverse, shift = row.shift;
    const float mean = row.mean_gradient, slope = row.slope, rest = row.rest;
#pragma omp simd
    for (std::int64_t i = 0; i < num_columns_; ++i) {
      const float each = g[i], difference = x[i] - center;
      products[i] += each * (difference * scale + shift);
      gradients[i] += each;
      dx[i] = ((each * weight(i) - mean) + (difference * slope + rest)) * scale;
    }
  }

  void flush() {
    for (std::int64_t i = 0; i < num_columns_; ++i) {
      products_[i] += few_products_[i];
      gradients_[i] += few_gradients_[i];
    }
    clear();
  }
  void clear() {
    std::fill_n(few_products_, num_columns_, 0.0f);
    std::fill_n(few_gradients_, num_columns_, 0.0f);
    num_rows_ = 0;
  }

  std::int64_t num_columns_;
  double *products_, *gradients_;
  int num_rows_ = 0;
  // As the vectors want them.
  alignas(64) float few_products_[kColumns];
  alignas(64) float few_gradients_[kColumns];
};

}  // namespace traingraph::cpu
