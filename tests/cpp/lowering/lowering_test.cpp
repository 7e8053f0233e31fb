// SPDX-License-Identifier: MIT
// The walk as a backend other than the CPU sees it: one that keeps images with
// channels last, fuses activations with convolutions, and whose code is a line
// of text.
#include "lowering/lowering.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "graph/op_def.h"
#include "lowering/fusion_query.h"
#include "lowering/fusion_search.h"
#include "lowering/layout_text.h"
#include "lowering/policy.h"
#include "lowering/unit_builder.h"
#include "ops/cost.h"
#include "traingraph/error.h"

namespace traingraph::testing {
namespace {

using Tape = std::vector<std::string>;

constexpr Convolution2dAttrs kSame{{1, 1}, {1, 1}, {1, 1, 1, 1}};

struct TapeCode : UnitCode {
  explicit TapeCode(std::string line) : text(std::move(line)) {}
  std::string text;
};

std::string name_of(const Layout& layout) {
  return layout_text(layout, /*is_weights=*/false);
}

class TapePolicy final : public LoweringPolicy {
 public:
  void lower(OpKind op, UnitBuilder& unit) const override {
    std::string text = op_def(op).name;
    switch (op) {
      case OpKind::Convolution2d: {
        if (unit.fusion().next_activation()) {
          unit.fusion().fuse_activation();
          text += "+activation";
        }
        const auto last = [](const TensorDescriptor& desc) {
          return Layout::channels_last(to_sizes(desc.shape), desc.data_type);
        };
        unit.read(0, last(unit.input_desc(0)));
        unit.read(1);
        unit.write(0, last(unit.result_desc()));
        break;
      }
      case OpKind::Activation: {
        const Layout layout = unit.layout(0);
        unit.read(0, layout);
        unit.write(0, layout_like(layout, unit.result_desc()));
        unit.may_run_in_place(0, 0);
        text += " in " + name_of(layout);
        break;
      }
      case OpKind::Reshape:
        return unit.alias(0, 0);
      case OpKind::Transpose:
        if (unit.alias_transposed(0, 0, unit.attrs<TransposeAttrs>().axes)) {
          return;
        }
        unit.read(0);
        unit.write();
        break;
      case OpKind::AccumulateGradient:
        unit.mutate(0);
        unit.read(1);
        unit.read(2);
        break;
      default:
        for (int i = 0; unit.has(i); ++i) unit.read(i);
        unit.write();
    }
    text += " #" + std::to_string(unit.shared({}, [&] { return ++num_made; }));
    unit.emit(std::make_unique<TapeCode>(text));
  }
  Fusions find_fusions(FusionSearch search) const override {
    const auto& nodes = search.program().nodes();
    for (NodeId id = 0; id < static_cast<NodeId>(nodes.size()); ++id) {
      if (nodes[id].op->kind == OpKind::Convolution2d) {
        search.join_activation(id);
      }
    }
    return std::move(search).take();
  }
  CopyCode copy(const Layout& from, const Layout& to) const override {
    return {.code = std::make_unique<TapeCode>("copy " + name_of(from) +
                                               " to " + name_of(to)),
            .scratch_bytes = 16};
  }
  std::unique_ptr<UnitCode> copy_bytes(std::int64_t bytes) const override {
    return std::make_unique<TapeCode>("copy " + std::to_string(bytes) +
                                      " bytes");
  }
  void make_code(const Node&, const NodeCost& cost,
                 const std::function<void()>& make) const override {
    EXPECT_GT(cost.bytes, 0);
    make();
  }
  std::int64_t code_variant() const override { return variant; }

  std::int64_t variant = 0;
  mutable int num_made = 0;
};

class TapeTarget final : public Target {
 public:
  std::string_view name() const override { return "tape"; }
  std::string reason_unsupported(const Program&,
                                 const Node& node) const override {
    return node.op->kind == OpKind::Softmax ? "tapes do not divide" : "";
  }
  LoweredProgram lower(const Program& program,
                       const LowerOptions& options) const override {
    return lower_program(program, options, *this, policy);
  }
  TapePolicy policy;
};

Tape tape_of(const LoweredProgram& lowered) {
  Tape tape;
  for (const Unit& unit : lowered.units) {
    tape.push_back(static_cast<const TapeCode&>(*unit.code).text);
  }
  return tape;
}

struct Convolutions {
  Program program;
  ValueId x, weights, y, z;

  Convolutions() {
    x = program.add_value(Role::Input, {{2, 4, 5, 5}}, "x");
    weights = program.add_value(Role::Variable, {{4, 4, 3, 3}}, "weights");
    y = block(x);
    z = block(y);
  }
  ValueId block(ValueId in) {
    const ValueId product =
        program.append_one(OpKind::Convolution2d, kSame, {in, weights});
    return program.append_one(OpKind::Activation, ActivationAttrs{}, {product});
  }
};

TEST(Lowering, CopiesWhereABackendWantsAnotherLayout) {
  const Convolutions net;
  const LoweredProgram lowered =
      TapeTarget().lower(net.program, {.kept = {net.z}});
  EXPECT_EQ(tape_of(lowered),
            (Tape{"copy plain to nhwc", "convolution_2d+activation #1",
                  "convolution_2d+activation #1", "copy nhwc to plain"}));
  EXPECT_EQ(lowered.storage_of[net.y], -1);  // never in plain layout
  EXPECT_GE(lowered.storage_of[net.z], 0);
  const Unit& copy = lowered.units.front();
  EXPECT_TRUE(copy.is_reorder);
  ASSERT_EQ(copy.scratch.size(), 1u);
  EXPECT_EQ(lowered.storages[copy.scratch[0]].bytes, 16u);
}

TEST(Lowering, FusesWhatTheBackendSaysAndNothingUnasked) {
  const Convolutions net;
  const LoweredProgram lowered =
      TapeTarget().lower(net.program, {.kept = {net.z}, .fuses = false});
  EXPECT_EQ(tape_of(lowered),
            (Tape{"copy plain to nhwc", "convolution_2d #1",
                  "activation in nhwc #2", "convolution_2d #1",
                  "activation in nhwc #2", "copy nhwc to plain"}));
  EXPECT_EQ(lowered.units[2].in_place.size(), 1u);
}

TEST(Lowering, LeavesWhatTheHostReadsBetweenTwoNodes) {
  Convolutions net;
  const ValueId product = net.program.node(0).outputs[0];
  const Tape tape =
      tape_of(TapeTarget().lower(net.program, {.kept = {product, net.z}}));
  EXPECT_EQ(tape[1], "convolution_2d #1");
  EXPECT_EQ(tape[2], "copy nhwc to plain");
}

TEST(Lowering, CopiesAViewOfAVariableThatChanges) {
  Program program;
  const TensorDescriptor pair{{2}};
  const ValueId sum = program.add_value(Role::Variable, pair, "sum");
  const ValueId gradient = program.add_value(Role::Input, pair, "gradient");
  const ValueId factors = program.add_value(Role::Input, pair, "factors");
  const ValueId view =
      program.append_one(OpKind::Reshape, ShapeAttrs{.shape = {1, 2}}, {sum});
  const ValueId steady = program.append_one(
      OpKind::Reshape, ShapeAttrs{.shape = {1, 2}}, {gradient});
  program.append(OpKind::AccumulateGradient, NoAttrs{},
                 {sum, gradient, factors});
  const LoweredProgram lowered =
      TapeTarget().lower(program, {.kept = {view, steady}});
  EXPECT_EQ(tape_of(lowered), (Tape{"copy 8 bytes", "accumulate_gradient #1"}));
  EXPECT_NE(lowered.storage_of[view], lowered.storage_of[sum]);
  EXPECT_EQ(lowered.storage_of[steady], lowered.storage_of[gradient]);
}

/// As channels-last code writes it: y (N, C, H, W) to (N, H, W, C) and back.
TEST(Lowering, TransposesAreViewsWhereTheLayoutsAgree) {
  Convolutions net;
  const auto transposed = [&](ValueId x, Shape axes) {
    return net.program.append_one(OpKind::Transpose, TransposeAttrs{axes}, {x});
  };
  const ValueId last = transposed(net.z, {0, 2, 3, 1});
  const ValueId h =
      net.program.append_one(OpKind::Activation, ActivationAttrs{}, {last});
  const ValueId end = net.block(transposed(h, {0, 3, 1, 2}));
  const LoweredProgram lowered =
      TapeTarget().lower(net.program, {.kept = {end}});
  EXPECT_EQ(tape_of(lowered),
            (Tape{"copy plain to nhwc", "convolution_2d+activation #1",
                  "convolution_2d+activation #1", "activation in plain #2",
                  "convolution_2d+activation #1", "copy nhwc to plain"}));
}

TEST(Lowering, TransposesOfPlainValuesAreCopiedForPlainReaders) {
  Program program;
  const ValueId x = program.add_value(Role::Input, {{2, 3, 5}}, "x");
  const ValueId y = program.append_one(OpKind::Transpose,
                                       TransposeAttrs{.axes = {1, 0, 2}}, {x});
  const ValueId z = program.append_one(OpKind::Transpose,
                                       TransposeAttrs{.axes = {1, 0, 2}}, {y});
  const ValueId a =
      program.append_one(OpKind::Activation, ActivationAttrs{}, {y});
  const ValueId b =
      program.append_one(OpKind::Activation, ActivationAttrs{}, {y});
  const ValueId c =
      program.append_one(OpKind::Activation, ActivationAttrs{}, {z});
  const LoweredProgram lowered =
      TapeTarget().lower(program, {.kept = {y, a, b, c}});
  EXPECT_EQ(tape_of(lowered),
            (Tape{"copy plain to bac", "activation in plain #1",
                  "activation in plain #1", "activation in plain #1"}));
  EXPECT_EQ(lowered.units[3].reads[0], lowered.storage_of[x]);
  EXPECT_EQ(lowered.units[1].reads[0], lowered.storage_of[y]);
  EXPECT_EQ(lowered.units[2].reads[0], lowered.storage_of[y]);
}

TEST(Lowering, TransposesOfAVariableThatChangesAreNoViews) {
  Program program;
  const ValueId sum = program.add_value(Role::Variable, {{2, 3}}, "sum");
  const ValueId gradient = program.add_value(Role::Input, {{2, 3}}, "gradient");
  const ValueId factors = program.add_value(Role::Input, {{2}}, "factors");
  const ValueId y = program.append_one(OpKind::Transpose,
                                       TransposeAttrs{.axes = {1, 0}}, {sum});
  program.append(OpKind::AccumulateGradient, NoAttrs{},
                 {sum, gradient, factors});
  const LoweredProgram lowered = TapeTarget().lower(program, {.kept = {y}});
  EXPECT_EQ(tape_of(lowered), (Tape{"transpose #1", "accumulate_gradient #2"}));
}

TEST(Lowering, SharesCodeWithinAVariant) {
  const Convolutions net;
  TapeTarget target;
  target.policy.variant = 1;
  const LowerOptions options{.kept = {net.z}};
  EXPECT_EQ(tape_of(target.lower(net.program, options))[1],
            "convolution_2d+activation #1");
  target.policy.variant = 2;
  EXPECT_EQ(tape_of(target.lower(net.program, options))[2],
            "convolution_2d+activation #2");
}

TEST(Lowering, NamesTheNodeThatABackendLacks) {
  Program program;
  const ValueId x = program.add_value(Role::Input, {{2, 3}}, "x");
  const ValueId y = program.append_one(OpKind::Softmax, SoftmaxAttrs{.axis = 1},
                                       {x}, "shares");
  try {
    TapeTarget().lower(program, {.kept = {y}});
    FAIL() << "no error";
  } catch (const UnsupportedError& error) {
    EXPECT_EQ(error.op(), "softmax");
    EXPECT_EQ(error.node(), "shares");
    EXPECT_NE(std::string(error.what()).find("tapes do not divide"),
              std::string::npos);
  }
}

}  // namespace
}  // namespace traingraph::testing
