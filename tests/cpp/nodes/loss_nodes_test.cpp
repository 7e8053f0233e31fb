// SPDX-License-Identifier: MIT
// Losses that have gradient filters: of the prediction and of the labels, with
// every reduction.
#include <array>

#include "nodes/node_check.h"

namespace traingraph::nodes {
namespace {

using namespace testing;
using enum LossType;

constexpr ImageSize kSize{3, 2, 2};
constexpr double kEpsilon = 1e-3, kDelta = 0.5, kSmoothing = 0.2;
constexpr float kWeight = 1.5f;

bool is_over_classes(LossType type) {
  return type == SoftmaxCrossEntropy || type == CategoricalCrossEntropy;
}

double element_loss(LossType type, double y, double t) {
  const double e = std::abs(y - t);
  switch (type) {
    case MeanAbsoluteError:
      return e;
    case MeanSquaredError:
      return e * e;
    case SigmoidCrossEntropy:
      return std::max(y, 0.0) - y * (t * (1 - kSmoothing) + kSmoothing / 2) +
             std::log1p(std::exp(-std::abs(y)));
    case Hinge:
      return std::max(1 - (2 * t - 1) * y, 0.0);
    case Huber:
      return e <= kDelta ? e * e / 2 : kDelta * (e - kDelta / 2);
    case Log:
      return -t * std::log(y + kEpsilon) - (1 - t) * std::log(1 - y + kEpsilon);
    default:
      return t * (std::log(t) - y);  // Kullback and Leibler's
  }
}

/// The losses as images, before weights.
Images losses_of(LossType type, const Images& y, const Images& t) {
  if (type == CosineDistance) {
    Images losses({1, 1, 1});
    for (double& loss : losses.values) loss = 1;
    for_each_element(y.size, [&](auto n, auto c, auto i, auto j) {
      losses.at(n, 0, 0, 0) -= y.at(n, c, i, j) * t.at(n, c, i, j);
    });
    return losses;
  }
  if (!is_over_classes(type)) {
    Images losses(y.size);
    for_each_element(y.size, [&](auto n, auto c, auto i, auto j) {
      losses.at(n, c, i, j) =
          element_loss(type, y.at(n, c, i, j), t.at(n, c, i, j));
    });
    return losses;
  }
  const auto num_classes = static_cast<double>(y.size.feature_channels);
  Images losses({1, y.size.height, y.size.width});
  for_each_element(y.size, [&](auto n, auto c, auto i, auto j) {
    double log_p = std::log(y.at(n, c, i, j));
    if (type == SoftmaxCrossEntropy) {
      double sum = 0;
      for (std::int64_t k = 0; k < y.size.feature_channels; ++k) {
        sum += std::exp(y.at(n, k, i, j));
      }
      log_p = y.at(n, c, i, j) - std::log(sum);
    }
    losses.at(n, 0, i, j) -=
        (t.at(n, c, i, j) * (1 - kSmoothing) + kSmoothing / num_classes) *
        log_p;
  });
  return losses;
}

/// Weighted; `weights` has the size of the losses.
Images weighted(LossType type, const std::vector<Images>& sources) {
  Images losses = losses_of(type, sources[0], sources[1]);
  for (std::size_t i = 0; i < losses.values.size(); ++i) {
    losses.values[i] *=
        kWeight * (sources.size() > 2 ? sources[2].values[i] : 1);
  }
  return losses;
}

Images reduced(const Images& losses, ReductionType reduction) {
  if (reduction == ReductionType::None) return losses;
  Images sums({1, 1, 1});
  const auto count = static_cast<double>(losses.values.size()) / double(kBatch);
  for_each_element(losses.size, [&](auto n, auto c, auto i, auto j) {
    sums.at(n, 0, 0, 0) +=
        losses.at(n, c, i, j) / (reduction == ReductionType::Mean ? count : 1);
  });
  return sums;
}

LossDescriptor descriptor_of(LossType type, ReductionType reduction) {
  LossDescriptor d{.type = type, .reduction = reduction, .weight = kWeight};
  if (type == Log) d.epsilon = static_cast<float>(kEpsilon);
  if (type == Huber) d.delta = static_cast<float>(kDelta);
  if (is_over_classes(type) || type == SigmoidCrossEntropy) {
    d.label_smoothing = static_cast<float>(kSmoothing);
  }
  return d;
}

constexpr std::array kTypes{MeanAbsoluteError,
                            MeanSquaredError,
                            SoftmaxCrossEntropy,
                            SigmoidCrossEntropy,
                            CategoricalCrossEntropy,
                            Hinge,
                            Huber,
                            CosineDistance,
                            Log,
                            KullbackLeiblerDivergence};

ImageSize loss_size(LossType type) {
  if (type == CosineDistance) return {1, 1, 1};
  return is_over_classes(type) ? ImageSize{1, 2, 2} : kSize;
}

/// MPSNN has gradients by predictions only. Formulas that are misprinted, means
/// and sizes that are not documented, and labels that only this library smooths
/// are left out.
bool has_mpsnn_class(LossType type, ReductionType reduction, bool has_weights) {
  switch (type) {
    case MeanSquaredError:
    case SigmoidCrossEntropy:
    case Log:
      return reduction != ReductionType::Mean;
    case SoftmaxCrossEntropy:
      return reduction == ReductionType::Sum && !has_weights;
    case CosineDistance:
      return !has_weights;
    default:
      return false;
  }
}

TEST(ForwardLossNodes, HaveGradientsByPredictionAndLabels) {
  unsigned seed = 90;
  for (const LossType type : kTypes) {
    for (const ReductionType reduction :
         {ReductionType::None, ReductionType::Sum, ReductionType::Mean}) {
      for (const bool has_weights : {false, true}) {
        NodeCase node{.name = std::string(to_string(type)) + ", " +
                              std::string(to_string(reduction)),
                      .sources = {kSize, kSize},
                      .make =
                          [=](const std::vector<ImageNode>& x) {
                            return ForwardLossNode(
                                x[0], x[1], descriptor_of(type, reduction),
                                has_weights ? x[2] : ImageNode());
                          },
                      .formula =
                          [=](const std::vector<Images>& x) {
                            return reduced(weighted(type, x), reduction);
                          },
                      .num_gradients = 2};
        if (has_weights) node.sources.push_back(loss_size(type));
        const bool takes_logarithms = type == Log ||
                                      type == CategoricalCrossEntropy ||
                                      type == KullbackLeiblerDivergence;
        if (takes_logarithms) node.low = 0.1, node.high = 0.9;
        if (type == Hinge) node.low = -2, node.high = 2;
        node.is_mpsnns = false;
        check_node(node, ++seed);
        if (!has_mpsnn_class(type, reduction, has_weights)) continue;
        node.is_mpsnns = true;
        node.num_asked = 1;
        check_node(node, seed);
      }
    }
  }
}

TEST(ForwardLossNodes, LabelsOfZeroHaveNoGradientOfADivergence) {
  const ImageNode y("y", {2, 1, 1}), t("t", {2, 1, 1});
  const ForwardLossNode loss(y, t, {.type = KullbackLeiblerDivergence});
  const InitialGradientNode one(loss.result_image());
  const auto gradients = loss.gradient_filters(one.result_image());
  ASSERT_EQ(gradients.size(), 2u);
  gradients[1].result_image().set_handle("dt");
  Graph graph(test_device(), {gradients[1].result_image()});
  const Floats y_data{-1, -2}, t_data{0, 1};
  const ExecutionResult run =
      graph.execute({{"y", view(y_data)}, {"t", view(t_data)}}).result();
  if (!computes()) return;
  EXPECT_EQ(floats_of(run.output("dt")), (Floats{0, 3}));
}

TEST(ForwardLossNodes, TheSingularCallIsThatOfThePrediction) {
  const ImageNode y("y", kSize), t("t", kSize);
  const ForwardLossNode loss(y, t, {});
  const InitialGradientNode one(loss.result_image());
  EXPECT_EQ(loss.gradient_filter(one.result_image()).source_index(), 0);
  EXPECT_EQ(loss.gradient_filters(one.result_image())[1].source_index(), 1);
  // The walk goes on behind labels that a filter makes, and ends at others.
  EXPECT_EQ(one.training_graph().size(), 1u);
  const ReLUNode teacher(t);
  const ForwardLossNode distance(y, teacher.result_image(), {});
  const auto leaves =
      InitialGradientNode(distance.result_image()).training_graph();
  ASSERT_EQ(leaves.size(), 2u);
  EXPECT_NE(leaves[0].result_image().handle(),
            leaves[1].result_image().handle());
}

/// The loss of the whole batch and its gradients, by an initial gradient.
void check_whole_batch(LossType type, const LossDescriptor& descriptor,
                       const std::vector<Images>& sources,
                       const std::function<double(const Images&)>& total) {
  SCOPED_TRACE(to_string(type));
  const ImageNode y("y", kSize), t("t", kSize), w("w", loss_size(type));
  const ForwardLossNode loss(y, t, descriptor,
                             sources.size() > 2 ? w : ImageNode());
  EXPECT_EQ(loss.result_image().size(), (ImageSize{1, 1, 1}));
  const InitialGradientNode one(loss.result_image());
  const auto gradients = loss.gradient_filters(one.result_image());
  std::vector<ImageNode> results{loss.result_image()};
  for (std::size_t i = 0; i < 2; ++i) {
    results.push_back(gradients[i].result_image());
    results.back().set_handle("d" + std::to_string(i));
  }
  Graph graph(test_device(), results, {.batch_size = kBatch});
  std::vector<Floats> data;
  for (const Images& source : sources) {
    data.emplace_back(source.values.begin(), source.values.end());
  }
  std::vector<NamedData> named;
  const char* const names[] = {"y", "t", "w"};
  for (std::size_t i = 0; i < data.size(); ++i) {
    named.push_back({names[i], view(std::as_const(data[i]))});
  }
  const ExecutionResult run = graph.execute(DataList(named)).result();
  if (!computes()) return;
  const auto value = [&](const std::vector<Images>& x) {
    return total(weighted(type, x));
  };
  const Floats got = floats_of(run.output("forward_loss"));
  const std::size_t count = descriptor.reduce_across_batch ? 1 : kBatch;
  ASSERT_EQ(got.size(), count);
  double sum = 0;
  for (const float each : got) sum += each;
  EXPECT_NEAR(sum, value(sources), 2e-5);
  for (std::size_t i = 0; i < 2; ++i) {
    const Floats d = floats_of(run.output("d" + std::to_string(i)));
    for (std::size_t j = 0; j < d.size(); ++j) {
      constexpr double kStep = 1e-6;
      std::vector<Images> moved = sources;
      moved[i].values[j] += kStep;
      const double above = value(moved);
      moved[i].values[j] -= 2 * kStep;
      EXPECT_NEAR(d[j], (above - value(moved)) / (2 * kStep), 2e-5)
          << names[i] << " at " << j;
    }
  }
}

std::vector<Images> some_sources(LossType type, bool has_weights) {
  std::vector<Images> sources;
  for (unsigned i = 0; i < (has_weights ? 3u : 2u); ++i) {
    Images images(i < 2 ? kSize : loss_size(type));
    const Floats values = random_floats(images.values.size(), 200 + i);
    for (std::size_t j = 0; j < values.size(); ++j) {
      images.values[j] = 0.5f + 0.375f * values[j];
      if (i == 2 && j % 3 == 1) images.values[j] = 0;
    }
    sources.push_back(std::move(images));
  }
  return sources;
}

double sum_of(const Images& losses) {
  double sum = 0;
  for (const double loss : losses.values) sum += loss;
  return sum;
}

TEST(ForwardLossNodes, ReduceAcrossTheBatch) {
  for (const LossType type : kTypes) {
    for (const bool has_weights : {false, true}) {
      LossDescriptor d = descriptor_of(type, ReductionType::Sum);
      d.reduce_across_batch = true;
      const auto sources = some_sources(type, has_weights);
      check_whole_batch(type, d, sources, sum_of);
      d.reduction = ReductionType::Mean;
      check_whole_batch(type, d, sources, [](const Images& losses) {
        return sum_of(losses) / static_cast<double>(losses.values.size());
      });
    }
  }
}

TEST(ForwardLossNodes, DivideByTheNumberOfWeightsThatAreNotZero) {
  for (const LossType type : kTypes) {
    for (const bool across_batch : {false, true}) {
      LossDescriptor d = descriptor_of(type, ReductionType::Sum);
      d.reduce_across_batch = across_batch;
      d.divides_by_non_zero_weights = true;
      const auto sources = some_sources(type, /*has_weights=*/true);
      const Images& w = sources[2];
      const auto total = [&](const Images& losses) {
        double sums[kBatch] = {}, counts[kBatch] = {};
        for_each_element(losses.size, [&](auto n, auto c, auto i, auto j) {
          const std::int64_t at = across_batch ? 0 : n;
          sums[at] += losses.at(n, c, i, j);
          counts[at] += w.at(n, c, i, j) != 0 ? 1 : 0;
        });
        double sum = 0;
        for (std::int64_t n = 0; n < kBatch; ++n) {
          if (counts[n] > 0) sum += sums[n] / counts[n];
        }
        return sum;
      };
      check_whole_batch(type, d, sources, total);
      // There are as many as losses where there are no weights.
      const auto mean = [&](const Images& losses) {
        return sum_of(losses) * (across_batch ? 1 : double(kBatch)) /
               static_cast<double>(losses.values.size());
      };
      check_whole_batch(type, d, some_sources(type, false), mean);
    }
  }
}

TEST(ForwardLossNodes, ALossNodesGradientIsNotReduced) {
  const ImageNode y("y", {2, 1, 1}), t("t", {2, 1, 1});
  const LossNode loss(
      y, t, {.reduction = ReductionType::Mean, .reduce_across_batch = true});
  Graph graph(test_device(), {loss.result_image()}, {.batch_size = 2});
  const Floats y_data{1, 3, 2, 2}, t_data{0, 1, 2, 1};
  const ExecutionResult run =
      graph.execute({{"y", view(y_data)}, {"t", view(t_data)}}).result();
  if (!computes()) return;
  EXPECT_EQ(floats_of(run.output("loss")), (Floats{2, 4, 0, 2}));
  EXPECT_EQ(floats_of(run.output("loss.loss")), (Floats{1.5f}));
}

TEST(ForwardLossNodes, GradientsOfTheLossOfABatchAddUp) {
  const ImageNode y("y", {1, 1, 1}), t("t", {1, 1, 1}), g("g", {1, 1, 1});
  const ForwardLossNode loss(
      y, t, {.reduction = ReductionType::Sum, .reduce_across_batch = true});
  const GradientFilterNode gradient = loss.gradient_filter(g);
  gradient.result_image().set_handle("dy");
  Graph graph(test_device(), {gradient.result_image()}, {.batch_size = 2});
  const Floats y_data{1, 3}, t_data{0, 1}, g_data{1, 2};
  const ExecutionResult run =
      graph
          .execute(
              {{"y", view(y_data)}, {"t", view(t_data)}, {"g", view(g_data)}})
          .result();
  if (!computes()) return;
  EXPECT_EQ(floats_of(run.output("dy")), (Floats{6, 12}));
}

TEST(ForwardLossNodes, RefuseReductionsThatSayNothing) {
  const ImageNode y("y", kSize), t("t", kSize);
  const auto refused = [&](const LossDescriptor& descriptor) {
    return error_of<InvalidArgument>([&] { ForwardLossNode(y, t, descriptor); })
        .op;
  };
  EXPECT_EQ(refused({.reduce_across_batch = true}), "ForwardLossNode");
  refused({.divides_by_non_zero_weights = true});
  refused(
      {.reduction = ReductionType::Mean, .divides_by_non_zero_weights = true});
}

}  // namespace
}  // namespace traingraph::nodes
