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

/// The user's own text in a checkpoint, by key.
using Metadata = std::map<std::string, std::string>;

/// A tensor of a graph's state: a parameter ("fc.weights"), a running statistic
/// ("bn.mean") or an optimizer's buffer ("fc.weights.momentum").
struct StateTensor {
  std::string name;
  TensorDescriptor descriptor;
};

/// Says how what was given fits the graph; in full when the lists are empty.
struct RestoreReport {
  /// These tensors of the graph were not given.
  std::vector<std::string> missing;
  /// These were given, and the graph has no such tensors.
  std::vector<std::string> unexpected;
  /// These are of both and differ; each entry says how: "fc.weights: float32
  /// (10, 64) in the file, float32 (10, 128) in the graph".
  std::vector<std::string> mismatched;
  /// The metadata is the user's own in the file.
  Metadata metadata;

  bool fits() const {
    return missing.empty() && unexpected.empty() && mismatched.empty();
  }
};

/// Reads the user's metadata from a checkpoint or any safetensors file. Throws
/// FileError.
TRAINGRAPH_API Metadata read_metadata(const std::filesystem::path& path);

}  // namespace traingraph
