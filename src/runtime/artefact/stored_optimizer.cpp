// SPDX-License-Identifier: MIT
#include "runtime/artefact/stored_optimizer.h"

#include <algorithm>
#include <stdexcept>
#include <typeinfo>

#include "traingraph/error.h"

namespace traingraph {
namespace {

bool is_ours(const Optimizer& optimizer) {
  return std::ranges::any_of(optimizer_kinds(), [&](const auto& kind) {
    return kind.type == typeid(optimizer);
  });
}

Schedule piece(const Schedule::Piece& p) {
  switch (p.type) {
    case ScheduleType::Constant:
      return Schedule::constant(p.from);
    case ScheduleType::Linear:
      return Schedule::linear(p.from, p.to, p.steps);
    case ScheduleType::Cosine:
      return Schedule::cosine(p.from, p.steps, p.to);
    case ScheduleType::Exponential:
      return Schedule::exponential(p.from, p.to, p.steps, p.is_staircase);
  }
  return Schedule::constant(p.from);
}

std::optional<Schedule> make_schedule(
    const std::vector<Schedule::Piece>& pieces) {
  if (pieces.empty()) return std::nullopt;
  std::vector<Schedule> schedules;
  std::vector<std::uint64_t> boundaries;
  for (const Schedule::Piece& each : pieces) {
    schedules.push_back(piece(each));
    if (schedules.size() > 1) boundaries.push_back(each.begin);
  }
  Schedule schedule = Schedule::join(schedules, boundaries);
  if (schedule.pieces() == pieces) return schedule;
  throw InvalidArgument(ErrorInfo{.op = "Schedule",
                                  .what = "no schedule has these pieces",
                                  .expected = schedule.to_string()});
}

}  // namespace

StoredOptimizer store_optimizer(const Optimizer& optimizer) {
  if (!is_ours(optimizer)) {
    throw UnsupportedError(
        ErrorInfo{.op = "export_graph",
                  .node = std::string(optimizer.name()),
                  .what = "another process does not have this optimizer",
                  .expected = "one of the library's own"});
  }
  StoredOptimizer stored{.name = std::string(optimizer.name()),
                         .descriptor = optimizer.descriptor(),
                         .attributes = optimizer.attributes()};
  if (const auto schedule = optimizer.schedule()) {
    stored.schedule = schedule->pieces();
  }
  return stored;
}

const OptimizerKind& find_kind(const std::string& name) {
  const auto found =
      std::ranges::find(optimizer_kinds(), name, &OptimizerKind::name);
  if (found != optimizer_kinds().end()) return *found;
  throw std::runtime_error("there is no optimizer \"" + name + "\"");
}

OptimizerPtr make_optimizer(const StoredOptimizer& stored) {
  OptimizerPtr optimizer =
      find_kind(stored.name).make(stored.descriptor, stored.attributes);
  if (optimizer->attributes() != stored.attributes) {
    throw InvalidArgument(
        ErrorInfo{.op = stored.name,
                  .what = "the optimizer's attributes are not those of its "
                          "settings"});
  }
  optimizer->set_schedule(make_schedule(stored.schedule));
  return optimizer;
}

}  // namespace traingraph
