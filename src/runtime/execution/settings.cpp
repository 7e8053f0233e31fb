// SPDX-License-Identifier: MIT
#include "runtime/execution/settings.h"

#include "traingraph/error.h"

namespace traingraph {
namespace {

std::string text(bool value) { return value ? "true" : "false"; }
std::string text(std::optional<DataType> type) {
  return type ? std::string(to_string(*type)) : "none";
}

template <class Value>
[[noreturn]] void refuse(const char* call, const std::string& node,
                         const char* setting, Value compiled, Value now,
                         const char* hint) {
  throw StateError(
      ErrorInfo{.op = call,
                .node = node,
                .what = std::string(setting) + " has changed since compile()",
                .expected = text(compiled),
                .got = text(now),
                .hint = hint});
}

}  // namespace

void Settings::start(const Declaration& declaration) {
  parameters_.clear();
  layers_.clear();
  if (!declaration.trains) return;
  const auto add = [&](const TensorParameter& parameter) {
    parameters_.emplace_back(parameter, parameter.is_updatable());
  };
  for (const auto& graph : declaration.graphs) {
    for (const LayerRecord& record : graph->records) {
      for (const TensorParameter& p : record.layer->parameters()) add(p);
      OfLayer& own = layers_.emplace_back();
      own.layer = record.layer;
      own.compute_type = record.layer->compute_type();
      own.uses_inference_form = record.layer->uses_inference_form();
      if (!declaration.debugs_layers) continue;
      own.is_debugged = record.layer->is_debugging_enabled;
    }
  }
  for (const TensorParameter& p : declaration.trained_inputs) add(p);
}

void Settings::check(const Call& call) {
  for (const OfLayer& compiled : layers_) {
    const Layer& now = *compiled.layer;
    const auto require = [&](const char* setting, auto before, auto after) {
      if (before == after) return;
      refuse(call.name, now.name(), setting, before, after,
             "Call compile() again.");
    };
    if (compiled.is_debugged) {
      require("is_debugging_enabled", *compiled.is_debugged,
              now.is_debugging_enabled);
    }
    require("compute_type", compiled.compute_type, now.compute_type());
    require("uses_inference_form", compiled.uses_inference_form,
            now.uses_inference_form());
  }
  if (!differentiates(call.entry_point) && !updates(call.entry_point)) return;
  for (const auto& [parameter, is_updatable] : parameters_) {
    if (parameter.is_updatable() == is_updatable) continue;
    refuse(
        call.name, parameter.tensor().name(), "is_updatable", is_updatable,
        !is_updatable,
        "Call compile() again; with synchronize_optimizer_data() of each "
        "parameter before, the optimizer's buffers go on. Those in shards do "
        "when the state is read before and loaded after it.");
  }
}

}  // namespace traingraph
