// SPDX-License-Identifier: MIT
// Settings: what compile() read of parameters and of layers.
// A change afterwards is refused, not ignored.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "compiler/declaration.h"
#include "runtime/execution/participant.h"

namespace traingraph {

class Settings final : public Participant {
 public:
  /// After compile.
  void start(const Declaration& declaration);
  /// Throws StateError when one has changed that concerns the call.
  void check(const Call& call) override;

 private:
  struct OfLayer {
    LayerPtr layer;
    std::optional<DataType> compute_type;
    bool uses_inference_form;
    std::optional<bool> is_debugged;  // where that is of effect
  };

  std::vector<std::pair<TensorParameter, bool>> parameters_;
  std::vector<OfLayer> layers_;
};

}  // namespace traingraph
