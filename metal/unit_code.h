// SPDX-License-Identifier: MIT
// What compile_unit() makes: an executable with the order of its arguments.
#pragma once

#include <string>
#include <vector>

#include "compiler/target.h"
#import "metal/apple.h"
#include "metal/kernels/dropout.h"
#import "metal/objc_ptr.h"

namespace traingraph::metal {

struct MetalUnitCode : UnitCode {
  /// One input or result of the executable, in the executable's own order.
  struct Tensor {
    int arg = 0;  // of the unit
    std::size_t bytes = 0;
    ObjcPtr<NSArray<NSNumber*>*> shape;
    MPSDataType type = MPSDataTypeFloat32;
  };
  struct MaskKernel {
    int state_arg = 0, mask_arg = 0;
    DropoutParams params;
  };
  struct WriteBack {
    int from_arg = 0, to_arg = 0;
    std::size_t bytes = 0;
  };

  std::string label;
  // MPSGraph does not say that an executable keeps its graph alive.
  ObjcPtr<MPSGraph*> graph;
  ObjcPtr<MPSGraphExecutable*> executable;
  bool updates_variables = false;
  std::vector<Tensor> inputs, results;
  std::vector<MaskKernel> masks;       // run before
  std::vector<WriteBack> write_backs;  // copied after
};

}  // namespace traingraph::metal
