// SPDX-License-Identifier: MIT
// Ops between two convolutions, which choose the layout, forward and back,
// against the reference. The cases of the table (ops/cases.h) are plain.
#include <gtest/gtest.h>

#include <vector>

#include "graph/attributes.h"
#include "ops/elementwise_parameters.h"
#include "support/reference.h"
#include "support/run_op.h"
#include "traingraph/enum_table.h"

namespace traingraph::testing {
namespace {

/// float32 sums of two convolutions.
constexpr double kTwoSums = 1e-4;

/// An image of so many channels, and pointwise convolutions of these.
class Between {
 public:
  Between(std::int64_t channels, std::int64_t height, std::int64_t width)
      : image_{2, channels, height, width} {
    weights_ = add(Role::Variable, {channels, channels, 1, 1}, 0.25);
  }

  const Shape& image() const { return image_; }
  ValueId input(const Shape& shape) { return add(Role::Input, shape, 1); }
  ValueId variable(const Shape& shape, double scale) {
    return add(Role::Variable, shape, scale);
  }
  /// The result of a convolution, in its layout.
  ValueId convolved(ValueId x) {
    return program.append_one(OpKind::Convolution2d, Convolution2dAttrs{},
                              {x, weights_});
  }
  ValueId convolved_image() { return convolved(input(image_)); }

  void check(const std::vector<ValueId>& kept, double tolerance = kTwoSums) {
    ProgramRun run(program, kept);
    for (const auto& [id, tensor] : given_) {
      run.set(id, std::vector<float>(tensor.data.begin(), tensor.data.end()));
    }
    run.run();
    EXPECT_TRUE(run.has_intact_guards());
    const RefValues expected = evaluate_program(program, given_);
    for (const ValueId id : kept) {
      SCOPED_TRACE(program.value(id).name);
      const std::vector<float> got = run.get(id);
      expect_near(Values(got.begin(), got.end()), expected.at(id).data,
                  tolerance);
    }
  }

  Program program;

 private:
  ValueId add(Role role, const Shape& shape, double scale) {
    const ValueId id = program.add_value(role, {shape}, "given");
    RefTensor tensor{shape, random_values(shape.num_elements(), id + 1)};
    for (double& x : tensor.data) x = static_cast<float>(scale * x);
    given_[id] = std::move(tensor);
    return id;
  }

  Shape image_;
  ValueId weights_ = kNoValue;
  RefValues given_;
};

// 5 channels pad a blocked layout: the value at zero must not leak.
TEST(BetweenConvolutions, Activations) {
  for (const auto& activation : EnumTable<ActivationType>::kCases) {
    const ActivationAttrs attrs =
        without_unused(ActivationAttrs{activation.value, 0.3f, 0.7f});
    for (const std::int64_t channels : {5, 16}) {
      SCOPED_TRACE(std::string(to_string(attrs.type)) + " of " +
                   std::to_string(channels));
      Between test(channels, 5, 5);
      Program& program = test.program;
      const ValueId x = test.convolved_image(), g = test.input(test.image());
      const ValueId y = program.append_one(OpKind::Activation, attrs, {x});
      const ValueId back = program.append_one(OpKind::ActivationGradient, attrs,
                                              {test.convolved(g), x});
      test.check({y, test.convolved(y), back, test.convolved(back)});
    }
  }
}

struct BlockedPool {
  std::int64_t channels, height, width;
  Pool2dAttrs attrs;
  bool counts_padding = false;
};

TEST(BetweenConvolutions, Pools) {
  const BlockedPool pools[] = {
      {3, 6, 6, {{2, 2}, {2, 2}}},
      {16, 7, 5, {{3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}}},
      {17, 7, 5, {{3, 2}, {1, 2}, {1, 1}, {2, 1, 0, 1}}, true},
      {16, 9, 9, {{2, 3}, {1, 1}, {2, 3}, {1, 0, 2, 1}}},
      // Windows without a sample.
      {16, 5, 5, {{2, 2}, {4, 4}, {1, 1}, {0, 2, 0, 2}}},
      {16, 5, 5, {{2, 2}, {1, 1}, {3, 3}, {3, 3, 3, 3}}},
      {2, 5, 5, {{2, 2}, {4, 4}, {1, 1}, {0, 2, 0, 2}}, true}};
  for (const BlockedPool& pool : pools) {
    SCOPED_TRACE(&pool - pools);
    const auto& [kernel, strides, dilations, padding] = pool.attrs;
    Between test(pool.channels, pool.height, pool.width);
    Program& program = test.program;
    const ValueId x = test.convolved_image();
    const auto max = program.append(OpKind::MaxPool2d, pool.attrs, {x});
    const ValueId mean =
        program.append_one(OpKind::AveragePool2d,
                           AveragePool2dAttrs{kernel, strides, dilations,
                                              padding, pool.counts_padding},
                           {x});
    const ValueId g = test.convolved(test.input(program.shape(mean)));
    const ValueId of_max = program.append_one(OpKind::MaxPool2dGradient,
                                              pool.attrs, {g, x, max[1]});
    const ValueId of_mean = program.append_one(
        OpKind::AveragePool2dGradient,
        AveragePool2dGradientAttrs{kernel, strides, dilations, padding,
                                   pool.counts_padding, test.image()},
        {g});
    test.check({max[0], test.convolved(mean), test.convolved(of_max),
                test.convolved(of_mean)});
  }
}

TEST(BetweenConvolutions, BatchNormalization) {
  Between test(20, 3, 2);  // no multiple of a block
  Program& program = test.program;
  const Shape channels{20};
  const ValueId x = test.convolved_image(), g = test.input(test.image());
  const ValueId gamma = test.variable(channels, 1);
  const BatchNormAttrs attrs{.epsilon = 1e-3f};
  const auto norm =
      program.append(OpKind::BatchNorm, attrs,
                     {x, gamma, test.variable(channels, 1),
                      test.variable(channels, 1), test.variable(channels, 1)});
  const auto back =
      program.append(OpKind::BatchNormGradient, attrs,
                     {test.convolved(g), x, gamma, norm[1], norm[2]});
  test.check({norm[0], test.convolved(norm[0]), back[0], back[1], back[2]});
}

TEST(BetweenConvolutions, Upsampling) {
  const auto check = [](std::int64_t channels, const UpsampleAttrs& attrs) {
    SCOPED_TRACE(to_string(Attributes(attrs)) + " " + std::to_string(channels));
    Between test(channels, 7, 6);
    Program& program = test.program;
    const ValueId up =
        program.append_one(OpKind::Upsample, attrs, {test.convolved_image()});
    UpsampleAttrs back = attrs;
    back.shape = attrs.shape.rank() == 2 ? Shape{7, 6} : Shape{6};
    const ValueId down =
        program.append_one(OpKind::UpsampleGradient, back,
                           {test.convolved(test.input(program.shape(up)))});
    test.check({test.convolved(up), test.convolved(down)});
  };
  for (const std::int64_t channels : {3, 16, 32, 40}) {
    for (const Shape& shape : {Shape{14, 12}, Shape{3, 17}, Shape{9}}) {
      check(channels, {shape});
      check(channels, {shape, SampleMode::Linear});
      check(channels, {shape, SampleMode::Linear, true});
    }
  }
}

}  // namespace
}  // namespace traingraph::testing
