// SPDX-License-Identifier: MIT
#include "random.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "index.h"

namespace emulator {
namespace {

using Words = std::array<std::uint32_t, 4>;

struct State {
  Words counter;
  std::array<std::uint32_t, 2> key;
};

std::uint32_t word_of(double element) {
  return static_cast<std::uint32_t>(static_cast<std::int64_t>(element));
}
double element_of(std::uint32_t word) {
  return static_cast<double>(static_cast<std::int32_t>(word));
}

State state_of(const std::vector<double>& elements) {
  State state;
  for (int i = 0; i < 4; ++i) state.counter[i] = word_of(elements[1 + i]);
  for (int i = 0; i < 2; ++i) state.key[i] = word_of(elements[5 + i]);
  return state;
}

void count_up(State& state) {
  for (std::uint32_t& word : state.counter) {
    if (++word != 0) return;
  }
}

/// Four random words (Salmon and others, "Parallel random numbers: as easy as
/// 1, 2, 3", 2011).
Words philox(const State& state) {
  Words x = state.counter;
  auto [low, high] = state.key;
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53} * x[0];
    const std::uint64_t b = std::uint64_t{0xCD9E8D57} * x[2];
    x = {static_cast<std::uint32_t>(b >> 32) ^ x[1] ^ low,
         static_cast<std::uint32_t>(b),
         static_cast<std::uint32_t>(a >> 32) ^ x[3] ^ high,
         static_cast<std::uint32_t>(a)};
    low += 0x9E3779B9;
    high += 0xBB67AE85;
  }
  return x;
}

double normal_distribution(double x) {
  return 0.5 * std::erfc(-x / std::sqrt(2.0));
}

/// The x below which a part `p` of the normal distribution lies, by bisection.
double normal_quantile(double p) {
  double low = -40, high = 40;
  for (int i = 0; i < 100; ++i) {
    const double middle = 0.5 * (low + high);
    (normal_distribution(middle) < p ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

double number_of(const RandomNumbers& n, std::uint32_t word) {
  if (n.is_integer) {
    const auto count = static_cast<std::uint64_t>(n.max - n.min) + 1;
    return n.min + static_cast<double>(word % count);
  }
  const double part = (word >> 8) * 0x1p-24;  // [0, 1) that a float can hold
  if (n.distribution == Distribution::kUniform) {
    return n.min + part * (n.max - n.min);
  }
  const double inner = part + 0x1p-25;  // (0, 1)
  double low = 0, high = 1;
  if (n.distribution == Distribution::kTruncatedNormal) {
    low = normal_distribution((n.min - n.mean) / n.standard_deviation);
    high = normal_distribution((n.max - n.mean) / n.standard_deviation);
  }
  const double quantile = normal_quantile(low + inner * (high - low));
  return n.mean + n.standard_deviation * quantile;
}

void draw(const RandomNumbers& numbers, State& state, Array& result) {
  Words words{};
  for (std::size_t i = 0; i < result.data.size(); ++i) {
    if (i % 4 == 0) {
      words = philox(state);
      count_up(state);
    }
    result.data[i] = number_of(numbers, words[i % 4]);
  }
  if (result.type.shape.size() > 4) fill_with_garbage(result);
}

}  // namespace

std::vector<double> random_state(std::uint64_t counter_low,
                                 std::uint64_t counter_high,
                                 std::uint64_t key) {
  std::vector<double> elements{1};
  for (std::uint64_t part : {counter_low, counter_high, key}) {
    elements.push_back(element_of(static_cast<std::uint32_t>(part)));
    elements.push_back(element_of(static_cast<std::uint32_t>(part >> 32)));
  }
  return elements;
}

Kernel random_numbers(const RandomNumbers& numbers) {
  return [=](const std::vector<const Array*>& inputs,
             std::vector<Array>& results) {
    State state = state_of(inputs[0]->data);
    draw(numbers, state, results[0]);
    results[1].data = inputs[0]->data;
    for (int i = 0; i < 4; ++i) {
      results[1].data[1 + i] = element_of(state.counter[i]);
    }
  };
}

Kernel random_numbers_of(const RandomNumbers& numbers,
                         std::vector<double> elements) {
  return [numbers, elements = std::move(elements)](
             const std::vector<const Array*>&, std::vector<Array>& results) {
    State state = state_of(elements);
    draw(numbers, state, results[0]);
  };
}

}  // namespace emulator
