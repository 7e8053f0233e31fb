// SPDX-License-Identifier: MIT
// PendingMarks: what a submission has yet to tell the host. Plain C++.
#pragma once

#include <algorithm>
#include <cstddef>
#include <exception>
#include <span>

#include "runtime/device/device_context.h"

namespace traingraph::metal {

class PendingMarks {
 public:
  explicit PendingMarks(Submission& submission)
      : submission_(submission),
        marks_(submission.work ? submission.work->marks()
                               : std::span<const Mark>()) {}

  bool empty() const { return next_ == marks_.size(); }
  /// Are some left of before `unit`?
  bool has_before(int unit) const { return next_ < num_before(unit); }
  /// Must marks be reached before `unit` is encoded? The others only read: they
  /// are reached when the next unit is on its way, so that the GPU has work
  /// meanwhile.
  bool are_due(int unit) const {
    return !std::ranges::all_of(
        at(unit), [](const Mark& mark) { return mark.reads && !mark.writes; });
  }
  /// Does one want what the units before `unit` write?
  bool read(int unit) const {
    return std::ranges::any_of(at(unit), &Mark::reads);
  }

  /// Reaches all before `unit`. Returns null, or what one threw: then none is
  /// left.
  std::exception_ptr reach_before(int unit) { return reach(num_before(unit)); }
  std::exception_ptr reach_all() { return reach(marks_.size()); }

 private:
  std::size_t num_before(int unit) const {
    const auto end = std::ranges::lower_bound(marks_, unit, {}, &Mark::before);
    return static_cast<std::size_t>(end - marks_.begin());
  }

  std::span<const Mark> at(int unit) const {
    return marks_.subspan(next_, num_before(unit + 1) - next_);
  }

  std::exception_ptr reach(std::size_t end);

  Submission& submission_;
  const std::span<const Mark> marks_;
  std::size_t next_ = 0;
};

}  // namespace traingraph::metal
