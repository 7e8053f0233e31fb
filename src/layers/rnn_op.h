// SPDX-License-Identifier: MIT
// The recurrent ops of Graph as nodes: MPSGraph's inputs, layouts and results
// over the ops of one direction whose source is multiplied by its weights
// already. That product is one for all steps and both directions, and so is
// each gradient of its operands.
#pragma once

#include <array>
#include <string>
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
inline constexpr int kNumRnnInputs = 15;

/// What a descriptor says.
struct RnnOp {
  const char* name;  // "gru"
  OpKind kind;       // of one direction
  Attributes attrs;
  std::int64_t num_gates;
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

/// What the lowerings forward and backward share.
class RnnOpLowering {
 public:
  RnnOpLowering(LayerBuilder& builder, const RnnOpLayer& layer);

 protected:
  bool has(RnnInput input) const { return input_of(input) != kNoValue; }
  ValueId input_of(RnnInput input) const {
    return inputs_[static_cast<std::size_t>(input)];
  }
  /// The part of an input that a direction has; kNoValue: it is absent.
  ValueId mask_of(int direction);
  ValueId part_of(RnnInput input, int direction);
  /// One of two equal parts of an axis; the whole with one direction.
  ValueId part_of(ValueId value, int axis, int direction);
  ValueId recurrent_weight(int direction);
  Attributes attributes(int direction) const;

  ValueId join(const std::vector<ValueId>& parts, std::int64_t axis);
  ValueId reshape(ValueId value, const Shape& shape);
  ValueId matmul(ValueId x, bool transposes_x, ValueId y, bool transposes_y,
                 ValueId bias = kNoValue);

  LayerBuilder& b_;
  const RnnOp& op_;
  std::int64_t steps_ = 0, samples_ = 0, hidden_ = 0, directions_ = 1;
  Shape peephole_shape_;  // as it was given

 private:
  void find_sizes();
  void check_shapes();
  void fit(RnnInput input, const Shape& shape);
  void require(RnnInput input, const Shape& shape) const;
  [[noreturn]] void fail(RnnInput input, std::string expected,
                         std::string hint = {}) const;

  std::array<ValueId, kNumRnnInputs> inputs_;
};

/// Appends the gradient ops and their results (rnn_op_gradients.cpp).
void lower_rnn_gradients(LayerBuilder& builder, const RnnOpLayer& layer);

}  // namespace traingraph
