// SPDX-License-Identifier: MIT
// Options that change nothing for the chosen type are refused, and no others:
// the oracle, which takes any, says which they are.
#include <cmath>

#include "support/op_program.h"
#include "support/reference.h"
#include "traingraph/enum_table.h"

namespace traingraph {
namespace {

using testing::evaluate;
using testing::RefTensor;
using testing::RefTensors;

class UnusedOptions : public OpProgramTest {
 protected:
  bool is_taken(OpKind op, const Attributes& attrs, const RefTensors& in) {
    std::vector<ValueId> values;
    for (const RefTensor& each : in) values.push_back(input(each.shape));
    try {
      append(op, attrs, values);
    } catch (const InvalidArgument& error) {
      EXPECT_NE(std::string(error.expected()).find("does not use it"),
                std::string::npos)
          << error.what();
      return false;
    }
    return true;
  }

  static std::vector<double> value_of(OpKind op, const Attributes& attrs,
                                      RefTensors in) {
    return evaluate(op, attrs, in).at(0).data;
  }

  /// `changed` is taken just when it changes the result of `attrs`.
  void check(OpKind op, const Attributes& attrs, const Attributes& changed,
             const RefTensors& in) {
    EXPECT_TRUE(is_taken(op, attrs, in));
    EXPECT_EQ(is_taken(op, changed, in),
              value_of(op, changed, in) != value_of(op, attrs, in));
  }
};

TEST_F(UnusedOptions, OfActivations) {
  RefTensor x{{161}, {}};
  for (int i = -80; i <= 80; ++i) x.data.push_back(i / 16.0);
  for (const auto& [type, name, doc, num_operands] :
       EnumTable<ActivationType>::kCases) {
    // Ranges that are not empty, with and without what is changed.
    ActivationAttrs attrs{.type = type, .a = 0, .b = 0};
    if (type == ActivationType::CELU) attrs.a = 1;
    if (type == ActivationType::Tanh || type == ActivationType::SoftPlus) {
      attrs.a = attrs.b = 1;
    }
    if (type == ActivationType::HardSigmoid) attrs.a = 0.5f;
    for (float ActivationAttrs::* field :
         {&ActivationAttrs::a, &ActivationAttrs::b, &ActivationAttrs::c}) {
      SCOPED_TRACE(std::string(name));
      ActivationAttrs changed = attrs;
      changed.*field += 0.25f;
      if (type == ActivationType::Clamp && changed.a > changed.b) {
        changed.a = -0.25f;
      }
      check(OpKind::Activation, attrs, changed, {x});
    }
  }
}

TEST_F(UnusedOptions, OfActivationsOutOfRange) {
  const std::vector<ValueId> x{input({3})};
  using enum ActivationType;
  for (const ActivationAttrs& attrs :
       {ActivationAttrs{CELU, 0}, ActivationAttrs{HardShrink, -1},
        ActivationAttrs{SoftShrink, -1}, ActivationAttrs{Clamp, 1, 0},
        ActivationAttrs{ReLU, NAN}, ActivationAttrs{Sigmoid, NAN}}) {
    EXPECT_TRUE(
        contains(error_of<InvalidArgument>(OpKind::Activation, attrs, x),
                 {"a is out of range"}));
  }
}

TEST_F(UnusedOptions, OfLosses) {
  const RefTensor y{{2, 3}, {0.2, 0.5, 0.3, 0.9, 0.1, 0.5}};
  const RefTensor t{{2, 3}, {0, 1, 0, 0.25, 0.25, 0.5}};
  for (const auto& [type, name, doc, num_operands] :
       EnumTable<LossType>::kCases) {
    SCOPED_TRACE(std::string(name));
    const LossAttrs attrs{.type = type};
    LossAttrs smooth = attrs, epsilon = attrs, delta = attrs, ignore = attrs;
    smooth.label_smoothing = 0.5f;
    epsilon.epsilon = 0.25f;
    delta.delta = 0.5f;
    for (const LossAttrs& changed : {smooth, epsilon, delta}) {
      check(OpKind::Loss, attrs, changed, {y, t});
    }
    // These labels are no indices.
    ignore.ignore_index = 1;
    error_of<InvalidArgument>(OpKind::Loss, ignore, inputs({{2, 3}, {2, 3}}));
    LossAttrs counted = smooth;
    counted.class_count = 7;
    if (is_taken(OpKind::Loss, smooth, {y, t})) {
      check(OpKind::Loss, smooth, counted, {y, t});
    }
  }
}

TEST_F(UnusedOptions, OfPadding) {
  for (const auto& [type, name, doc, num_operands] :
       EnumTable<PaddingType>::kCases) {
    SCOPED_TRACE(std::string(name));
    PadAttrs attrs{.type = type, .before = {1}, .after = {2}};
    PadAttrs changed = attrs;
    changed.value = 3;
    check(OpKind::Pad, attrs, changed, {{{4}, {1, 2, 3, 4}}});
  }
}

TEST_F(UnusedOptions, OfWhatIsSwitchedOff) {
  const ValueId weights = variable({5, 2});
  const ValueId indices = input({3}, DataType::Int32);
  EXPECT_TRUE(contains(
      error_of<InvalidArgument>(OpKind::Embedding, EmbeddingAttrs{.p_norm = 1},
                                {weights, indices}),
      {"p_norm", "maximum_norm"}));
  EXPECT_TRUE(contains(
      error_of<InvalidArgument>(OpKind::SampleNorm,
                                SampleNormAttrs{.groups = 1, .momentum = 0.5f},
                                inputs({{2, 3, 4}})),
      {"momentum", "running statistics"}));
  EXPECT_TRUE(contains(
      error_of<InvalidArgument>(OpKind::LstmSteps, LstmAttrs{.input_gate_b = 3},
                                inputs({{2, 1, 8}, {8, 2}})),
      {"does not use", "sigmoid"}));
}

TEST_F(UnusedOptions, OfDropoutTrainingAndPeepholes) {
  const auto sources = inputs({{2, 5, 4}, {2, 7, 4}, {2, 7, 6}});
  EXPECT_TRUE(
      contains(error_of<InvalidArgument>(OpKind::Attention,
                                         AttentionAttrs{.seed = 3}, sources),
               {"seed", "without dropout"}));
  EXPECT_TRUE(
      contains(error_of<InvalidArgument>(OpKind::Attention,
                                         AttentionAttrs{.stream = 3}, sources),
               {"stream", "without dropout"}));
  EXPECT_TRUE(contains(
      error_of<InvalidArgument>(
          OpKind::BatchNorm,
          BatchNormAttrs{.momentum = 0.5f, .training = false},
          {input({2, 3}), kNoValue, kNoValue, variable({3}), variable({3})}),
      {"momentum", "without training"}));
  EXPECT_TRUE(contains(
      error_of<InvalidArgument>(
          OpKind::SampleNorm,
          SampleNormAttrs{.groups = 1, .momentum = 0.5f, .training = false},
          {input({2, 3, 4}), kNoValue, kNoValue, variable({1}), variable({1})}),
      {"momentum", "without training"}));
  EXPECT_TRUE(contains(
      error_of<InvalidArgument>(
          OpKind::LstmSteps, LstmAttrs{.output_peephole_reads_new_cell = true},
          inputs({{2, 1, 8}, {8, 2}})),
      {"output_peephole_reads_new_cell", "peephole"}));
}

}  // namespace
}  // namespace traingraph
