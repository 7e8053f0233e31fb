// SPDX-License-Identifier: MIT
// What compile() found to be one layer (docs/recognition.md); nothing with
// CompileOptions::disable_layer_fusion or debug_layers.
#pragma once

#include <string>
#include <vector>

namespace traingraph {

/// What was written in several ops and became one, or one that is cheaper.
struct Rewrite {
  std::string what;             // "layer normalization"
  std::string node;             // that it stands for now: the last of them
  std::vector<std::string> of;  // names of the nodes that are gone
  /// Why it stayed as it is, though it nearly is a `what`; empty: it became
  /// one.
  std::string hint;
};

}  // namespace traingraph
