// SPDX-License-Identifier: MIT
// Batch normalization whose statistics are those of all ranks, beside one
// process that has the whole batch.
#include <gtest/gtest.h>

#include <cmath>

#include "exchange/norm_net.h"
#include "support/optimizers.h"

namespace traingraph {
namespace {

using namespace testing;

constexpr int kNormSteps = 3;
// Sums of up to 240 samples per channel are taken in another order and as
// parts: 240 roundings of 2^-24 would be 1.4e-5 of their magnitude, at random
// 1e-6. Values are about 1 and go through three normalizations, which divide by
// standard deviations of no less than 0.3; three updates at rate 0.1.
constexpr double kNormRounding = 1e-5;

struct Trained {
  std::vector<Floats> values;
  Floats input_gradient;
};

Trained alone(const NormOptions& options, Way way) {
  NormNet net(options);
  for (int i = 0; i < kNormSteps; ++i) net.train(way, {0, NormNet::kSamples});
  return {net.values(), net.input_gradient(NormNet::kSamples)};
}

/// Input gradients of all ranks follow each other.
std::vector<Trained> together(const NormOptions& options, Way way,
                              const std::vector<Part>& parts) {
  const int size = static_cast<int>(parts.size());
  ThreadGroup group(size);
  std::vector<Trained> trained(parts.size());
  on_each_rank(size, [&](int rank) {
    NormNet net(with_norms(options, group, rank));
    for (int i = 0; i < kNormSteps; ++i) net.train(way, parts[rank]);
    trained[rank] = {net.values(), net.input_gradient(parts[rank].count)};
  });
  return trained;
}

void expect_same(const std::vector<Trained>& of_ranks, const Trained& expected,
                 double tolerance) {
  Floats input_gradient;
  for (const Trained& rank : of_ranks) {
    EXPECT_EQ(rank.values, of_ranks.front().values);  // in all bits
    input_gradient.insert(input_gradient.end(), rank.input_gradient.begin(),
                          rank.input_gradient.end());
  }
  expect_all_near(of_ranks.front().values, expected.values, tolerance);
  expect_all_near({input_gradient}, {expected.input_gradient}, tolerance);
}

TEST(SynchronizedBatchNorm, IsThatOfTheWholeBatch) {
  for (const ReductionType reduction :
       {ReductionType::Mean, ReductionType::Sum}) {
    for (const Way way : {Way::Step, Way::Phases}) {
      NormOptions options{.reduction = reduction};
      const Trained expected = alone(options, way);
      for (int size = 1; size <= 4; ++size) {
        for (const bool is_even : {true, false}) {
          SCOPED_TRACE(std::to_string(size) + " ranks, even " +
                       std::to_string(is_even) + ", way " +
                       std::to_string(static_cast<int>(way)));
          options.compile.data_parallel.bucket_bytes =
              size % 2 == 0 ? 64 : 4096;
          options.compile.data_parallel.shard_optimizer = size == 3;
          options.compile.disable_layer_fusion = size == 4;
          expect_same(together(options, way, parts_of(size, is_even)), expected,
                      kNormRounding);
        }
      }
    }
  }
}

TEST(SynchronizedBatchNorm, IsNotWithoutTheOption) {
  const NormOptions options;
  const auto parts = parts_of(2, /*is_even=*/true);
  ThreadGroup group(2);
  std::vector<std::vector<Floats>> values(2);
  on_each_rank(2, [&](int rank) {
    NormOptions own = with_norms(options, group, rank);
    own.compile.data_parallel.synchronize_batch_norm = false;
    NormNet net(own);
    net.train(Way::Step, parts[rank]);
    values[rank] = net.values();
  });
  EXPECT_NE(values[0].back(), values[1].back());  // a running variance
}

/// Activations and their gradients, of magnitude 1 and less, are rounded to 8
/// bits: to 2^-9. Sums in another order round to a neighbour at most. Without
/// the option input gradients differ by 2^-5.
TEST(SynchronizedBatchNorm, TrainsInMixedPrecision) {
  for (const Precision precision :
       {Precision::MixedBFloat16, Precision::MixedFloat16}) {
    SCOPED_TRACE(to_string(precision));
    NormOptions options;
    options.compile.precision = precision;
    const Trained expected = alone(options, Way::Step);
    const auto parts = parts_of(3, /*is_even=*/false);
    expect_same(together(options, Way::Step, parts), expected, 0x1p-8);
  }
}

/// Other batch sizes have other units, with buckets between them; and many
/// executions are in flight.
TEST(SynchronizedBatchNorm, StaysTogetherOverRandomBatchesAndDelays) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(seed);
  ThreadGroup group(
      3, {.longest_delay = std::chrono::microseconds(200), .seed = seed});
  std::vector<std::vector<Floats>> values(3);
  on_each_rank(3, [&](int rank) {
    NormOptions options;
    options.compile.data_parallel.bucket_bytes = 100;
    options.compile.data_parallel.reduce_losses = true;
    NormNet net(with_norms(options, group, rank));
    std::mt19937 random(seed + static_cast<unsigned>(rank));
    for (int step = 0; step < 20; ++step) {
      net.step({0, static_cast<std::int64_t>(random() % 12 + 1)});
    }
    values[rank] = net.values();
  });
  EXPECT_EQ(values[1], values[0]);
  EXPECT_EQ(values[2], values[0]);
}

/// Two layers whose biases have one gradient, which is a view of it where there
/// is one sample and a sum elsewhere: buckets are complete after other units.
std::vector<Floats> train_branches(const CompileOptions& options, Part part) {
  const auto parameter = [](Shape shape, unsigned seed) {
    return Tensor({shape}, view(random_floats(shape.num_elements(), seed)));
  };
  const Tensor x({{12, 5}}, "x"), label({{12, 3}}, "label");
  Graph graph;
  const auto dense = [&](std::int64_t from, std::int64_t to, unsigned seed,
                         const Tensor& source) {
    return graph.node(
        std::make_shared<layers::FullyConnected>(parameter({to, from}, seed),
                                                 parameter({to}, seed + 1)),
        source);
  };
  const auto norm = std::make_shared<layers::BatchNormalization>(7);
  const Tensor h = graph.node(norm, dense(5, 7, 1, x));
  graph.node(std::make_shared<layers::Arithmetic>(ArithmeticOperation::Add),
             std::vector{dense(7, 3, 3, h), dense(5, 3, 5, x)});
  TrainingGraph t({graph}, std::make_shared<losses::MeanSquaredError>(),
                  sgd(0.05f));
  t.add_inputs({{"x", x}}, {{"label", label}});
  t.compile(rank_device(), options);
  const Floats images = random_floats(12 * 5, 7), wanted = random_floats(36, 8);
  for (int i = 0; i < kNormSteps; ++i) {
    t.execute({{"x", SmallNet::rows(images, 5, part.begin, part.count)}},
              {{"label", SmallNet::rows(wanted, 3, part.begin, part.count)}},
              {}, {.batch_size = part.count})
        .wait();
  }
  std::vector<Floats> values;
  for (const Tensor& each : t.parameters()) values.push_back(read(each));
  return values;
}

TEST(SynchronizedBatchNorm, GoesBeforeAllBucketsWhateverTheBatch) {
  const auto expected = train_branches({}, {0, 12});
  ThreadGroup group(2);
  on_each_rank(2, [&](int rank) {
    CompileOptions options;
    options.data_parallel = {.collective = group[rank],
                             .bucket_bytes = 16,
                             .collective_timeout = 20,
                             .synchronize_batch_norm = true};
    const Part part = rank == 0 ? Part{0, 11} : Part{11, 1};
    expect_all_near(train_branches(options, part), expected, kNormRounding);
  });
}

TEST(SynchronizedBatchNorm, AProfileHasTheWaitsAndTheWorkOfOneUnit) {
  ThreadGroup group(2);
  on_each_rank(2, [&](int rank) {
    NormOptions options = with_norms({}, group, rank);
    options.compile.data_parallel.synchronize_batch_norm = false;
    const LayerRow own = NormNet(options).t->report().total;
    NormNet net(with_norms({}, group, rank));
    net.step({0, NormNet::kSamples}, {.per_layer_profiling = true}).wait();
    const Profile profile = net.t->profile();
    EXPECT_TRUE(profile.synchronize_batch_norm);
    int waits = 0;
    for (const ExchangeSpan& span : profile.exchange) {
      if (!span.name.starts_with("statistics of \"batch_norm")) continue;
      ++waits;
      EXPECT_EQ(span.kind, "wait");
      // Four or two numbers per channel, of which there are three or four.
      const std::size_t count = span.bytes / sizeof(float);
      EXPECT_TRUE(count == 12 || count == 16 || count == 6 || count == 8);
    }
    EXPECT_EQ(waits, 6);  // three layers, forward and gradient
    EXPECT_EQ(net.t->report().total.forward.flops, own.forward.flops);
    EXPECT_EQ(net.t->report().total.gradient.flops, own.gradient.flops);
  });
}

/// A normalization alone: its result is the last tensor, its loss a mean.
struct OneNorm {
  static constexpr std::int64_t kSamples = 12, kChannels = 3, kInner = 50;
  static constexpr std::int64_t kSize = kChannels * kInner;

  explicit OneNorm(const CompileOptions& options) {
    const auto layer = std::make_shared<layers::BatchNormalization>(
        kChannels, BatchNormalizationOptions{.momentum = 0});
    mean = layer->mean();
    variance = layer->variance();
    y = graph.node(layer, x);
    t.emplace(std::vector{graph},
              std::make_shared<losses::MeanSquaredError>(
                  LossDescriptor{.reduction_type = ReductionType::Mean}),
              sgd(0.1f));
    t->add_inputs({{"x", x}}, {{"label", label}});
    t->add_outputs({{"y", y}});
    CompileOptions own = options;
    own.compute_all_gradients = true;
    t->compile(rank_device(), own);
  }

  /// y, dx, running mean, running variance of a part.
  std::vector<Floats> train(const Floats& values, const Floats& labels,
                            Part part) {
    const auto rows = [&](const Floats& of) {
      return SmallNet::rows(of, kSize, part.begin, part.count);
    };
    const Execution done =
        t->execute({{"x", rows(values)}}, {{"label", rows(labels)}}, {},
                   {.batch_size = part.count});
    const ExecutionResult result = done.result();
    Floats dx = read(t->gradient_tensor(x));
    dx.resize(static_cast<std::size_t>(part.count * kSize));
    return {floats_of(result.output("y")), dx, read(mean), read(variance)};
  }

  Tensor x{{{kSamples, kChannels, kInner}}, "x"},
      label{{{kSamples, kChannels, kInner}}, "label"}, y, mean, variance;
  Graph graph;
  std::optional<TrainingGraph> t;
};

/// Computes the definitions in float64.
std::vector<Doubles> normalized(const Floats& x, const Floats& labels) {
  using N = OneNorm;
  const double n = N::kSamples * N::kInner;
  std::vector<Doubles> all{Doubles(x.size()), Doubles(x.size()),
                           Doubles(N::kChannels), Doubles(N::kChannels)};
  for (std::int64_t c = 0; c < N::kChannels; ++c) {
    const auto for_each = [&](auto&& f) {
      for (std::int64_t s = 0; s < N::kSamples; ++s) {
        for (std::int64_t i = 0; i < N::kInner; ++i) {
          f(static_cast<std::size_t>((s * N::kChannels + c) * N::kInner + i));
        }
      }
    };
    double mean = 0, variance = 0, g_sum = 0, product = 0;
    for_each([&](std::size_t i) { mean += x[i] / n; });
    for_each(
        [&](std::size_t i) { variance += (x[i] - mean) * (x[i] - mean) / n; });
    const double deviation = std::sqrt(variance + 1e-5f);
    const auto g = [&](std::size_t i) {
      return 2 * (all[0][i] - labels[i]) / static_cast<double>(x.size());
    };
    for_each([&](std::size_t i) { all[0][i] = (x[i] - mean) / deviation; });
    for_each([&](std::size_t i) {
      g_sum += g(i) / n;
      product += g(i) * all[0][i] / n;
    });
    for_each([&](std::size_t i) {
      all[1][i] = (g(i) - g_sum - all[0][i] * product) / deviation;
    });
    all[2][static_cast<std::size_t>(c)] = mean;
    all[3][static_cast<std::size_t>(c)] = variance * n / (n - 1);
  }
  return all;
}

double distance_of(const Floats& values, const Doubles& expected) {
  double error = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    error = std::max(error, std::fabs(values[i] - expected[i]));
  }
  return error;
}

TEST(SynchronizedBatchNorm, KeepsItsDigitsFarFromZero) {
  Floats x = random_floats(OneNorm::kSamples * OneNorm::kSize, 1);
  for (float& value : x) value += 1e4f;
  // One rank's samples are apart from the others', too.
  for (std::size_t i = 0; i < x.size() / 4; ++i) x[i] += 3;
  const Floats labels = random_floats(x.size(), 2);
  const auto expected = normalized(x, labels);
  const auto whole = OneNorm({}).train(x, labels, {0, OneNorm::kSamples});
  for (const bool is_even : {true, false}) {
    const auto parts = parts_of(4, is_even);
    ThreadGroup group(4);
    std::vector<std::vector<Floats>> of_ranks(4);
    on_each_rank(4, [&](int rank) {
      CompileOptions options;
      options.data_parallel = {.collective = group[rank],
                               .collective_timeout = 20,
                               .synchronize_batch_norm = true};
      of_ranks[rank] = OneNorm(options).train(x, labels, parts[rank]);
    });
    std::vector<Floats> all(4);
    for (const auto& rank : of_ranks) {
      for (std::size_t i : {0, 1}) {
        all[i].insert(all[i].end(), rank[i].begin(), rank[i].end());
      }
      EXPECT_EQ(rank[2], of_ranks[0][2]);
      EXPECT_EQ(rank[3], of_ranks[0][3]);
    }
    all[2] = of_ranks[0][2];
    all[3] = of_ranks[0][3];
    for (std::size_t i = 0; i < all.size(); ++i) {
      SCOPED_TRACE(i);
      ASSERT_EQ(all[i].size(), expected[i].size());
      EXPECT_LE(distance_of(all[i], expected[i]),
                2 * distance_of(whole[i], expected[i]));
    }
  }
}

}  // namespace
}  // namespace traingraph
