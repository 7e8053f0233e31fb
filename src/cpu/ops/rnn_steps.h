// SPDX-License-Identifier: MIT
// What the recurrent ops have in common whatever their cell and direction of
// time: operands, the order of steps, and places that are worked on at once.
#pragma once

#include <algorithm>
#include <array>

#include "cpu/float_types.h"
#include "cpu/lowering.h"
#include "cpu/ops/rnn_gates.h"
#include "cpu/parallel.h"
#include "cpu/typed_address.h"
#include "ops/rnn_ops.h"

namespace traingraph::cpu {

/// Elements of a cell that are worth waking a thread for: each costs an
/// exponential for every gate.
inline constexpr std::int64_t kCellGrain = kCostlyGrain / 4;

/// Columns [column, column + n) of a sample in a step.
struct Place {
  std::int64_t step, sample, column, n;
  std::int64_t length;  // steps of the sample
  std::int64_t state;   // address in (samples, hidden)
  std::int64_t at;      // address in (steps, samples, hidden)

  /// Address in (steps, samples, gates * hidden) or (samples, gates * hidden).
  std::int64_t gates(std::int64_t row, std::int64_t count, std::int64_t block,
                     std::int64_t hidden) const {
    return (row * count + block) * hidden + column;
  }
};

/// Which steps a sample takes part in, and in which order.
struct RecurrentSteps {
  std::int64_t steps, samples, hidden;
  bool is_reverse;

  /// The step that is done as the i-th.
  std::int64_t nth(std::int64_t i) const {
    return is_reverse ? steps - 1 - i : i;
  }
  /// `lengths` may be null.
  std::int64_t length(const std::int32_t* lengths, std::int64_t sample) const {
    if (!lengths) return steps;
    return std::clamp<std::int64_t>(lengths[sample], 0, steps);
  }
  /// The row of (steps, samples) before a place; -1: the initial state.
  std::int64_t row_before(const Place& p) const {
    const std::int64_t step = is_reverse ? p.step + 1 : p.step - 1;
    return step < 0 || step >= p.length ? -1 : step * samples + p.sample;
  }
  std::int64_t row(const Place& p) const { return p.step * samples + p.sample; }
  /// Is it the last one that its sample takes part in?
  bool is_last(const Place& p) const {
    return p.step == (is_reverse ? 0 : p.length - 1);
  }

  std::int64_t size() const { return samples * hidden; }
  std::int64_t num_blocks() const {
    return (hidden + kGateColumns - 1) / kGateColumns;
  }
  /// Calls f(place) for all blocks of all samples, in parallel.
  template <class F>
  void for_each_place(std::int64_t step, const std::int32_t* lengths,
                      F&& f) const;
};

template <class F>
void RecurrentSteps::for_each_place(std::int64_t step,
                                    const std::int32_t* lengths, F&& f) const {
  const std::int64_t blocks = num_blocks();
  parallel_for(
      samples * blocks, kCellGrain / std::min(hidden, kGateColumns),
      [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          const std::int64_t sample = i / blocks;
          const std::int64_t column = i % blocks * kGateColumns;
          const std::int64_t state = sample * hidden + column;
          f(Place{.step = step,
                  .sample = sample,
                  .column = column,
                  .n = std::min(kGateColumns, hidden - column),
                  .length = length(lengths, sample),
                  .state = state,
                  .at = step * samples * hidden + state});
        }
      },
      /*multiple=*/1);
}

/// The operands of a node, and their gradients. Null where an input is absent
/// or a result is not used.
template <class T>
struct RecurrentOperands {
  std::array<T*, rnn::kNumOperands> values, gradients;
  const std::int32_t* lengths;

  T* operator[](rnn::Operand operand) const {
    return values[static_cast<std::size_t>(operand)];
  }
  T* gradient(rnn::Operand operand) const {
    return gradients[static_cast<std::size_t>(operand)];
  }
};

/// The address of an argument that may be absent.
template <class T>
T* address(BindContext& at, int arg) {
  return arg < 0 ? nullptr : typed<T>(at[arg]);
}

inline std::byte* bytes(void* address) {
  return static_cast<std::byte*>(address);
}

/// Scratch memory for so many elements.
template <class T>
int scratch_of(UnitBuilder& unit, std::int64_t n) {
  return unit.scratch(checked_bytes<T>(n, "scratch"));
}

/// A node's arguments.
class RecurrentArguments {
 public:
  explicit RecurrentArguments(UnitBuilder& unit);

  const RecurrentSteps& steps() const { return steps_; }
  DataType type() const { return type_; }
  bool has(rnn::Operand operand) const { return at(operand, false) >= 0; }
  bool has_gradient(rnn::Operand operand) const {
    return at(operand, true) >= 0;
  }
  /// In a gradient op, are the states that products have multiplied those of
  /// the sequence, a step apart? The first one has none and no mask is between.
  bool is_shifted() const { return is_shifted_; }

  template <class T>
  RecurrentOperands<T> bind(BindContext& at) const {
    RecurrentOperands<T> all;
    for (std::size_t i = 0; i < rnn::kNumOperands; ++i) {
      all.values[i] = address<T>(at, args_[0][i]);
      all.gradients[i] = address<T>(at, args_[1][i]);
    }
    all.lengths =
        address<std::int32_t>(at, this->at(rnn::Operand::Lengths, false));
    return all;
  }

 private:
  int at(rnn::Operand operand, bool is_gradient) const {
    return args_[is_gradient ? 1 : 0][static_cast<std::size_t>(operand)];
  }

  std::array<std::array<int, rnn::kNumOperands>, 2> args_;  // -1: absent
  RecurrentSteps steps_;
  DataType type_;
  bool is_shifted_;
};

}  // namespace traingraph::cpu
