// SPDX-License-Identifier: MIT
// Indices that name no position: found on the host before anything runs, when
// the host gives them; else reported by the device, or NaN.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "support/training.h"

namespace traingraph {
namespace {

using namespace testing;

template <class I>
TensorData bytes(const std::vector<I>& indices) {
  return {static_cast<const void*>(indices.data()), indices.size() * sizeof(I)};
}

template <class I>
constexpr DataType kTypeOf = sizeof(I) == 4 ? DataType::Int32 : DataType::Int64;

/// Rows of a table of five, for four samples of two indices each.
template <class I>
struct Lookup {
  Lookup() {
    layer = std::make_shared<layers::Embedding>(
        EmbeddingDescriptor{.embedding_count = 5, .embedding_dimension = 1},
        EmbeddingOptions{.weights = Tensor({{5, 1}}, view(rows), "table")});
    layer->set_name("words");
    y = graph.node(layer, ids);
    t.emplace(std::vector{graph});
    t->add_inputs({{"ids", ids}});
    t->add_outputs({{"y", y}});
  }
  InferenceGraph& compiled() {
    t->compile(test_device());
    return *t;
  }
  Floats run(const std::vector<I>& indices, std::int64_t batch = 0) {
    const auto result =
        t->execute({{"ids", bytes(indices)}}, {}, {}, {.batch_size = batch})
            .result();
    return floats_of(result.output("y"));
  }
  Floats rows{0, 10, 20, 30, 40};
  Tensor ids{{{4, 2}, kTypeOf<I>}, "ids"}, y;
  std::shared_ptr<layers::Embedding> layer;
  Graph graph;
  std::optional<InferenceGraph> t;
};

template <class I>
class IndexInputs : public ::testing::Test {};
using IndexTypes = ::testing::Types<std::int32_t, std::int64_t>;
TYPED_TEST_SUITE(IndexInputs, IndexTypes);

TYPED_TEST(IndexInputs, OfACallAreChecked) {
  using Ids = std::vector<TypeParam>;
  Lookup<TypeParam> net;
  InferenceGraph& t = net.compiled();
  const Ids too_large{0, 1, 2, 3, 4, 0, 1, 5};
  ErrorInfo error = error_of<InvalidArgument>(
      [&] { t.execute({{"ids", bytes(too_large)}}); });
  EXPECT_EQ(error.op, "execute");
  EXPECT_EQ(error.node, "ids");
  EXPECT_EQ(error.expected, "0 to 4");
  EXPECT_EQ(error.got, "5");
  EXPECT_NE(error.what.find("(3, 1)"), std::string::npos) << error.what;
  EXPECT_NE(error.what.find("\"words\""), std::string::npos) << error.what;
  const Ids negative{0, -1, 2, 3, 4, 0, 1, 0};
  error =
      error_of<InvalidArgument>([&] { t.execute({{"ids", bytes(negative)}}); });
  EXPECT_EQ(error.got, "-1");
  EXPECT_NE(error.what.find("(0, 1)"), std::string::npos) << error.what;
  EXPECT_EQ(net.run({4, 1, 2, 3, 4, 0, 1, 1}),
            computed(Floats{40, 10, 20, 30, 40, 0, 10, 10}));
}

TYPED_TEST(IndexInputs, ThatDoNotRunAreNotLookedAt) {
  Lookup<TypeParam> net;
  net.compiled();
  EXPECT_EQ(net.run({4, 1, 2, 3, 99, 99, 99, 99}, 2),
            computed(Floats{40, 10, 20, 30}));
}

TYPED_TEST(IndexInputs, ThatAreBoundAreChecked) {
  using Ids = std::vector<TypeParam>;
  Lookup<TypeParam> net;
  InferenceGraph& t = net.compiled();
  const Ids bad{0, 1, 2, 3, 4, 0, 1, 5}, good{4, 3, 2, 1, 0, 0, 0, 0};
  ErrorInfo error = error_of<InvalidArgument>(
      [&] { t.bind_and_write_data({{"ids", bytes(bad)}}); });
  EXPECT_EQ(error.op, "bind_and_write_data");
  EXPECT_EQ(error.got, "5");
  t.bind_and_write_data({{"ids", bytes(good)}});
  const Floats expected = computed(Floats{40, 30, 20, 10, 0, 0, 0, 0});
  EXPECT_EQ(floats_of(t.execute({}).result().output("y")), expected);

  net.ids.set_data(bytes(bad));
  for (int i = 0; i < 2; ++i) {
    error = error_of<InvalidArgument>([&] { t.execute({}); });
    EXPECT_EQ(error.node, "ids");
    EXPECT_EQ(error.got, "5");
  }
  net.ids.set_data(bytes(good));
  EXPECT_EQ(floats_of(t.execute({}).result().output("y")), expected);
}

/// The op with the fewest positions counts.
TEST(IndexData, IsFollowedThroughReshapes) {
  Tensor ids({{2, 2}, DataType::Int32}, "ids");
  const Floats values(15, 1);
  Tensor small({{3, 1}}, view(values), "small");
  Tensor large({{5, 3}}, view(values), "large");
  Graph graph;
  const Tensor flat = graph.reshape({4}, graph.transpose({1, 0}, ids));
  graph.gather(0, large, flat);
  const Tensor y = graph.gather(0, small, flat);
  InferenceGraph t({graph});
  t.add_inputs({{"ids", ids}});
  t.add_outputs({{"y", y}});
  t.compile(test_device());
  const std::vector<std::int32_t> bad{0, 2, 3, 1}, good{0, 2, 2, 1};
  const ErrorInfo error =
      error_of<InvalidArgument>([&] { t.execute({{"ids", bytes(bad)}}); });
  EXPECT_EQ(error.expected, "0 to 2");
  EXPECT_NE(error.what.find("(1, 0)"), std::string::npos) << error.what;
  EXPECT_EQ(floats_of(t.execute({{"ids", bytes(good)}}).result().output("y")),
            computed(Floats(4, 1)));
}

TEST(IndexData, ThatIsConstantIsChecked) {
  const std::vector<std::int32_t> indices{0, 7};
  Tensor ids({{2}, DataType::Int32}, bytes(indices), "ids");
  Tensor x({{4, 3}}, "x");
  Graph graph;
  const Tensor y = graph.gather(1, x, ids);
  InferenceGraph t({graph});
  t.add_inputs({{"x", x}});
  t.add_outputs({{"y", y}});
  t.compile(test_device());
  const Floats data = random_floats(12, 1);
  const ErrorInfo error =
      error_of<InvalidArgument>([&] { t.execute({{"x", view(data)}}); });
  EXPECT_EQ(error.node, "ids");
  EXPECT_EQ(error.got, "7");
}

/// Labels of two samples, their lengths, and a graph that knows or computes
/// which labels count.
struct Spelled {
  explicit Spelled(bool computes_lengths = false) {
    Tensor counts = lengths;
    if (computes_lengths) {
      for (const DataType type : {DataType::Float32, DataType::Int32}) {
        counts = graph.op(OpKind::Cast, CastAttrs{type}, {counts})[0];
      }
    }
    const auto loss = std::make_shared<losses::CTC>(
        CTCDescriptor{.reduction_type = ReductionType::None, .blank = 1});
    loss->set_name("ctc");
    y = graph.node(loss, {x, labels, steps, counts});
    t.emplace(std::vector{graph});
    t->add_inputs(
        {{"x", x}, {"labels", labels}, {"steps", steps}, {"lengths", lengths}});
    t->add_outputs({{"y", y}});
    t->compile(test_device());
  }
  Floats run(const std::vector<std::int64_t>& names,
             const std::vector<std::int32_t>& counts, std::int64_t batch = 0) {
    const auto result = t->execute({{"x", view(scores)},
                                    {"labels", bytes(names)},
                                    {"steps", bytes(all)},
                                    {"lengths", bytes(counts)}},
                                   {}, {}, {.batch_size = batch})
                            .result();
    return floats_of(result.output("y"));
  }
  ErrorInfo error(const std::vector<std::int64_t>& names,
                  const std::vector<std::int32_t>& counts) {
    return error_of<InvalidArgument>([&] { run(names, counts); });
  }
  Floats scores = random_floats(2 * 5 * 4, 1);
  std::vector<std::int32_t> all{5, 5};
  Tensor x{{{2, 5, 4}}, "x"}, labels{{{2, 3}, DataType::Int64}, "labels"},
      steps{{{2}, DataType::Int32}, "steps"},
      lengths{{{2}, DataType::Int32}, "lengths"}, y;
  Graph graph;
  std::optional<InferenceGraph> t;
};

constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();

TEST(LabelRows, EndAtTheirLengths) {
  Spelled net;
  const Floats expected = net.run({0, 2, 3, 2, -1, -1}, {3, 1});
  EXPECT_EQ(net.run({0, 2, 3, 2, 4, -9}, {3, 1}), expected);
  EXPECT_EQ(net.run({0, 2, 3, 2, 1, kHuge}, {3, 1}), expected);
  EXPECT_EQ(net.run({0, 2, 3, 2, -1, 99}, {3, 3}), expected);
  net.run({9, 9, 9, 9, 9, 9}, {0, 0});
  net.run({0, 2, 3, 9, 9, 9}, {3, 3}, 1);

  ErrorInfo error = net.error({0, 2, 3, 2, 4, 4}, {3, 2});
  EXPECT_EQ(error.node, "labels");
  EXPECT_NE(error.what.find("(1, 1)"), std::string::npos) << error.what;
  EXPECT_EQ(error.expected, "0 to 3, or -1");
  EXPECT_EQ(error.got, "4");
  EXPECT_EQ(net.error({0, 2, -2, 2, 4, 4}, {3, 1}).got, "-2");
  EXPECT_EQ(net.error({0, 2, 3, 1, 0, 0}, {3, 1}).expected, "classes but 1");
}

TEST(LabelRows, ThatAreBoundAreCheckedWithTheLengthsOfACall) {
  Spelled net;
  const std::vector<std::int64_t> names{0, 2, 3, 2, 99, 99};
  net.t->bind_and_write_data({{"x", view(net.scores)},
                              {"labels", bytes(names)},
                              {"steps", bytes(net.all)}});
  const std::vector<std::int32_t> enough{3, 1}, too_many{3, 2};
  const auto run = [&](const std::vector<std::int32_t>& counts) {
    return net.t->execute({{"lengths", bytes(counts)}}).result();
  };
  const Floats expected = net.run({0, 2, 3, 2, -1, -1}, {3, 1});
  EXPECT_EQ(floats_of(run(enough).output("y")), expected);
  EXPECT_EQ(error_of<InvalidArgument>([&] { run(too_many); }).got, "99");
  net.labels.set_data(bytes(names));
  net.lengths.set_data(bytes(too_many));
  EXPECT_EQ(error_of<InvalidArgument>([&] { net.t->execute({}); }).got, "99");
  net.lengths.set_data(bytes(enough));
  EXPECT_EQ(floats_of(net.t->execute({}).result().output("y")), expected);
}

TEST(LabelRows, OfSeveralLossesAreThoseOfEach) {
  Spelled net;
  const Tensor fewer({{2}, DataType::Int32}, "fewer");
  Graph graph;
  std::vector<Tensor> sums;
  for (const Tensor& counts : {net.lengths, fewer}) {
    sums.push_back(graph.node(std::make_shared<losses::CTC>(),
                              {net.x, net.labels, net.steps, counts}));
  }
  InferenceGraph t({graph});
  t.add_inputs({{"x", net.x},
                {"labels", net.labels},
                {"steps", net.steps},
                {"lengths", net.lengths},
                {"fewer", fewer}});
  t.add_outputs({{"first", sums[0]}, {"second", sums[1]}});
  t.compile(test_device());
  const std::vector<std::int64_t> names{1, 2, 3, 2, 99, 99};
  const auto run = [&](const std::vector<std::int32_t>& first,
                       const std::vector<std::int32_t>& second) {
    t.execute({{"x", view(net.scores)},
               {"labels", bytes(names)},
               {"steps", bytes(net.all)},
               {"lengths", bytes(first)},
               {"fewer", bytes(second)}})
        .wait();
  };
  run({3, 1}, {0, 0});
  for (const bool is_first : {true, false}) {
    const std::vector<std::int32_t> bad{3, 2}, good{3, 1};
    EXPECT_EQ(error_of<InvalidArgument>([&] {
                run(is_first ? bad : good, is_first ? good : bad);
              }).got,
              "99");
  }
}

TEST(LabelRows, WhoseLengthsAreComputedAreReportedOrNaN) {
  if (!computes()) GTEST_SKIP() << "[  SKIPPED ] nothing is computed";
  Spelled known, net(/*computes_lengths=*/true);
  const Floats expected = known.run({0, 2, 3, 2, -1, -1}, {3, 1});
  EXPECT_EQ(net.run({0, 2, 3, 2, 4, kHuge}, {3, 1}), expected);
  for (const std::int64_t outside : {-2, 4}) {
    const std::vector<std::int64_t> names{0, 2, 3, outside, 4, 4};
    if (test_device_type() == DeviceType::CPU) {
      EXPECT_EQ(net.error(names, {3, 1}).got, std::to_string(outside));
      continue;
    }
    const Floats losses = net.run(names, {3, 1});
    EXPECT_EQ(losses[0], expected[0]);
    EXPECT_TRUE(std::isnan(losses[1]));
  }
}

/// x picks rows of a parameter: what the graph computes, no check can foresee.
struct Computed {
  Computed() {
    const Floats values{1, 2, 3};
    table = Tensor({{3, 1}}, view(values), "table");
    const Tensor ids =
        graph.op(OpKind::Cast, CastAttrs{DataType::Int32}, {x}, "to_int")[0];
    y = graph.node(
        std::make_shared<layers::Embedding>(
            EmbeddingDescriptor{.embedding_count = 3, .embedding_dimension = 1},
            EmbeddingOptions{.weights = table}),
        ids);
    t.emplace(std::vector{graph}, std::make_shared<losses::MeanSquaredError>(),
              sgd(0.5f));
    t->add_inputs({{"x", x}}, {{"label", label}});
    t->add_outputs({{"y", y}});
    t->compile(test_device());
  }
  Execution step(const Floats& indices) {
    return t->execute({{"x", view(indices)}}, {{"label", view(labels)}});
  }
  Tensor x{{{2}}, "x"}, label{{{2, 1}}, "label"}, table, y;
  Floats labels{0, 0};
  Graph graph;
  std::optional<TrainingGraph> t;
};

TEST(ComputedIndices, OutsideAreReportedOrNaN) {
  if (!computes()) GTEST_SKIP() << "[  SKIPPED ] nothing is computed";
  for (const float outside : {3.0f, -1.0f, 1e9f}) {
    Computed net;
    const Execution execution = net.step({1, outside});
    if (test_device_type() == DeviceType::CPU) {
      const ErrorInfo error =
          error_of<InvalidArgument>([&] { execution.wait(); });
      EXPECT_EQ(error.op, "embedding");
      EXPECT_EQ(error.expected, "0 to 2");
      EXPECT_NE(error.what.find("to_int"), std::string::npos) << error.what;
      EXPECT_EQ(read(net.table), (Floats{1, 2, 3}));
      net.step({0, 2}).wait();  // as if nothing had been
      EXPECT_EQ(read(net.table), (Floats{0.5f, 2, 1.5f}));
      continue;
    }
    const Floats y = floats_of(execution.result().output("y"));
    EXPECT_EQ(y[0], 2);
    EXPECT_TRUE(std::isnan(y[1]));
    EXPECT_TRUE(std::isnan(execution.result().loss()));
  }
}

}  // namespace
}  // namespace traingraph
