// SPDX-License-Identifier: MIT
// The passes that change types: which nodes compute in 16 bits, where casts
// are, and what stays as it was declared.
#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/assemble.h"
#include "compiler/merge.h"
#include "graph/op_def.h"
#include "graph/verify.h"
#include "runtime/device/null_backend.h"
#include "traingraph/error.h"
#include "traingraph/layers.h"
#include "traingraph/losses.h"
#include "traingraph/optimizers.h"

namespace traingraph {
namespace {

using namespace layers;

/// Runs no op of `kind` in 16 bits.
class PartialTarget : public Target {
 public:
  explicit PartialTarget(std::vector<OpKind> missing)
      : missing_(std::move(missing)) {}
  std::string_view name() const override { return "partial"; }
  bool computes(const Program&, const Node& node) const override {
    return std::ranges::find(missing_, node.op->kind) == missing_.end();
  }
  std::string reason_unsupported(const Program&, const Node&) const override {
    return {};
  }
  LoweredProgram lower(const Program&, const LowerOptions&) const override {
    return {};
  }

 private:
  std::vector<OpKind> missing_;
};

class MixedPrecisionPass : public ::testing::Test {
 protected:
  MixedPrecisionPass() {
    d.trains = true;
    d.precision = Precision::MixedBFloat16;
    d.loss = std::make_shared<losses::SoftmaxCrossEntropy>();
    d.optimizer = std::make_shared<optimizers::Adam>(0.1f);
    d.inputs = {{"x", x}};
    d.labels = {{"label", label}};
    h = graph.node(conv, x);
    h = graph.node(std::make_shared<BatchNormalization>(8), h);
    between = h = graph.node(std::make_shared<ReLU>(), h);
    h = graph.reshape({4, -1}, h);
    h = graph.node(dense, h);
    d.graphs = {graph.state()};
  }

  Assembled assembled(const Target& target, Mode mode = Mode::Training) {
    merged = merge_graphs(d);
    Assembled a =
        assemble(merged.graph, {.mode = mode}, merged.graph.batch, target);
    verify(a.program);
    return a;
  }
  Assembled assembled() { return assembled(context->target()); }

  /// The types of the first results of all nodes of this op, in order.
  static std::vector<DataType> types(const Assembled& a, OpKind kind) {
    std::vector<DataType> types;
    for (const Node& node : a.program.nodes()) {
      if (node.op->kind != kind || node.outputs.empty()) continue;
      types.push_back(a.program.desc(node.outputs[0]).data_type);
    }
    return types;
  }
  DataType type(const Assembled& a, const Tensor& tensor) const {
    return a.program.desc(a.find(merged.objects.find(tensor))).data_type;
  }

  using Types = std::vector<DataType>;
  static constexpr DataType kLow = DataType::BFloat16;
  static constexpr DataType kFull = DataType::Float32;

  std::shared_ptr<DeviceContext> context = make_null_context();
  Declaration d;
  Graph graph;
  Tensor x{{{4, 1, 6, 6}}, "x"}, label{{{4, 10}}, "label"}, h, between;
  std::shared_ptr<Convolution> conv = std::make_shared<Convolution>(
      ConvolutionDescriptor{.kernel_size = {3, 3},
                            .input_feature_channel_count = 1,
                            .output_feature_channel_count = 8,
                            .padding_policy = PaddingPolicy::Same});
  std::shared_ptr<FullyConnected> dense =
      std::make_shared<FullyConnected>(8 * 6 * 6, 10);
  Merged merged;
};

TEST_F(MixedPrecisionPass, ProductsAndWhatFollowsAreNarrow) {
  const Assembled a = assembled();
  EXPECT_EQ(types(a, OpKind::Convolution2d), Types{kLow});
  EXPECT_EQ(types(a, OpKind::BatchNorm), Types{kLow});
  EXPECT_EQ(types(a, OpKind::Activation), Types{kLow});
  EXPECT_EQ(types(a, OpKind::Loss), Types{kFull});
  EXPECT_EQ(types(a, OpKind::LossGradient), Types{kFull});
  EXPECT_EQ(types(a, OpKind::ActivationGradient), Types{kLow});
  EXPECT_EQ(types(a, OpKind::BatchNormGradient), Types{kLow});
  EXPECT_EQ(types(a, OpKind::Convolution2dWeightsGradient), Types{kLow});
  // Forward, and the two gradients.
  EXPECT_EQ(types(a, OpKind::MatMul), (Types{kLow, kLow, kLow}));
}

TEST_F(MixedPrecisionPass, WhatIsDeclaredKeepsItsType) {
  d.outputs = {{"h", h}, {"between", between}};
  const Assembled a = assembled();
  EXPECT_EQ(type(a, x), kFull);
  EXPECT_EQ(type(a, h), kFull);
  EXPECT_EQ(type(a, between), kFull);
  EXPECT_EQ(type(a, conv->weights()), kFull);
  for (const Trained& trained : a.trained) {
    EXPECT_EQ(a.program.desc(trained.gradient).data_type, kFull);
  }
}

TEST_F(MixedPrecisionPass, AnOutputChangesNothingForTheNodes) {
  const auto gemms = [&] {
    return types(assembled(), OpKind::MatMul).size() +
           types(assembled(), OpKind::Convolution2d).size();
  };
  const std::size_t before = gemms();
  const std::size_t casts = types(assembled(), OpKind::Cast).size();
  d.outputs = {{"between", between}};
  EXPECT_EQ(gemms(), before);
  EXPECT_EQ(types(assembled(), OpKind::Cast).size(), casts + 1);
}

TEST_F(MixedPrecisionPass, AStoppedTensorStopsAllTheSame) {
  d.stopped = {between};
  const Assembled a = assembled();
  EXPECT_EQ(a.trained.size(), 2u);  // of the dense layer
  EXPECT_TRUE(types(a, OpKind::ActivationGradient).empty());
}

TEST_F(MixedPrecisionPass, ALayerMayHaveATypeOfItsOwn) {
  dense->set_compute_type(DataType::Float16);
  const Assembled a = assembled();
  EXPECT_EQ(types(a, OpKind::MatMul), Types(3, DataType::Float16));
  EXPECT_EQ(types(a, OpKind::Convolution2d), Types{kLow});
  dense->set_compute_type(kFull);
  EXPECT_EQ(types(assembled(), OpKind::MatMul), Types(3, kFull));
}

TEST_F(MixedPrecisionPass, Float32IsLeftAlone) {
  d.precision = Precision::Float32;
  EXPECT_TRUE(types(assembled(), OpKind::Cast).empty());
  d.precision = Precision::Fast;
  EXPECT_TRUE(types(assembled(), OpKind::Cast).empty());
}

TEST_F(MixedPrecisionPass, InferenceIsMixedToo) {
  const Assembled a = assembled(context->target(), Mode::Inference);
  EXPECT_EQ(types(a, OpKind::Convolution2d), Types{kLow});
  EXPECT_EQ(types(a, OpKind::BatchNorm), Types{kLow});
}

TEST_F(MixedPrecisionPass, WhatATargetHasNoCodeForIsUpcast) {
  const Assembled a =
      assembled(PartialTarget({OpKind::BatchNorm, OpKind::BatchNormGradient}));
  for (const Node& node : a.program.nodes()) {
    const bool is_norm = node.op->kind == OpKind::BatchNorm ||
                         node.op->kind == OpKind::BatchNormGradient;
    if (!is_norm) continue;
    EXPECT_EQ(a.program.desc(node.inputs[0]).data_type, kFull);
    EXPECT_EQ(a.program.desc(node.outputs[0]).data_type, kFull);
  }
  // What is kept from phase to phase is narrow all the same.
  EXPECT_EQ(types(a, OpKind::Activation), Types{kLow});
  EXPECT_EQ(types(a, OpKind::Convolution2dWeightsGradient), Types{kLow});
}

// Two passes of a target without any code for 16 bits: all is float32 between
// casts, and the program still says what it said.
TEST_F(MixedPrecisionPass, ATargetWithoutSuchCodeRunsEverything) {
  std::vector<OpKind> all;
  for (int i = 0; i < kNumOps; ++i) {
    const auto kind = static_cast<OpKind>(i);
    if (kind != OpKind::Cast && kind != OpKind::Fill) all.push_back(kind);
  }
  const Assembled a = assembled(PartialTarget(all));
  for (const Node& node : a.program.nodes()) {
    if (node.op->kind == OpKind::Cast || node.op->kind == OpKind::Fill)
      continue;
    for (ValueId input : node.inputs) {
      if (input == kNoValue || a.program.value(input).is_opaque) continue;
      EXPECT_NE(a.program.desc(input).data_type, kLow) << node.op->name;
    }
  }
}

// Casts would change a copy. Parameters of float32 may be changed.
TEST_F(MixedPrecisionPass, WhatChangesNarrowVariablesIsRefused) {
  const PartialTarget target({OpKind::AdamUpdate});
  EXPECT_NO_THROW(assembled(target));
  dense = std::make_shared<FullyConnected>(
      Tensor::filled({{10, 6 * 6}, kLow}, 0.5));
  graph = Graph();
  const auto cast = [&](DataType type, const Tensor& from) {
    return graph.op(OpKind::Cast, CastAttrs{type}, {from})[0];
  };
  h = graph.node(dense, cast(kLow, graph.reshape({4, -1}, x)));
  cast(kFull, h);
  d.precision = Precision::Float32;
  d.graphs = {graph.state()};
  EXPECT_NO_THROW(assembled());
  try {
    assembled(target);
    FAIL() << "a variable of 16 bits is changed";
  } catch (const UnsupportedError& error) {
    EXPECT_EQ(error.op(), "adam_update");
    EXPECT_EQ(error.got(), "bfloat16");
    EXPECT_NE(error.expected().find("float32"), std::string::npos);
    EXPECT_NE(error.expected().find("weights"), std::string::npos);
  }
}

TEST_F(MixedPrecisionPass, OnlyFloat16HasALossScale) {
  EXPECT_EQ(assembled().find(merged.graph.loss_scale), kNoValue);
  d.precision = Precision::MixedFloat16;
  const Assembled a = assembled();
  const ValueId state = a.find(merged.graph.loss_scale);
  ASSERT_NE(state, kNoValue);
  EXPECT_EQ(a.program.value(state).role, Role::Variable);
  EXPECT_EQ(types(a, OpKind::UpdateLossScale).size(), 1u);
}

}  // namespace
}  // namespace traingraph
