// SPDX-License-Identifier: MIT
// Settings: what compile() read of parameters and of layers that are debugged.
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
  std::vector<std::pair<TensorParameter, bool>> parameters_;
  std::vector<std::pair<LayerPtr, bool>> layers_;
  std::vector<std::pair<LayerPtr, std::optional<DataType>>> types_;
};

}  // namespace traingraph
