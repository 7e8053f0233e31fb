// SPDX-License-Identifier: MIT
// A table whose rows may be behind (cpu/deferred_rows.h), with the step of its
// optimizer.
//
// A row of which nothing was read for k steps takes them in a row when it is
// needed, each with the rates of its time and a gradient of 0: the same
// arithmetic on each element in the same order, so the same bits as a pass over
// the table in every step. It saves that pass, not the arithmetic: a row comes
// from memory once instead of k times.
//
// Steps are kept for so long only, so each step brings a few more rows up to
// now, in turns: none is ever further behind.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include "base/checked.h"
#include "cpu/deferred_rows.h"
#include "cpu/ops/update_loops.h"
#include "cpu/ops/update_rows_found.h"
#include "cpu/typed_address.h"

namespace traingraph::cpu {

/// That a row may be behind.
inline constexpr std::uint32_t kMostSteps = 256;
/// Elements that take their steps while they are in the nearest cache.
inline constexpr std::int64_t kPart = 64;

/// What is noted of a table's rows, in one piece of storage.
struct Notes {
  std::int64_t num_rows, num_tokens, most_found;
  explicit Notes(const EmbeddingPlan& plan)
      : num_rows(plan.count),
        num_tokens(plan.num_tokens),
        most_found(std::min(plan.count, plan.num_tokens)) {}

  std::size_t bytes() const {
    const auto of = [](std::size_t size, std::int64_t count) {
      return checked_multiply(size, static_cast<std::size_t>(count), "notes");
    };
    const std::size_t found = of(16, most_found);
    const std::size_t of_rows = checked_add(of(8, num_rows), found, "notes");
    return checked_add(of_rows, of(4, num_tokens), "notes");
  }
  RowsFound found(std::byte* at) const {
    auto* const rows = typed<std::int64_t>(at);
    auto* const times = typed<std::int32_t>(at + 8 * most_found);
    return {.number_of_row = times + most_found,
            .number_of_token = times + most_found + num_rows,
            .rows = rows,
            .times = times,
            .first_token = times + most_found + num_rows + num_tokens};
  }
  /// Steps that each row has taken.
  std::uint32_t* taken(std::byte* at) const {
    return typed<std::uint32_t>(at + 16 * most_found + 4 * num_rows +
                                4 * num_tokens);
  }
};

/// What the kernels of a step share.
class Table : public DeferredRows {
 public:
  Table(const EmbeddingPlan& plan, std::byte* notes)
      : plan(plan),
        found(Notes(plan).found(notes)),
        taken_(Notes(plan).taken(notes)) {}

  /// Fills `found`; these rows are then up to now.
  template <class I>
  void look_up(const I* at) {
    if (!is_behind) start();
    found.find(plan, at, /*finds_padding=*/true);
    catch_up_found();
  }
  /// `gradient` of the tokens, and `sums` of the rows that were found, in their
  /// order.
  virtual void update(const float* rates, bool divides, const float* gradient,
                      float* sums) = 0;

  const EmbeddingPlan plan;
  RowsFound found;

 protected:
  virtual void catch_up_found() = 0;

  std::uint32_t* taken_;
  std::uint32_t num_steps_ = 0;  // since all rows were up to now; it may wrap
  std::int64_t next_ = 0;        // the row whose turn it is

 private:
  /// Other plans may have used the memory of the notes since.
  void start() {
    std::fill_n(taken_, plan.count, 0u);
    num_steps_ = 0;
    next_ = 0;
    is_behind = true;
  }
};

template <class Step>
class TableOf final : public Table {
 public:
  using Attrs = typename Step::Attrs;

  TableOf(const EmbeddingPlan& plan, std::byte* notes, const Attrs& attrs,
          float* p, const Slots<Step>& slots)
      : Table(plan, notes),
        attrs_(attrs),
        p_(p),
        slots_(slots),
        log_(kMostSteps, Step(attrs, kNoRates, /*scale=*/nullptr)) {}

  void catch_up() override {
    catch_up_rows(nullptr, 0, plan.count);
    is_behind = false;
  }

  void update(const float* rates, bool divides, const float* gradient,
              float* sums) override {
    const Step step(attrs_, rates, /*scale=*/nullptr);
    log_[num_steps_++ % kMostSteps] = step;
    parallel_for(
        found.count, plan.grain(),
        [&](std::int64_t first, std::int64_t last) {
          const Step local = step;
          for (std::int64_t n = first; n < last; ++n) {
            if (n + kAhead < last) fetch_row(found.rows[n + kAhead]);
            float* const sum = sums + n * plan.width;
            if (divides) found.divide(plan, n, sum);
            const bool is_single = found.is_single(n);
            move_row(
                local, found.rows[n],
                is_single ? gradient + found.first_token[n] * plan.width : sum);
          }
        },
        /*multiple=*/1);
    // In fewer turns than steps are kept.
    const std::int64_t most = kMostSteps - 1;
    const std::int64_t first = next_;
    const std::int64_t turn = (plan.count + most - 1) / most;
    const std::int64_t count = std::min(turn, plan.count - first);
    catch_up_rows(nullptr, first, count);
    next_ = first + count < plan.count ? first + count : 0;
  }

 private:
  static constexpr float kNoRates[kNumRates] = {};
  /// Rows that take one step each while one comes from memory.
  static constexpr std::int64_t kAhead = 8;

  void catch_up_found() override { catch_up_rows(found.rows, 0, found.count); }

  /// Rows `rows[first]` and `count` in all; of all rows when `rows` is null.
  void catch_up_rows(const std::int64_t* rows, std::int64_t first,
                     std::int64_t count) {
    const std::int64_t grain =
        std::max<std::int64_t>(1, kCostlyGrain / plan.width);
    parallel_for(
        count, grain,
        [&](std::int64_t begin, std::int64_t end) {
          const auto row = [&](std::int64_t i) {
            return rows ? rows[first + i] : first + i;
          };
          for (std::int64_t i = begin; i < end; ++i) {
            if (i + 1 < end) fetch_row(row(i + 1));
            catch_up_row(row(i));
          }
        },
        /*multiple=*/1);
  }

  /// Asks for a row while another one is computed: rows lie anywhere. Always
  /// inlined, since a compiler takes a call that only asks for one of no use.
  [[gnu::always_inline]] void fetch_row(std::int64_t row) const {
    constexpr std::int64_t kLine = 16;  // floats
    const std::int64_t first = row * plan.width;
    for (std::int64_t i = first; i < first + plan.width; i += kLine) {
      __builtin_prefetch(p_ + i, /*rw=*/1);
      for (float* const slot : slots_) __builtin_prefetch(slot + i, /*rw=*/1);
    }
  }

  void catch_up_row(std::int64_t row) {
    const std::uint32_t taken = taken_[row];
    if (taken == num_steps_) return;
    taken_[row] = num_steps_;
    const std::int64_t end = (row + 1) * plan.width;
    std::int64_t at = row * plan.width;
    for (; at + kPart <= end; at += kPart) {
      catch_up_part(taken, at, std::integral_constant<std::int64_t, kPart>());
    }
    if (at < end) catch_up_part(taken, at, end - at);
  }

  /// `size` elements, at most kPart, from element `at` on. Copies of unknown
  /// size would be slower than the steps.
  template <class Size>
  void catch_up_part(std::uint32_t taken, std::int64_t at, Size size) {
    constexpr std::size_t kSlots = kNumSlots<Step>;
    float p[kPart];
    float parts[kSlots + 1][kPart];  // one more, for there may be no slot
    Slots<Step> slots{};
    for (std::size_t s = 0; s < kSlots; ++s) slots[s] = parts[s];
    std::copy_n(p_ + at, size, p);
    for (std::size_t s = 0; s < kSlots; ++s) {
      std::copy_n(slots_[s] + at, size, slots[s]);
    }
    for (; taken != num_steps_; ++taken) {
      const Step step = log_[taken % kMostSteps];
#pragma omp simd
      for (std::int64_t i = 0; i < size; ++i) apply(step, 0.0f, p[i], slots, i);
    }
    std::copy_n(p, size, p_ + at);
    for (std::size_t s = 0; s < kSlots; ++s) {
      std::copy_n(slots[s], size, slots_[s] + at);
    }
  }

  void move_row(const Step& step, std::int64_t row, const float* gradient) {
    taken_[row] = num_steps_;
    float* const p = p_ + row * plan.width;
    Slots<Step> slots = slots_;
    for (float*& slot : slots) slot += row * plan.width;
#pragma omp simd
    for (std::int64_t i = 0; i < plan.width; ++i) {
      // As a sum that begins with 0: there is no -0.
      apply(step, 0.0f + gradient[i], p[i], slots, i);
    }
  }

  const Attrs attrs_;
  float* const p_;
  const Slots<Step> slots_;
  std::vector<Step> log_;
};

/// What a table is bound to; the slots in the order of the update's inputs.
struct TableMemory {
  std::byte* notes;
  float* parameter;
  std::vector<float*> slots;
};

/// With the step that `attrs` ask for.
std::shared_ptr<Table> make_table(const EmbeddingPlan& plan,
                                  const SgdUpdateAttrs& attrs,
                                  const TableMemory& memory);
std::shared_ptr<Table> make_table(const EmbeddingPlan& plan,
                                  const AdamUpdateAttrs& attrs,
                                  const TableMemory& memory);
std::shared_ptr<Table> make_table(const EmbeddingPlan& plan,
                                  const RmspropUpdateAttrs& attrs,
                                  const TableMemory& memory);

/// The same once the step is known.
template <class Attrs>
std::shared_ptr<Table> make_table_with(const EmbeddingPlan& plan,
                                       const Attrs& attrs, bool has_momentum,
                                       const TableMemory& memory) {
  std::shared_ptr<Table> table;
  visit_step(attrs, has_momentum, [&]<class Step>(std::type_identity<Step>) {
    Slots<Step> slots{};
    std::copy_n(memory.slots.begin(), slots.size(), slots.begin());
    table = std::make_shared<TableOf<Step>>(plan, memory.notes, attrs,
                                            memory.parameter, slots);
  });
  return table;
}

}  // namespace traingraph::cpu
