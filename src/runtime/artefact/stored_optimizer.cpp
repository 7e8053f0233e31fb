// SPDX-License-Identifier: MIT
#include "runtime/artefact/stored_optimizer.h"

#include <typeinfo>

#include "traingraph/error.h"

namespace traingraph {
namespace {

using namespace optimizers;

bool is_ours(const Optimizer& optimizer) {
  const auto& type = typeid(optimizer);
  return type == typeid(SGD) || type == typeid(Adam) || type == typeid(AdamW) ||
         type == typeid(RMSProp);
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

std::shared_ptr<Optimizer> make(const StoredOptimizer& stored) {
  const OptimizerDescriptor& d = stored.descriptor;
  if (const auto* sgd = std::get_if<SgdUpdateAttrs>(&stored.attributes)) {
    return std::make_shared<SGD>(d, sgd->momentum_scale,
                                 sgd->uses_nesterov_momentum);
  }
  if (const auto* a = std::get_if<AdamUpdateAttrs>(&stored.attributes)) {
    if (stored.name == "adamw") {
      return std::make_shared<AdamW>(d, a->beta1, a->beta2, a->epsilon,
                                     a->uses_amsgrad);
    }
    return std::make_shared<Adam>(d, a->beta1, a->beta2, a->epsilon,
                                  a->uses_amsgrad);
  }
  const auto& r = std::get<RmspropUpdateAttrs>(stored.attributes);
  return std::make_shared<RMSProp>(d, r.momentum_scale, r.alpha, r.epsilon,
                                   r.is_centered);
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

OptimizerPtr make_optimizer(const StoredOptimizer& stored) {
  OptimizerPtr optimizer = make(stored);
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
