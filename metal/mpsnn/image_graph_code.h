// SPDX-License-Identifier: MIT
// ImageGraphCode: filters that MPSNN runs as one MPSNNGraph. Tensors become
// images and images tensors only at its border.
#pragma once

#include "metal/mpsnn/image_graph_plan.h"
#import "metal/unit_code.h"

namespace traingraph::metal {

class ImageGraphCode final : public EngineCode {
 public:
  /// What trains the parameters of a filter, run by its gradient filter.
  struct Update {
    int filter = -1;
    std::unique_ptr<EngineCode> code;
    std::vector<MetalUnitCode::WriteBack> write_backs;
  };

  ImageGraphCode(const GpuDevice& gpu, ImageGraphPlan what)
      : device(gpu), plan(std::move(what)) {}
  std::unique_ptr<BoundCode> bind(const UnitMemory& memory) const override;

  const GpuDevice& device;
  const ImageGraphPlan plan;
  std::vector<Update> updates;
};

}  // namespace traingraph::metal
