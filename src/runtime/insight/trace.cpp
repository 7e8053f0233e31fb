// SPDX-License-Identifier: MIT
// The format: "Trace Event Format", Google.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "compiler/row_costs.h"
#include "runtime/insight/printable.h"
#include "traingraph/insight_text.h"

namespace traingraph {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kMicroseconds = 1e6;

Json name_event(const char* kind, std::size_t track, std::string_view name) {
  return {{"ph", "M"},
          {"name", kind},
          {"pid", 0},
          {"tid", track},
          {"args", {{"name", printable(name)}}}};
}

std::string name_of(const UnitSpan& unit, const std::vector<Json>& layers) {
  std::string name = printable(unit.name);
  if (layers.size() > 3) {
    name = layers.front().get<std::string>() + " ... " +
           layers.back().get<std::string>();
  }
  return unit.is_reorder ? name + " (reorder)" : name;
}

Json unit_event(const UnitSpan& unit, const Profile& profile) {
  std::vector<Json> layers;
  for (int row : unit.rows) {
    layers.emplace_back(printable(profile.rows[row].layer));
  }
  const double share = unit.cost.share();
  return {{"ph", "X"},
          {"name", name_of(unit, layers)},
          {"cat", unit.phase},
          {"ts", unit.start * kMicroseconds},
          {"dur", unit.cost.seconds * kMicroseconds},
          {"pid", 0},
          {"tid", phase_index(unit.phase)},
          {"args",
           {{"layers", layers},
            {"ops", unit.ops},
            {"flops", unit.cost.flops},
            {"bytes", unit.cost.bytes},
            {"share", std::isfinite(share) ? Json(share) : Json()},
            {"layout", unit.layout}}}};
}

/// Transfers beside the units; what the device does for them in a track of its
/// own, between units.
Json exchange_event(const ExchangeSpan& span) {
  const bool is_transfer = span.kind == "transfer";
  return {{"ph", "X"},
          {"name", printable(std::string(span.kind) + ' ' + span.name)},
          {"cat", "exchange"},
          {"ts", span.start * kMicroseconds},
          {"dur", span.seconds * kMicroseconds},
          {"pid", 0},
          {"tid", kPhaseNames.size() + (is_transfer ? 1 : 0)},
          {"args", {{"bytes", span.bytes}}}};
}

}  // namespace

std::string trace_json(const Profile& profile) {
  Json events = Json::array();
  events.push_back(name_event("process_name", 0, profile.device));
  for (std::size_t track = 0; track < kPhaseNames.size(); ++track) {
    events.push_back(name_event("thread_name", track, kPhaseNames[track]));
  }
  for (const UnitSpan& unit : profile.units) {
    events.push_back(unit_event(unit, profile));
  }
  if (!profile.exchange.empty()) {
    events.push_back(name_event("thread_name", kPhaseNames.size(), "exchange"));
    events.push_back(
        name_event("thread_name", kPhaseNames.size() + 1, "transfers"));
  }
  for (const ExchangeSpan& span : profile.exchange) {
    events.push_back(exchange_event(span));
  }
  return Json{{"traceEvents", events}, {"displayTimeUnit", "ms"}}.dump();
}

}  // namespace traingraph
