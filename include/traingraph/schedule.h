// SPDX-License-Identifier: MIT
// Schedule: the learning rate as a function of the number of updates so far.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "traingraph/export.h"

namespace traingraph {

enum class ScheduleType : std::uint8_t {
  Constant,
  Linear,
  Cosine,
  Exponential
};

/// A value without state of its own: the rate follows from n, the number of
/// updates that came before, so that a run which is resumed goes on as it would
/// have. Each throws InvalidArgument for rates below 0 or not finite, and for
/// no steps.
class TRAINGRAPH_API Schedule {
 public:
  static Schedule constant(float rate);
  /// start + (end - start) n / steps, from n = steps on `end`.
  static Schedule linear(float start, float end, std::uint64_t steps);
  /// end + (start - end) (1 + cos(pi n / steps)) / 2, from n = steps on `end`.
  static Schedule cosine(float start, std::uint64_t steps, float end = 0);
  /// start * factor^(n / steps); a staircase has whole powers only.
  static Schedule exponential(float start, float factor,
                              std::uint64_t steps = 1, bool staircase = false);
  /// Linear from `start` to the first rate of `then` in `steps` updates, and
  /// then that one from its beginning.
  static Schedule warm_up(const Schedule& then, std::uint64_t steps,
                          float start = 0);
  /// The next one from its beginning whenever as many updates as a boundary
  /// says came before. Boundaries increase, one less than schedules.
  static Schedule join(const std::vector<Schedule>& schedules,
                       const std::vector<std::uint64_t>& boundaries);

  float rate(std::uint64_t updates) const;
  /// "linear(0, 0.001, 100) to 100, cosine(0.001, 900, 0)"
  std::string to_string() const;

  struct Piece {
    ScheduleType type = ScheduleType::Constant;
    /// The update that it begins at.
    std::uint64_t begin = 0;
    std::uint64_t steps = 1;
    /// Exponential: `to` is the factor.
    float from = 0, to = 0;
    bool is_staircase = false;
    bool operator==(const Piece&) const = default;
  };
  /// The first begins at 0, each holds until the next.
  const std::vector<Piece>& pieces() const { return pieces_; }
  bool operator==(const Schedule&) const = default;

 private:
  explicit Schedule(std::vector<Piece> pieces) : pieces_(std::move(pieces)) {}
  std::vector<Piece> pieces_;
};

}  // namespace traingraph
