// SPDX-License-Identifier: MIT
// GraphCode: an MPSGraph executable with the order of its arguments.
#pragma once

#import "metal/unit_code.h"

namespace traingraph::metal {

class GraphCode final : public EngineCode {
 public:
  /// One input or result of the executable, in the executable's own order.
  struct Tensor {
    int arg = 0;  // of the unit
    std::size_t bytes = 0;
    ObjcPtr<NSArray<NSNumber*>*> shape;
    MPSDataType type = MPSDataTypeInvalid;
  };

  std::unique_ptr<BoundCode> bind(const UnitMemory& memory) const override;

  // MPSGraph does not say that an executable keeps its graph alive.
  ObjcPtr<MPSGraph*> graph;
  ObjcPtr<MPSGraphExecutable*> executable;
  std::vector<Tensor> inputs, results;
};

}  // namespace traingraph::metal
