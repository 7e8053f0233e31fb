// SPDX-License-Identifier: MIT
// The recurrent ops of Graph as nodes: MPSGraph's inputs, layouts and results
// over the ops of one direction whose source is multiplied by its weights
// already. That product is one for all steps and both directions, and so is
// each gradient of its operands.
#pragma once

#include <vector>

#include "layers/layer_builder.h"
#include "traingraph/layer.h"
#include "traingraph/op_attrs.h"

namespace traingraph {

enum class RnnInput {
  Source,
  RecurrentWeight,
  InputWeight,
  Bias,
  InitState,
  InitCell,
  Mask,
  Peephole,
  SecondaryBias,
  SourceGradient,
  ZState,
  OutputFwd,
  CellOutputFwd,
  StateGradient,
  CellGradient
};

/// What a descriptor says.
struct RnnOp {
  const char* name;  // "gru"
  OpKind kind;       // of one direction
  Attributes attrs;
  bool is_reverse = false, is_bidirectional = false, is_training = false;
  bool produces_cell = false;
  bool is_gradient = false;
};

class RnnOpLayer : public Layer {
 public:
  explicit RnnOpLayer(RnnOp op);
  /// An empty tensor is an absent input; InvalidArgument when it is required.
  void add(RnnInput input, const Tensor& tensor, bool is_required = false);
  const std::vector<Tensor>& sources() const { return sources_; }

  const RnnOp& op() const { return op_; }
  const std::vector<RnnInput>& inputs() const { return inputs_; }
  void lower(LayerBuilder& builder) const override;

 private:
  RnnOp op_;
  std::vector<RnnInput> inputs_;
  std::vector<Tensor> sources_;
};

}  // namespace traingraph
