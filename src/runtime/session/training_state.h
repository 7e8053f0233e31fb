// SPDX-License-Identifier: MIT
// What the next step of a training graph depends on besides tensors; in a file,
// the JSON text of metadata["traingraph"].
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "traingraph/checkpoint.h"

namespace traingraph {

struct Session;

/// The key of the library's own metadata.
inline constexpr const char* kOwnMetadata = "traingraph";
/// Files are written in this format; readers refuse later ones.
inline constexpr std::uint64_t kCheckpointFormat = 1;

/// A new field is a line here, in visit_fields() of training_state.cpp, and
/// where it is taken from the graph and given back.
struct OptimizerState {
  std::string name;
  std::uint64_t time_step = 1;
  float learning_rate = 0;
  bool applies_gradient_clipping = false;
  std::vector<std::string> slots;
  /// Lists what is fixed when an optimizer is made, as text: {"beta1", "0.9"}.
  std::map<std::string, std::string> settings;
};

struct TrainingState {
  std::uint64_t format = kCheckpointFormat;
  std::string library_version;
  /// The rest is of training graphs.
  bool trains = false;
  std::uint64_t seed = 0;
  std::uint64_t random_step = 0;
  std::optional<OptimizerState> optimizer;
  /// Files of export_graph() have a graph, and tensors that are no state, by
  /// these names.
  bool has_graph = false;
  std::vector<std::string> constants;
};

/// JSON. Returns what is wrong with the text; empty: nothing.
std::string parse_training_state(const std::string& text, TrainingState& state);
std::string print_training_state(const TrainingState& state);
/// What is fixed of the optimizer, line by line: its name, then "beta1=0.9".
std::string settings_of(const TrainingState& state);

/// The graph is locked and idle.
TrainingState training_state_of(const Session& session);
/// Adds to `report.missing` and `report.mismatched` what `state` has otherwise
/// than the graph.
void compare_training_state(const Session& session,
                            const std::optional<TrainingState>& state,
                            RestoreReport& report);
/// Takes all that fits. Nothing fails.
void apply_training_state(Session& session, const TrainingState& state);
/// Restores the state of a file, whose seed later compiles keep.
void restore_training_state(Session& session, const TrainingState& state);

}  // namespace traingraph
