// SPDX-License-Identifier: MIT
#include "traingraph/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "layers/validate.h"

namespace traingraph {
namespace {

constexpr const char* kSchedule = "Schedule";

void require_steps(std::uint64_t steps) {
  require_option(steps >= 1, kSchedule, "steps", "at least 1", "0");
}

/// How much of the steps is over, 0 to 1.
double part_of(const Schedule::Piece& piece, std::uint64_t n) {
  return static_cast<double>(std::min(n, piece.steps)) /
         static_cast<double>(piece.steps);
}

double power_of(const Schedule::Piece& piece, std::uint64_t n) {
  const double steps =
      static_cast<double>(n) / static_cast<double>(piece.steps);
  return piece.is_staircase ? std::floor(steps) : steps;
}

/// `n`: updates since the piece began.
double rate_of(const Schedule::Piece& piece, std::uint64_t n) {
  const double from = piece.from, to = piece.to;
  switch (piece.type) {
    case ScheduleType::Constant:
      return from;
    case ScheduleType::Linear:
      return from + (to - from) * part_of(piece, n);
    case ScheduleType::Cosine:
      return to + (from - to) *
                      (1 + std::cos(std::numbers::pi * part_of(piece, n))) / 2;
    case ScheduleType::Exponential:
      return from * std::pow(to, power_of(piece, n));
  }
  return from;
}

std::string describe(const Schedule::Piece& piece) {
  const std::string from = format_value(piece.from);
  const std::string to = format_value(piece.to);
  const std::string steps = std::to_string(piece.steps);
  switch (piece.type) {
    case ScheduleType::Constant:
      return "constant(" + from + ')';
    case ScheduleType::Linear:
      return "linear(" + from + ", " + to + ", " + steps + ')';
    case ScheduleType::Cosine:
      return "cosine(" + from + ", " + steps + ", " + to + ')';
    case ScheduleType::Exponential:
      return "exponential(" + from + ", " + to + ", " + steps +
             (piece.is_staircase ? ", staircase)" : ")");
  }
  return "?";
}

}  // namespace

Schedule Schedule::constant(float rate) {
  require_not_negative(kSchedule, "rate", rate);
  return Schedule({{.type = ScheduleType::Constant, .from = rate}});
}

Schedule Schedule::linear(float start, float end, std::uint64_t steps) {
  require_not_negative(kSchedule, "start", start);
  require_not_negative(kSchedule, "end", end);
  require_steps(steps);
  return Schedule({{.type = ScheduleType::Linear,
                    .steps = steps,
                    .from = start,
                    .to = end}});
}

Schedule Schedule::cosine(float start, std::uint64_t steps, float end) {
  require_not_negative(kSchedule, "start", start);
  require_not_negative(kSchedule, "end", end);
  require_steps(steps);
  return Schedule({{.type = ScheduleType::Cosine,
                    .steps = steps,
                    .from = start,
                    .to = end}});
}

Schedule Schedule::exponential(float start, float factor, std::uint64_t steps,
                               bool staircase) {
  require_not_negative(kSchedule, "start", start);
  require_finite(kSchedule, "factor", factor);
  require_option(factor > 0 && factor <= 1, kSchedule, "factor",
                 "above 0, at most 1", format_value(factor),
                 "Rates that grow are linear.");
  require_steps(steps);
  return Schedule({{.type = ScheduleType::Exponential,
                    .steps = steps,
                    .from = start,
                    .to = factor,
                    .is_staircase = staircase}});
}

Schedule Schedule::warm_up(const Schedule& then, std::uint64_t steps,
                           float start) {
  return join({linear(start, then.rate(0), steps), then}, {steps});
}

Schedule Schedule::join(const std::vector<Schedule>& schedules,
                        const std::vector<std::uint64_t>& boundaries) {
  require_option(!schedules.empty(), kSchedule, "schedules", "at least one",
                 "none");
  require_option(
      boundaries.size() + 1 == schedules.size(), kSchedule, "boundaries",
      std::to_string(schedules.size() - 1) + ", one between two schedules each",
      std::to_string(boundaries.size()));
  std::vector<Piece> pieces;
  std::uint64_t begin = 0;
  for (std::size_t i = 0; i < schedules.size(); ++i) {
    const bool is_last = i == boundaries.size();
    if (!is_last) {
      require_option(boundaries[i] > begin, kSchedule, "boundaries",
                     "increasing, and above 0", std::to_string(boundaries[i]));
    }
    const std::uint64_t end = is_last ? UINT64_MAX : boundaries[i];
    for (Piece piece : schedules[i].pieces_) {
      if (piece.begin >= end - begin) break;
      piece.begin += begin;
      pieces.push_back(piece);
    }
    begin = end;
  }
  return Schedule(std::move(pieces));
}

float Schedule::rate(std::uint64_t updates) const {
  const auto next =
      std::ranges::upper_bound(pieces_, updates, {}, &Piece::begin);
  const Piece& piece = *std::prev(next);
  return static_cast<float>(rate_of(piece, updates - piece.begin));
}

std::string Schedule::to_string() const {
  std::string text;
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    text += describe(pieces_[i]);
    if (i + 1 == pieces_.size()) break;
    text += " to " + std::to_string(pieces_[i + 1].begin) + ", ";
  }
  return text;
}

}  // namespace traingraph
