// SPDX-License-Identifier: MIT
// Cases of options: what they change, or how they are refused. The test itself
// is in options_test.cpp.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "layers/graph_state.h"

namespace traingraph::testing {

struct OptionCase {
  std::string name;
  std::function<std::string()> with, without;
  /// Words of the refusal; empty: the option has an effect.
  std::string refused;
};

class Options : public ::testing::TestWithParam<OptionCase> {};

inline std::string lowered(const LayerPtr& layer, Shape shape,
                           int num_sources = 1) {
  Graph graph;
  std::vector<Tensor> sources;
  for (int i = 0; i < num_sources; ++i) {
    sources.emplace_back(TensorDescriptor{.shape = shape}, "x");
  }
  graph.node(layer, sources);
  return graph.state()->program.to_string();
}

inline void PrintTo(const OptionCase& c, std::ostream* out) { *out << c.name; }

}  // namespace traingraph::testing
