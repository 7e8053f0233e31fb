// SPDX-License-Identifier: MIT
// The batch size of a call that names none: what the shapes of its data say.
#include <gtest/gtest.h>

#include "support/training.h"

namespace traingraph {
namespace {

using namespace testing;

constexpr std::int64_t kMax = 8, kIn = 3, kOut = 2;

/// Data that has a shape, as Python's has.
NamedData shaped(const char* name, const Floats& values, Shape shape) {
  TensorData data = view(values);
  data.descriptor = TensorDescriptor(shape, DataType::Float32);
  return {name, data};
}

struct Samples {
  explicit Samples(std::int64_t count)
      : x(random_floats(count * kIn, 4)),
        label(random_floats(count * kOut, 5)),
        plain_x{{"x", view(x)}},
        plain_label{{"label", view(label)}},
        shaped_x{shaped("x", x, {count, kIn})},
        shaped_label{shaped("label", label, {count, kOut})} {}
  const Floats x, label;
  const std::vector<NamedData> plain_x, plain_label, shaped_x, shaped_label;
};

TEST(BatchOfData, IsThatOfShapes) {
  Linear large(kMax, kIn, kOut), small(5, kIn, kOut);
  TrainingGraph t = large.train(sgd(0.1f)), r = small.train(sgd(0.1f));
  const Samples five(5);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(t.execute(five.shaped_x, five.shaped_label).result().loss(),
              r.execute(five.plain_x, five.plain_label).result().loss());
    t.execute_forward(five.shaped_x, five.shaped_label);
    t.execute_gradient();
    t.execute_optimizer_update();
    r.execute(five.plain_x, five.plain_label);
  }
  EXPECT_EQ(read(large.layer->weights()), read(small.layer->weights()));
  EXPECT_EQ(t.compile_count(), 2);
  EXPECT_EQ(r.compile_count(), 1);
}

TEST(BatchOfData, IsThatOfBoundShapes) {
  Linear net(kMax, kIn, kOut);
  TrainingGraph t = net.train(sgd(0.1f));
  const Samples five(5), four(4), eight(8);
  t.bind_and_write_data(five.shaped_x);
  t.execute({}, four.shaped_label)
      .wait();  // the first samples of what is bound
  EXPECT_THROW(t.execute({}, eight.shaped_label), InvalidArgument);
  EXPECT_THROW(t.execute({}, eight.plain_label), InvalidArgument);
}

TEST(BatchOfData, MemoryWithoutAShapeSaysNothing) {
  Linear net(kMax, kIn, kOut);
  TrainingGraph t = net.train(sgd(0.1f));
  const Samples five(5), eight(8);
  const auto error =
      error_of<ShapeError>([&] { t.execute(five.plain_x, five.plain_label); });
  EXPECT_EQ(error.expected, "96 bytes, float32 (8, 3)");
  EXPECT_NE(error.hint.find("pass batch_size"), std::string::npos);
  t.execute(five.shaped_x, five.plain_label).wait();
  EXPECT_EQ(error_of<ShapeError>([&] {
              t.execute(five.shaped_x, eight.plain_label);
            }).node,
            "label");
  t.execute(five.plain_x, five.plain_label, {}, {.batch_size = 5}).wait();
  t.execute(eight.plain_x, eight.plain_label).wait();
  EXPECT_EQ(t.compile_count(), 2);
}

TEST(BatchOfData, ShapesMustAgree) {
  Linear net(kMax, kIn, kOut);
  TrainingGraph t = net.train(sgd(0.1f));
  const Samples five(5), four(4), eight(8), nine(9);
  auto error = error_of<ShapeError>(
      [&] { t.execute(five.shaped_x, four.shaped_label); });
  EXPECT_EQ(error.node, "label");
  EXPECT_EQ(error.expected, "5, as \"x\" has");
  EXPECT_EQ(error.got, "4 in (4, 2)");
  error = error_of<ShapeError>(
      [&] { t.execute(five.shaped_x, eight.shaped_label); });
  EXPECT_EQ(error.node, "label");
  const std::vector<NamedData> none{shaped("x", eight.x, {0, kIn})};
  for (const std::vector<NamedData>& x : {none, nine.shaped_x}) {
    error =
        error_of<ShapeError>([&] { t.execute_forward(x, eight.shaped_label); });
    EXPECT_EQ(error.node, "x");
    EXPECT_EQ(error.expected, "(8, 3), or fewer samples on axis 0");
    EXPECT_THROW(t.bind_and_write_data(x), ShapeError);
  }
  const std::vector<NamedData> turned{shaped("x", eight.x, {kIn, kMax})};
  EXPECT_THROW(t.execute(turned, eight.shaped_label), ShapeError);
  // A size that is asked for is checked.
  EXPECT_THROW(
      t.execute(five.shaped_x, five.shaped_label, {}, {.batch_size = 4}),
      ShapeError);
  EXPECT_THROW(
      t.execute(five.shaped_x, five.shaped_label, {}, {.batch_size = 9}),
      InvalidArgument);
  EXPECT_EQ(t.compile_count(), 1);
  t.execute(eight.plain_x, eight.plain_label).wait();
}

/// A sample has several rows where a tensor is declared with a multiple.
TEST(BatchOfData, SamplesMayHaveSeveralRows) {
  const Tensor x({{3 * kMax, kIn}}, "x"), scale({{kMax, 1}}, "scale");
  Graph graph;
  const auto relu = [&](const Tensor& source) {
    return graph.node(std::make_shared<layers::ReLU>(), source);
  };
  const Tensor y = relu(x), z = relu(scale);
  InferenceGraph inference({graph});
  inference.add_inputs({{"x", x}, {"scale", scale}});
  inference.add_outputs({{"y", y}, {"z", z}});
  inference.compile(test_device());
  EXPECT_EQ(inference.batch_size(), kMax);
  const Floats values = random_floats(3 * kMax * kIn, 1), ones(kMax, 1.0f);
  const auto run = [&](std::int64_t num_rows, std::int64_t samples) {
    const std::vector<NamedData> inputs{shaped("x", values, {num_rows, kIn}),
                                        shaped("scale", ones, {samples, 1})};
    return inference.execute(inputs).result();
  };
  EXPECT_EQ(run(15, 5).output("y").descriptor.shape, (Shape{15, kIn}));
  EXPECT_EQ(error_of<ShapeError>([&] { run(15, 4); }).got, "4 in (4, 1)");
  EXPECT_EQ(error_of<ShapeError>([&] { run(14, 5); }).expected,
            "(24, 3), or fewer samples on axis 0, each 3 long");
}

TEST(BatchOfData, NeedsGraphsThatFollowIt) {
  const Tensor x({{kMax, kIn}}, "x");
  Graph graph;
  const Tensor rows = graph.node(
      std::make_shared<layers::Slice>(Shape{1, 0}, Shape{3, 3}, Shape{1, 1}),
      x);
  InferenceGraph inference({graph});
  inference.add_inputs({{"x", x}});
  inference.add_outputs({{"rows", rows}});
  inference.compile(test_device());
  const Samples five(5), eight(8);
  const auto explicitly = error_of<UnsupportedError>(
      [&] { inference.execute(five.plain_x, {.batch_size = 5}); });
  const auto error =
      error_of<UnsupportedError>([&] { inference.execute(five.shaped_x); });
  EXPECT_EQ(error.what, explicitly.what);
  EXPECT_EQ(error.got, explicitly.got);
  inference.execute(eight.shaped_x).wait();
}

}  // namespace
}  // namespace traingraph
