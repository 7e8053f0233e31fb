// SPDX-License-Identifier: MIT
// Filters that move, sample or sum up elements, and losses.
#include "nodes/node_check.h"

namespace traingraph::nodes {
namespace {

using namespace testing;

TEST(StructureNodes, ConcatenationGivesASliceToEachSource) {
  for (const std::int64_t last : {3, 8}) {
    const std::vector<ImageSize> sizes{{4, 2, 3}, {8, 2, 3}, {last, 2, 3}};
    NodeCase node{
        "concatenation", sizes,
        [](const auto& s) -> FilterNode { return ConcatenationNode(s); },
        [=](const auto& s) {
          Images y({12 + last, 2, 3});
          for_each_element(y.size, [&](auto n, auto c, auto i, auto j) {
            y.at(n, c, i, j) = c < 4    ? s[0].at(n, c, i, j)
                               : c < 12 ? s[1].at(n, c - 4, i, j)
                                        : s[2].at(n, c - 12, i, j);
          });
          return y;
        }};
    node.is_mpsnns = last % 4 == 0;
    check_node(node, 61);
  }
  const ImageNode x("x", {3, 1, 1});
  EXPECT_EQ(error_of<InvalidArgument>([&] { ConcatenationNode({x, x}); }).op,
            "ConcatenationNode");
  EXPECT_EQ(error_of<InvalidArgument>([&] { ConcatenationNode({}); }).op,
            "ConcatenationNode");
}

TEST(StructureNodes, ReshapeKeepsTheOrderOfPixels) {
  check_node(
      {"reshape",
       {{4, 2, 3}},
       [](const auto& s) -> FilterNode { return ReshapeNode(s[0], {2, 6, 2}); },
       [](const auto& s) {
         Images y({2, 6, 2});
         for_each_element(y.size, [&](auto n, auto c, auto i, auto j) {
           const auto k = (i * 2 + j) * 2 + c;
           y.at(n, c, i, j) = s[0].at(n, k % 4, k / 12, k / 4 % 3);
         });
         return y;
       }},
      62);
}

TEST(StructureNodes, PadByEveryEdgeMode) {
  const auto folded = [](std::int64_t i, std::int64_t n, ImageEdgeMode mode) {
    if (mode == ImageEdgeMode::Clamp)
      return std::clamp<std::int64_t>(i, 0, n - 1);
    const std::int64_t edge = mode == ImageEdgeMode::MirrorWithEdge ? 1 : 0;
    if (i < 0) return -i - edge;
    if (i >= n) return 2 * (n - 1) - i + edge;
    return i;
  };
  for (const auto mode :
       {ImageEdgeMode::Zero, ImageEdgeMode::Clamp, ImageEdgeMode::Mirror,
        ImageEdgeMode::MirrorWithEdge, ImageEdgeMode::Constant}) {
    const bool is_constant = mode == ImageEdgeMode::Constant;
    const float fill = is_constant ? 1.5f : 0.0f;
    check_node({std::string(to_string(mode)),
                {{2, 3, 4}},
                [&](const auto& s) -> FilterNode {
                  return PadNode(s[0], {0, 1, 2}, {0, 2, 1}, mode, fill);
                },
                [&](const auto& s) {
                  Images y({2, 6, 7});
                  for_each_element(y.size, [&](auto n, auto c, auto i, auto j) {
                    const std::int64_t row = i - 1, column = j - 2;
                    if (s[0].contains(row, column)) {
                      y.at(n, c, i, j) = s[0].at(n, c, row, column);
                    } else if (mode == ImageEdgeMode::Zero || is_constant) {
                      y.at(n, c, i, j) = fill;
                    } else {
                      y.at(n, c, i, j) = s[0].at(n, c, folded(row, 3, mode),
                                                 folded(column, 4, mode));
                    }
                  });
                  return y;
                }},
               63);
  }
}

TEST(StructureNodes, SpatialMeanHasAGradientAndOtherReductionsNone) {
  check_node({"mean",
              {{3, 4, 5}},
              [](const auto& s) -> FilterNode {
                return ReductionNode(s[0], ImageReduction::SpatialMean);
              },
              [](const auto& s) {
                Images y({3, 1, 1});
                for_each_element(s[0].size,
                                 [&](auto n, auto c, auto i, auto j) {
                                   y.at(n, c, 0, 0) += s[0].at(n, c, i, j) / 20;
                                 });
                return y;
              }},
             64);
  const ImageNode x("x", {3, 2, 2});
  const ReductionNode rows(x, ImageReduction::RowMax);
  EXPECT_EQ(rows.class_name(), "ReductionRowMaxNode");
  EXPECT_EQ(error_of<UnsupportedError>([&] {
              rows.gradient_filter(ImageNode("g", {3, 2, 1}));
            }).node,
            "ReductionRowMaxNode");
}

TEST(StructureNodes, ReductionsOfRowsColumnsAndChannels) {
  const ImageNode x("x", {2, 2, 3});
  std::vector<ImageNode> results;
  const auto add = [&](ImageReduction reduction, float weight = 1) {
    results.push_back(ReductionNode(x, reduction, weight).result_image());
    results.back().set_handle(std::string(to_string(reduction)));
  };
  add(ImageReduction::RowSum);
  add(ImageReduction::ColumnMin);
  add(ImageReduction::FeatureChannelsSum, 0.5f);
  add(ImageReduction::FeatureChannelsArgumentMax);
  Graph graph(test_device(), results);
  const Floats values{1, 2, 3, 4, 5, 6, 6, 5, 4, 3, 2, 1};
  const ExecutionResult run = graph.execute({{"x", view(values)}}).result();
  if (test_device().type() == DeviceType::Null) return;
  EXPECT_EQ(floats_of(run.output("row_sum")), (Floats{6, 15, 15, 6}));
  EXPECT_EQ(floats_of(run.output("column_min")), (Floats{1, 2, 3, 3, 2, 1}));
  EXPECT_EQ(floats_of(run.output("feature_channels_sum")), Floats(6, 3.5f));
  EXPECT_EQ(floats_of(run.output("feature_channels_argument_max")),
            (Floats{1, 1, 1, 0, 0, 0}));
}

TEST(StructureNodes, UpsamplingNearestRepeatsAndItsGradientAddsUp) {
  check_node({"nearest",
              {{2, 3, 4}},
              [](const auto& s) -> FilterNode {
                return UpsamplingNearestNode(s[0], 3, 2);
              },
              [](const auto& s) {
                Images y({2, 6, 12});
                for_each_element(y.size, [&](auto n, auto c, auto i, auto j) {
                  y.at(n, c, i, j) = s[0].at(n, c, i / 2, j / 3);
                });
                return y;
              }},
             65);
}

double bilinear(const Images& x, std::int64_t n, std::int64_t c, double row,
                double column) {
  const auto clamped = [](double at, std::int64_t extent) {
    return std::clamp(at, 0.0, static_cast<double>(extent - 1));
  };
  row = clamped(row, x.size.height);
  column = clamped(column, x.size.width);
  const auto top = static_cast<std::int64_t>(row);
  const auto left = static_cast<std::int64_t>(column);
  const auto bottom = std::min(top + 1, x.size.height - 1);
  const auto right = std::min(left + 1, x.size.width - 1);
  const double v = row - static_cast<double>(top);
  const double u = column - static_cast<double>(left);
  return (1 - v) *
             ((1 - u) * x.at(n, c, top, left) + u * x.at(n, c, top, right)) +
         v * ((1 - u) * x.at(n, c, bottom, left) +
              u * x.at(n, c, bottom, right));
}

TEST(StructureNodes, UpsamplingBilinear) {
  for (const bool aligns : {false, true}) {
    NodeCase node{
        aligns ? "aligned" : "half pixels",
        {{2, 3, 4}},
        [&](const auto& s) -> FilterNode {
          return UpsamplingBilinearNode(s[0], 2, 3, aligns);
        },
        [&](const auto& s) {
          Images y({2, 9, 8});
          for_each_element(y.size, [&](auto n, auto c, auto i, auto j) {
            const auto at = [&](std::int64_t k, double in, double out) {
              return aligns ? double(k) * (in - 1) / (out - 1)
                            : (double(k) + 0.5) * in / out - 0.5;
            };
            y.at(n, c, i, j) = bilinear(s[0], n, c, at(i, 3, 9), at(j, 4, 8));
          });
          return y;
        }};
    node.is_mpsnns = aligns;
    check_node(node, 66);
  }
  const BilinearScaleNode scale(ImageNode("x", {1, 4, 4}), {3, 7});
  EXPECT_EQ(scale.result_image().size(), (ImageSize{1, 3, 7}));
  EXPECT_FALSE(scale.result_state());
}

TEST(StructureNodes, GramMatrix) {
  check_node({"gram",
              {{3, 2, 4}},
              [](const auto& s) -> FilterNode {
                return GramMatrixCalculationNode(s[0], 0.25f);
              },
              [](const auto& s) {
                Images y({3, 1, 3});
                for_each_element(
                    s[0].size, [&](auto n, auto c, auto i, auto j) {
                      for (std::int64_t f = 0; f < 3; ++f) {
                        y.at(n, c, 0, f) +=
                            0.25 * s[0].at(n, f, i, j) * s[0].at(n, c, i, j);
                      }
                    });
                return y;
              }},
             67);
}

// Losses: the result of a LossNode is the gradient of the formula.

struct LossCase {
  LossType type;
  std::function<double(double y, double t)> loss;
  double low, high;
};

TEST(LossNodes, GiveGradientsThatNothingDivides) {
  const double epsilon = 1e-3, delta = 0.5;
  const std::vector<LossCase> cases{
      {LossType::MeanAbsoluteError,
       [](double y, double t) { return std::abs(y - t); }, -1, 1},
      {LossType::MeanSquaredError,
       [](double y, double t) { return (y - t) * (y - t); }, -1, 1},
      {LossType::SigmoidCrossEntropy,
       [](double y, double t) {
         return std::max(y, 0.0) - y * t + std::log1p(std::exp(-std::abs(y)));
       },
       -3, 3},
      {LossType::Hinge,
       [](double y, double t) { return std::max(1 - (2 * t - 1) * y, 0.0); },
       -2, 2},
      {LossType::Huber,
       [=](double y, double t) {
         const double e = std::abs(y - t);
         return e <= delta ? e * e / 2
                           : delta * delta / 2 + delta * (e - delta);
       },
       -2, 2},
      {LossType::Log,
       [=](double y, double t) {
         return -t * std::log(y + epsilon) -
                (1 - t) * std::log(1 - y + epsilon);
       },
       0.1, 0.9},
      {LossType::KullbackLeiblerDivergence,
       [](double y, double t) { return t == 0 ? 0 : t * (std::log(t) - y); },
       -3, 0},
  };
  const ImageSize size{3, 2, 2};
  for (const LossCase& c : cases) {
    SCOPED_TRACE(to_string(c.type));
    std::mt19937 engine(71);
    std::uniform_real_distribution<float> uniform(static_cast<float>(c.low),
                                                  static_cast<float>(c.high));
    Floats y(24), t(24), w = random_floats(24, 72);
    for (float& value : y) value = uniform(engine);
    for (std::size_t i = 0; i < t.size(); ++i) t[i] = i % 3 == 0 ? 1 : 0;
    const ImageNode prediction("y", size), labels("t", size),
        weights("w", size);
    LossDescriptor descriptor{
        .type = c.type, .reduction = ReductionType::Mean, .weight = 1.5f};
    if (c.type == LossType::Log) descriptor.epsilon = 1e-3f;
    if (c.type == LossType::Huber) descriptor.delta = 0.5f;
    const LossNode node(prediction, labels, descriptor, weights);
    Graph graph(test_device(), {node.result_image()}, {.batch_size = 2});
    const ExecutionResult run =
        graph.execute({{"y", view(y)}, {"t", view(t)}, {"w", view(w)}})
            .result();
    if (test_device().type() == DeviceType::Null) continue;
    const Floats gradient = floats_of(run.output("loss"));
    const Floats losses = floats_of(run.output("loss.loss"));
    ASSERT_EQ(losses.size(), 2u);
    double sums[2] = {0, 0};
    for (std::size_t i = 0; i < 24; ++i) {
      const double scale = 1.5 * w[i], h = 1e-6;
      sums[i / 12] += scale * c.loss(y[i], t[i]) / 12;
      const double expected =
          scale * (c.loss(y[i] + h, t[i]) - c.loss(y[i] - h, t[i])) / (2 * h);
      EXPECT_NEAR(gradient[i], expected, 2e-5) << i;
    }
    EXPECT_NEAR(losses[0], sums[0], 1e-5);
    EXPECT_NEAR(losses[1], sums[1], 1e-5);
  }
}

TEST(LossNodes, SoftmaxCrossEntropyIsOverChannels) {
  const ImageSize size{3, 1, 2};
  const ImageNode prediction("y", size), labels("t", size);
  const LossNode node(prediction, labels,
                      {.type = LossType::SoftmaxCrossEntropy});
  EXPECT_EQ(node.loss_image().size(), (ImageSize{1, 1, 2}));
  Graph graph(test_device(), {node.result_image()});
  const Floats y{1, 2, 3, 4, 5, 6}, t{1, 0, 0, 0, 0, 1};
  const ExecutionResult run =
      graph.execute({{"y", view(y)}, {"t", view(t)}}).result();
  if (test_device().type() == DeviceType::Null) return;
  const Floats gradient = floats_of(run.output("loss"));
  const double sum = std::exp(-4.0) + std::exp(-2.0) + 1;
  for (std::size_t k = 0; k < 3; ++k) {
    for (std::size_t p = 0; p < 2; ++p) {
      const double soft = std::exp(2.0 * double(k) - 4) / sum;
      EXPECT_NEAR(gradient[2 * k + p], soft - t[2 * k + p], 1e-6);
    }
  }
}

TEST(LossNodes, RefuseOptionsWithoutEffect) {
  const ImageNode y("y", {2, 1, 1}), t("t", {2, 1, 1});
  const auto refused = [&](LossDescriptor descriptor) {
    return error_of<InvalidArgument>([&] { LossNode(y, t, descriptor); }).what;
  };
  refused({.type = LossType::MeanSquaredError, .delta = 2});
  refused({.type = LossType::Hinge, .label_smoothing = 0.5f});
  refused({.reduction = ReductionType::Max});
  refused({.weight = NAN});
  EXPECT_EQ(error_of<ShapeError>([&] {
              LossNode(y, ImageNode("u", {1, 1, 1}), {});
            }).node,
            "u");
}

TEST(LossNodes, AForwardLossBeginsWithAnInitialGradient) {
  const ImageSize size{2, 1, 1};
  const ImageNode prediction("y", size), labels("t", size);
  const ForwardLossNode loss(prediction, labels,
                             {.reduction = ReductionType::Sum});
  const InitialGradientNode one(loss.result_image());
  const auto leaves = one.training_graph();
  ASSERT_EQ(leaves.size(), 1u);
  EXPECT_EQ(leaves[0].result_image().handle(), "y");
  Graph graph(test_device(), {loss.result_image(), leaves[0].result_image()});
  const Floats y{1, 3}, t{0.5f, 5};
  const ExecutionResult run =
      graph.execute({{"y", view(y)}, {"t", view(t)}}).result();
  if (test_device().type() == DeviceType::Null) return;
  EXPECT_EQ(floats_of(run.output("forward_loss")), (Floats{4.25f}));
  EXPECT_EQ(floats_of(run.output("y")), (Floats{1, -4}));
}

}  // namespace
}  // namespace traingraph::nodes
