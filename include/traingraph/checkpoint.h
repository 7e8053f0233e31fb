// SPDX-License-Identifier: MIT
// What CompiledGraph::save(), restore(), read_state_dict() and
// load_state_dict() take and return. docs/checkpoints.md describes the file.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "traingraph/error.h"
#include "traingraph/types.h"

namespace traingraph {

/// A file cannot be read or written, or is not what it should be.
class TRAINGRAPH_API FileError : public Error {
 public:
  using Error::Error;
};

/// Text of the user's own in a checkpoint, by key.
using Metadata = std::map<std::string, std::string>;

/// A tensor of a graph's state: a parameter ("fc.weights"), a running statistic
/// ("bn.mean") or an optimizer's buffer ("fc.weights.momentum").
struct StateTensor {
  std::string name;
  TensorDescriptor descriptor;
};

/// How what was given fits the graph. Empty lists: in full.
struct RestoreReport {
  /// Of the graph, and not given.
  std::vector<std::string> missing;
  /// Given, and not of the graph.
  std::vector<std::string> unexpected;
  /// Of both, and different; each entry says how:
  /// "fc.weights: float32 (10, 64) in the file, float32 (10, 128) in the
  /// graph".
  std::vector<std::string> mismatched;
  /// The user's own, of a file.
  Metadata metadata;

  bool fits() const {
    return missing.empty() && unexpected.empty() && mismatched.empty();
  }
};

/// The user's metadata of a checkpoint, or of any safetensors file. Throws
/// FileError.
TRAINGRAPH_API Metadata read_metadata(const std::filesystem::path& path);

}  // namespace traingraph
