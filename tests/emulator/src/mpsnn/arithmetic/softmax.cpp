// SPDX-License-Identifier: MIT
#include "softmax.h"

#include <algorithm>
#include <cmath>

#include "picture.h"

namespace emulator::mpsnn {
namespace {

template <class Term>
double sum_of_channels(const Picture& picture, Term term) {
  double sum = 0;
  for (std::int64_t c = 0; c < picture.extent.channels; ++c) sum += term(c);
  return sum;
}

}  // namespace

double log_sum_exp(const Picture& source, std::int64_t y, std::int64_t x) {
  double largest = source.at(0, y, x);
  for (std::int64_t c = 1; c < source.extent.channels; ++c) {
    largest = std::max<double>(largest, source.at(c, y, x));
  }
  return largest + std::log(sum_of_channels(source, [&](auto c) {
           return std::exp(source.at(c, y, x) - largest);
         }));
}

Picture softmax(const Picture& source) {
  return picture_of(source.extent, [&](auto c, auto y, auto x) {
    return std::exp(source.at(c, y, x) - log_sum_exp(source, y, x));
  });
}

Picture log_softmax(const Picture& source) {
  return picture_of(source.extent, [&](auto c, auto y, auto x) {
    return source.at(c, y, x) - log_sum_exp(source, y, x);
  });
}

Picture softmax_gradient(const Picture& g, const Picture& result) {
  return picture_of(result.extent, [&](auto c, auto y, auto x) {
    const double sum = sum_of_channels(
        g, [&](auto k) { return double(g.at(k, y, x)) * result.at(k, y, x); });
    return result.at(c, y, x) * (g.at(c, y, x) - sum);
  });
}

Picture log_softmax_gradient(const Picture& g, const Picture& result) {
  return picture_of(result.extent, [&](auto c, auto y, auto x) {
    const double sum =
        sum_of_channels(g, [&](auto k) { return double(g.at(k, y, x)); });
    return g.at(c, y, x) - std::exp(double(result.at(c, y, x))) * sum;
  });
}

}  // namespace emulator::mpsnn
