// SPDX-License-Identifier: MIT
#include "runtime/execution/settings.h"

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

Settings::Settings(const Declaration& declaration) {
  if (!declaration.trains) return;
  const auto add = [&](const TensorParameter& parameter) {
    parameters_.emplace_back(parameter, parameter.is_updatable());
  };
  for (const auto& graph : declaration.graphs) {
    for (const LayerRecord& record : graph->records) {
      for (const TensorParameter& p : record.layer->parameters()) add(p);
      if (!declaration.debugs_layers) continue;
      layers_.emplace_back(record.layer, record.layer->is_debugging_enabled);
    }
  }
  for (const TensorParameter& p : declaration.trained_inputs) add(p);
}

void Settings::require(const Call& call) const {
  for (const auto& [layer, is_debugged] : layers_) {
    if (layer->is_debugging_enabled == is_debugged) continue;
    refuse(call.name, layer->label(), "is_debugging_enabled", is_debugged,
           "Call compile() again.");
  }
  if (!differentiates(call.segment) && !updates(call.segment)) return;
  for (const auto& [parameter, is_updatable] : parameters_) {
    if (parameter.is_updatable() == is_updatable) continue;
    refuse(call.name, parameter.tensor().label(), "is_updatable", is_updatable,
           "Call compile() again; with synchronize_optimizer_data() of each "
           "parameter before, the optimizer's buffers go on.");
  }
}

}  // namespace traingraph
