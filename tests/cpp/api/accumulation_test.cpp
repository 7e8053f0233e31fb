// SPDX-License-Identifier: MIT
// Gradients of several batches that are added up before one update.
#include <gtest/gtest.h>

#include <random>

#include "support/optimizers.h"
#include "support/small_net.h"

namespace traingraph {
namespace {

using namespace testing;
using enum GradientAccumulation;
using optimizers::Adam;
using optimizers::AdamW;
using optimizers::RMSProp;
using optimizers::SGD;

const CompileOptions kAccumulates{.accumulate_gradients = true};

struct Net : SmallNet {
  explicit Net(const OptimizerPtr& optimizer,
               ReductionType reduction = ReductionType::Mean,
               const CompileOptions& options = kAccumulates)
      : SmallNet(test_device(), {.optimizer = optimizer,
                                 .reduction = reduction,
                                 .compile = options}) {}

  void pass(std::int64_t begin, std::int64_t count,
            GradientAccumulation accumulate = ByLoss) {
    forward(begin, count);
    t->execute_gradient({.accumulate = accumulate});
  }
};

TEST(Accumulation, IsTheUpdateOfTheWholeBatch) {
  for (const ReductionType reduction :
       {ReductionType::Mean, ReductionType::Sum, ReductionType::None}) {
    for (const OptimizerPtr& optimizer : all_optimizers()) {
      Net whole(optimizer->clone(), reduction);
      Net parts(optimizer->clone(), reduction);
      for (int step = 0; step < 3; ++step) {
        whole.pass(0, 12, None);
        whole.t->execute_optimizer_update();
        parts.pass(0, 5);
        parts.pass(5, 3);
        parts.pass(8, 4);
        // Later steps begin with other parameters, by roundings.
        expect_all_near(parts.gradients(), whole.gradients(),
                        step == 0 ? 3e-6 : 5e-5);
        parts.t->execute_optimizer_update();
      }
      expect_all_near(parts.values(), whole.values(), 5e-5);
      EXPECT_EQ(parts.t->optimizer()->time_step(), 4u);
    }
  }
}

TEST(Accumulation, OfRandomBatchesIsThatOfAllSamples) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  Net whole(sgd(0.1f)), parts(sgd(0.1f));
  whole.pass(0, Net::kSamples, None);
  const auto expected = whole.gradients();
  for (int round = 0; round < 8; ++round) {
    for (std::int64_t begin = 0; begin < Net::kSamples;) {
      std::uniform_int_distribution<std::int64_t> size(1,
                                                       Net::kSamples - begin);
      const std::int64_t count = size(random);
      parts.pass(begin, count, begin == 0 ? None : Mean);
      begin += count;
      if (random() % 3 == 0) parts.t->synchronize();
    }
    expect_all_near(parts.gradients(), expected, 3e-6);
  }
}

TEST(Accumulation, BeginsAnewAfterAnUpdateAndWithoutIt) {
  Net once(sgd(0)), net(sgd(0));
  once.pass(0, 4, None);
  const auto expected = once.gradients();
  net.pass(4, 8);
  net.pass(0, 12);
  net.t->execute_optimizer_update();
  net.pass(0, 4);
  EXPECT_EQ(net.gradients(), expected);
  net.pass(4, 8);
  net.pass(0, 4, None);
  EXPECT_EQ(net.gradients(), expected);
  // A step that runs as one ends what waited, too.
  net.pass(4, 8);
  net.t->execute({{"x", view(std::as_const(net.x_data))}},
                 {{"label", view(std::as_const(net.labels))}});
  net.pass(0, 4);
  EXPECT_EQ(net.gradients(), expected);
}

TEST(Accumulation, GoesOnAfterInference) {
  Net whole(sgd(0)), parts(sgd(0));
  whole.pass(0, 12, None);
  parts.pass(0, 6);
  parts.t->execute({{"x", view(std::as_const(parts.x_data))}}, {}, {},
                   {.forward_for_inference = true});
  parts.pass(6, 6);
  expect_all_near(parts.gradients(), whole.gradients(), 3e-6);
}

TEST(Accumulation, CostsStepsNothing) {
  for (const OptimizerPtr& optimizer : all_optimizers()) {
    Net plain(optimizer->clone(), ReductionType::Mean, {});
    Net net(optimizer->clone());
    for (int step = 0; step < 3; ++step) {
      for (Net* each : {&plain, &net}) {
        each->t->execute({{"x", view(std::as_const(each->x_data))}},
                         {{"label", view(std::as_const(each->labels))}});
        each->pass(0, 7, None);
        each->t->execute_optimizer_update();
      }
      EXPECT_EQ(plain.values(), net.values());
    }
    EXPECT_EQ(plain.t->memory().step.arena_bytes,
              net.t->memory().step.arena_bytes);
    const std::size_t factors = device_alignment();  // of 4 gradients
    EXPECT_EQ(plain.t->required_bytes() + factors, net.t->required_bytes());
  }
}

TEST(Accumulation, ShowsTheSumAsOneBlock) {
  Net net(sgd(0.1f));
  net.pass(0, 4);
  net.pass(4, 8);
  if (!has_host_views()) return;
  const auto block = net.t->gradients();
  const auto parameters = net.t->parameters();
  ASSERT_EQ(parameters.size(), 4u);
  EXPECT_EQ(block.data(), net.t->gradient(parameters[0]).data());
  double all = 0, each = 0;
  for (float v : block) all += std::abs(v);
  for (const Floats& g : net.gradients()) {
    for (float v : g) each += std::abs(v);
  }
  EXPECT_NEAR(all, each, 1e-4);  // zeros fill the gaps
  // What the host writes is what the next pass adds to.
  std::ranges::fill(block, 0.0f);
  net.forward(0, 12);
  net.t->execute_gradient({.accumulate = Mean});
  const auto got = net.gradients();
  Net whole(sgd(0.1f));
  whole.pass(0, 12, None);
  auto expected = whole.gradients();
  for (Floats& g : expected) {
    for (float& v : g) v /= 2;
  }
  expect_all_near(got, expected, 3e-6);
}

TEST(Accumulation, TakesMemoryThatIsPlanned) {
  Net plain(sgd(0.1f), ReductionType::Mean, {}), net(sgd(0.1f));
  std::size_t floats = 0;
  for (const Tensor& tensor : net.t->parameters()) {
    const std::size_t bytes = tensor.descriptor().size_bytes();
    const std::size_t alignment = device_alignment();
    floats += (bytes + alignment - 1) / alignment * alignment;
  }
  EXPECT_EQ(plain.t->memory().accumulator_bytes, 0u);
  EXPECT_EQ(net.t->memory().accumulator_bytes, floats);
  net.pass(0, 5);
  net.pass(5, 7);
  net.t->execute_optimizer_update().wait();
  const MemoryReport memory = net.t->memory();
  EXPECT_EQ(memory.predicted_bytes, memory.allocated_bytes);
}

TEST(Accumulation, KeepsWhatAnotherOptimizerTakesOver) {
  Net net(sgd(0.1f));
  net.pass(0, 5);
  net.t->compile_optimizer(std::make_shared<Adam>(0.1f));
  net.pass(0, 4);
  net.pass(4, 8);
  net.t->execute_optimizer_update().wait();
  EXPECT_EQ(net.t->optimizer()->time_step(), 2u);
}

TEST(Accumulation, RefusesWhatItCannotDo) {
  Net plain(sgd(0.1f), ReductionType::Mean, {});
  plain.forward(0, 4);
  const ErrorInfo none = error_of<StateError>(
      [&] { plain.t->execute_gradient({.accumulate = ByLoss}); });
  EXPECT_NE(none.expected.find("accumulate_gradients"), none.expected.npos);
  EXPECT_NO_THROW(plain.t->execute_gradient());

  Net net(sgd(0.1f));
  error_of<InvalidArgument>([&] {
    net.t->execute({{"x", view(std::as_const(net.x_data))}},
                   {{"label", view(std::as_const(net.labels))}}, {},
                   {.accumulate = Sum});
  });
  net.pass(0, 4, Sum);
  net.forward(4, 4);
  const ErrorInfo mixed = error_of<InvalidArgument>(
      [&] { net.t->execute_gradient({.accumulate = Mean}); });
  EXPECT_EQ(mixed.expected, "\"sum\"");
  EXPECT_NO_THROW(net.t->execute_gradient({.accumulate = Sum}));

  InferenceGraph inference({net.graph});
  inference.add_inputs({{"x", net.x}});
  error_of<InvalidArgument>(
      [&] { inference.compile(test_device(), kAccumulates); });
}

/// What accumulate by the losses says to these; empty: nothing.
std::string obstacle(const std::vector<LossDescriptor>& all, bool has_indices,
                     bool is_given = false) {
  Tensor x({{4, 3}}, "x"), label({{4, 3}}, "label");
  Tensor index({{4}, DataType::Int32}, "index");
  Graph graph;
  const Tensor y =
      graph.node(std::make_shared<layers::FullyConnected>(3, 3), x);
  for (const LossDescriptor& loss : all) {
    graph.node(std::make_shared<losses::Loss>(loss),
               {y, has_indices ? index : label});
  }
  TrainingGraph t({graph}, nullptr, sgd(0.1f));
  if (is_given) t.allocate_user_gradient(y);
  if (has_indices) {
    t.add_inputs({{"x", x}}, {{"index", index}});
  } else {
    t.add_inputs({{"x", x}}, {{"label", label}});
  }
  t.compile(test_device(), kAccumulates);
  const Floats values(12);
  const std::vector<std::int32_t> classes(4);
  const TensorData indices(static_cast<const void*>(classes.data()),
                           classes.size() * sizeof(std::int32_t));
  t.execute_forward({{"x", view(values)}},
                    {has_indices ? NamedData{"index", indices}
                                 : NamedData{"label", view(values)}});
  try {
    t.execute_gradient({.accumulate = ByLoss, .completion_handler = {}});
  } catch (const InvalidArgument& error) {
    EXPECT_EQ(error.expected(), "\"sum\" or \"mean\"");
    return error.info().what;
  } catch (const StateError&) {
    return "state";
  }
  return {};
}

TEST(Accumulation, AsksWhereLossesDoNotSay) {
  const auto of = [](LossType type, ReductionType reduction) {
    return LossDescriptor{.loss_type = type, .reduction_type = reduction};
  };
  using enum LossType;
  using enum ReductionType;
  const auto contains = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), text.npos) << text;
  };
  const auto mse = of(MeanSquaredError, ReductionType::Mean);
  const auto sums = of(Huber, ReductionType::Sum);
  EXPECT_EQ(obstacle({mse, of(Hinge, ReductionType::Mean)}, false), "");
  EXPECT_EQ(obstacle({sums, of(Hinge, ReductionType::Sum)}, false), "");
  contains(obstacle({mse, sums}, false), "reduced in different ways");
  contains(obstacle({mse}, false, /*is_given=*/true), "from the user");
  contains(obstacle({of(SoftmaxCrossEntropy, ReductionType::Mean)}, true),
           "labels that are not ignored");
  EXPECT_EQ(obstacle({of(SoftmaxCrossEntropy, ReductionType::Sum)}, true), "");
  EXPECT_EQ(obstacle({of(SoftmaxCrossEntropy, ReductionType::Mean)}, false),
            "");
}

}  // namespace
}  // namespace traingraph
