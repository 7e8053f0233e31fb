// SPDX-License-Identifier: MIT
// Settings of layers and parameters that compile() reads: a change afterwards
// is refused, not ignored.
#include "runtime/session.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

[[noreturn]] void refuse(const char* call, const std::string& node,
                         const char* setting, bool compiled, const char* hint) {
  const auto text = [](bool value) { return value ? "true" : "false"; };
  throw StateError(
      ErrorInfo{.op = call,
                .node = node,
                .what = std::string(setting) + " has changed since compile()",
                .expected = text(compiled),
                .got = text(!compiled),
                .hint = hint});
}

}  // namespace

void Session::collect_settings() {
  settings_ = {};
  if (!declaration_.trains) return;
  const auto add = [&](const TensorParameter& parameter) {
    settings_.parameters.emplace_back(parameter, parameter.is_updatable());
  };
  for (const auto& graph : declaration_.graphs) {
    for (const LayerRecord& record : graph->records) {
      for (const TensorParameter& p : record.layer->parameters()) add(p);
      settings_.layers.emplace_back(record.layer,
                                    record.layer->is_debugging_enabled);
    }
  }
  for (const TensorParameter& p : declaration_.trained_inputs) add(p);
  if (!declaration_.debugs_layers) settings_.layers.clear();
}

void Session::require_settings(const Call& call) const {
  for (const auto& [layer, is_debugged] : settings_.layers) {
    if (layer->is_debugging_enabled == is_debugged) continue;
    refuse(call.name, layer->label(), "is_debugging_enabled", is_debugged,
           "Call compile() again.");
  }
  const bool is_forward = call.segment != Segment::Step &&
                          call.segment != Segment::Gradient &&
                          call.segment != Segment::Update;
  if (is_forward) return;
  for (const auto& [parameter, is_updatable] : settings_.parameters) {
    if (parameter.is_updatable() == is_updatable) continue;
    refuse(call.name, parameter.tensor().label(), "is_updatable", is_updatable,
           "Call compile() again; with synchronize_optimizer_data() of each "
           "parameter before, the optimizer's buffers go on.");
  }
}

}  // namespace traingraph
