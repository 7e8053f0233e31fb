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

TEST(BetweenConvolutions, GroupNormalization) {
  for (const std::int64_t groups : {1, 4, 10, 20}) {
    SCOPED_TRACE(groups);
    Between test(20, 3, 2);  // no multiple of a block
    Program& program = test.program;
    const Shape channels{20};
    const ValueId x = test.convolved_image(), g = test.input(test.image());
    const ValueId gamma = test.variable(channels, 1);
    const SampleNormAttrs attrs{.groups = groups, .epsilon = 1e-3f};
    const auto norm = program.append(OpKind::SampleNorm, attrs,
                                     {x, gamma, test.variable(channels, 1)});
    const auto back =
        program.append(OpKind::SampleNormGradient, attrs,
                       {test.convolved(g), x, gamma, norm[1], norm[2]});
    test.check({norm[0], norm[1], norm[2], test.convolved(norm[0]), back[0],
                back[1], back[2]});
  }
}

TEST(BetweenConvolutions, PartsOfChannels) {
  for (const std::int64_t channels : {5, 16, 48}) {
    for (const std::int64_t axis : {0, 1, 3}) {
      SCOPED_TRACE(std::to_string(channels) + " " + std::to_string(axis));
      Between test(channels, 5, 4);
      Program& program = test.program;
      const ValueId x = test.convolved_image();
      const std::int64_t size = test.image()[static_cast<int>(axis)];
      const std::int64_t first = size % 16 == 0 && size > 16 ? 16 : 1;
      const auto parts = program.append(
          OpKind::Split, SplitAttrs{{first, size - first}, axis}, {x});
      const ValueId whole = program.append_one(
          OpKind::Concatenate, AxisAttrs{axis}, {parts[1], x, parts[0]});
      const Shape& image = test.image();
      SliceAttrs window{{0, 0, 1, 0}, image, {1, 1, 3, 2}};
      window.start[static_cast<int>(axis)] = first;
      const ValueId slice = program.append_one(OpKind::Slice, window, {x});
      const ValueId back = program.append_one(
          OpKind::SliceGradient,
          SliceGradientAttrs{window.start, window.end, window.stride, image},
          {slice});
      test.check({parts[0], parts[1], whole, slice, back});
    }
  }
}

/// (N, C, W) as the image of one row that convolutions take.
struct Rows {
  Between& test;

  ValueId reshaped(ValueId x, const Shape& shape) const {
    return test.program.append_one(OpKind::Reshape, ShapeAttrs{shape}, {x});
  }
  ValueId row_of(ValueId image) const {
    const Shape& shape = test.program.shape(image);
    return reshaped(image, {shape[0], shape[1], shape[2] * shape[3]});
  }
  ValueId image_of(ValueId row) const { return reshaped(row, test.image()); }
};

TEST(BetweenConvolutions, WithoutUnitAxes) {
  for (const std::int64_t channels : {5, 16, 32}) {
    for (const std::int64_t height : {1, 3}) {
      SCOPED_TRACE(std::to_string(channels) + " " + std::to_string(height));
      Between test(channels, height, 6);
      Program& program = test.program;
      const Rows rows{test};
      const ValueId x = rows.row_of(test.convolved_image());
      const ValueId relu = program.append_one(
          OpKind::Activation, ActivationAttrs{ActivationType::SiLU}, {x});
      const Shape of{channels};
      const auto norm =
          program.append(OpKind::BatchNorm, BatchNormAttrs{.epsilon = 1e-3f},
                         {relu, test.variable(of, 1), test.variable(of, 1),
                          test.variable(of, 1), test.variable(of, 1)});
      const ValueId sum =
          program.append_one(OpKind::Binary, ArithmeticAttrs{}, {norm[0], x});
      const auto group = program.append(
          OpKind::SampleNorm, SampleNormAttrs{.groups = channels}, {sum});
      const ValueId last = test.convolved(rows.image_of(group[0]));
      test.check({x, relu, norm[0], sum, group[0], last});
      ProgramRun run(program, {last});
      int reorders = 0;
      for (const Unit& unit : run.lowered().units) {
        // Images that come, what the host reads, and weights.
        reorders += unit.is_reorder && unit.layout != "plain";
      }
      EXPECT_LE(reorders, 2);
    }
  }
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
