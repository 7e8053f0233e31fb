// SPDX-License-Identifier: MIT
#include "runtime/session/training_state.h"

#include <cmath>
#include <stdexcept>

#include "base/format.h"
#include "base/json_fields.h"
#include "compiler/parameter_rules.h"
#include "graph/attributes.h"
#include "layers/time_steps.h"
#include "runtime/session/session.h"
#include "traingraph/version.h"

namespace traingraph {

template <class V>
void visit_fields(V& visit, IsA<OptimizerState> auto& x) {
  visit("name", x.name);
  visit("time_step", x.time_step);
  visit("learning_rate", x.learning_rate);
  visit("applies_gradient_clipping", x.applies_gradient_clipping);
  visit("slots", x.slots);
  visit("settings", x.settings);
}

namespace {

template <class V>
void visit_training(V& visit, IsA<TrainingState> auto& x) {
  visit("seed", x.seed);
  visit("random_step", x.random_step);
}

void require_ranges(const OptimizerState& state) {
  if (state.time_step < 1 || state.time_step > kMaxTimeSteps) {
    throw std::runtime_error("time_step is out of range");
  }
  if (!std::isfinite(state.learning_rate) || state.learning_rate < 0) {
    throw std::runtime_error("learning_rate is out of range");
  }
}

/// Throws what is wrong.
void read_state(const Json& object, TrainingState& state) {
  JsonReader reader(object);
  reader("format", state.format);
  if (state.format > kCheckpointFormat) {
    throw std::runtime_error("it has format " + std::to_string(state.format) +
                             ", and this version of the library reads up to " +
                             std::to_string(kCheckpointFormat));
  }
  reader("library_version", state.library_version);
  state.has_graph = object.contains("graph");
  if (state.has_graph) {
    JsonReader(object.at("graph")).later("constants", state.constants);
  }
  state.trains = object.contains("training");
  if (!state.trains) return;
  const Json& training = object.at("training");
  JsonReader training_reader(training);
  visit_training(training_reader, state);
  if (!training.contains("optimizer")) return;
  read(training.at("optimizer"), state.optimizer.emplace());
  require_ranges(*state.optimizer);
}

std::map<std::string, std::string> settings_of(const Optimizer& optimizer) {
  std::map<std::string, std::string> settings;
  for_each_field(optimizer.attributes(),
                 [&](const char* name, const auto& value) {
                   settings[name] = format_value(value);
                 });
  const OptimizerDescriptor d = optimizer.descriptor();
  settings["gradient_clipping_type"] = format_value(d.gradient_clipping_type);
  settings["maximum_clipping_norm"] = format_value(d.maximum_clipping_norm);
  settings["custom_global_norm"] = format_value(d.custom_global_norm);
  settings.erase("lr_scale");  // of groups
  const auto schedule = optimizer.schedule();
  if (schedule) settings["schedule"] = schedule->to_string();
  return settings;
}

OptimizerState state_of(const Optimizer& optimizer, const MergedGraph& graph) {
  OptimizerState state;
  state.name = optimizer.name();
  state.time_step = optimizer.time_step();
  state.learning_rate = optimizer.learning_rate();
  state.applies_gradient_clipping = optimizer.applies_gradient_clipping();
  for (std::string_view slot : optimizer.slots())
    state.slots.emplace_back(slot);
  state.settings = settings_of(optimizer);
  const std::string groups = describe_rules(graph);
  if (!groups.empty()) state.settings["parameter_groups"] = groups;
  return state;
}

std::string difference(const std::string& name, const std::string& stored,
                       const std::string& own) {
  return "optimizer." + name + ": " + stored + " in the file, " + own +
         " in the graph";
}

void compare(const OptimizerState& stored, const OptimizerState& own,
             RestoreReport& report) {
  if (stored.name != own.name) {
    report.mismatched.push_back(difference("name", stored.name, own.name));
    return;
  }
  const auto value_in = [](const OptimizerState& state, const auto& name) {
    const auto it = state.settings.find(name);
    return it == state.settings.end() ? "none" : it->second;
  };
  auto names = own.settings;
  for (const char* name : {"parameter_groups", "schedule"}) {
    if (stored.settings.contains(name)) names[name];
  }
  for (const auto& [name, unused] : names) {
    const std::string before = value_in(stored, name);
    const std::string now = value_in(own, name);
    if (before == now) continue;
    report.mismatched.push_back(difference(name, before, now));
  }
}

}  // namespace

std::string parse_training_state(const std::string& text,
                                 TrainingState& state) {
  try {
    read_state(parse_json(text), state);
    return {};
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    return error.what();
  }
}

std::string print_training_state(const TrainingState& state) {
  Json object;
  object["format"] = state.format;
  object["library_version"] = state.library_version;
  if (state.trains) {
    JsonWriter writer(object["training"]);
    visit_training(writer, state);
    if (state.optimizer) writer("optimizer", *state.optimizer);
  }
  return object.dump();
}

std::string settings_of(const TrainingState& state) {
  if (!state.optimizer) return "none\n";
  std::string text = state.optimizer->name + '\n';
  for (const auto& [name, value] : state.optimizer->settings) {
    text += name + '=' + value + '\n';
  }
  return text;
}

TrainingState training_state_of(const Session& session) {
  TrainingState state;
  state.library_version = TRAINGRAPH_VERSION;
  state.trains = session.plan_cache->graph().trains;
  if (!state.trains) return state;
  state.seed = session.executor.random_state().seed();
  state.random_step = session.executor.random_state().step();
  const OptimizerPtr& optimizer = session.objects.optimizer;
  if (optimizer) {
    state.optimizer = state_of(*optimizer, session.plan_cache->graph());
  }
  return state;
}

void compare_training_state(const Session& session,
                            const std::optional<TrainingState>& state,
                            RestoreReport& report) {
  const OptimizerPtr& optimizer = session.objects.optimizer;
  if (!session.plan_cache->graph().trains) return;
  if (!state || !state->trains) {
    report.missing.emplace_back("the steps of a training graph");
    return;
  }
  if (!optimizer) return;
  if (!state->optimizer) {
    report.missing.emplace_back("the state of an optimizer");
    return;
  }
  compare(*state->optimizer, state_of(*optimizer, session.plan_cache->graph()),
          report);
}

void apply_training_state(Session& session, const TrainingState& state) {
  if (!session.plan_cache->graph().trains || !state.trains) return;
  session.executor.random_state().set_seed(state.seed);
  session.executor.random_state().set_step(state.random_step);
  const OptimizerPtr& optimizer = session.objects.optimizer;
  const bool is_same = optimizer && state.optimizer &&
                       state.optimizer->name == optimizer->name();
  if (!is_same) return;
  optimizer->set_time_step(state.optimizer->time_step);
  if (!optimizer->schedule()) {
    optimizer->set_learning_rate(state.optimizer->learning_rate);
  }
  optimizer->set_applies_gradient_clipping(
      state.optimizer->applies_gradient_clipping);
}

void restore_training_state(Session& session, const TrainingState& state) {
  if (session.plan_cache->graph().trains && state.trains) {
    session.restored_seed = state.seed;
  }
  apply_training_state(session, state);
}

}  // namespace traingraph
