// SPDX-License-Identifier: MIT
// Which data a call uses: its own, for that call alone, or what is bound.
#include <gtest/gtest.h>

#include "support/training.h"

namespace traingraph {
namespace {

using namespace testing;

/// x + parameter against labels with weights; the outputs tell what a call has
/// seen, on the null device as well.
struct Seen {
  explicit Seen(const CompileOptions& options = {}) {
    // Only what a node of the graph reads may be an output.
    for (const Tensor& tensor : {label, weight}) {
      graph.node(std::make_shared<layers::Tanh>(), tensor);
    }
    graph.node(std::make_shared<layers::Arithmetic>(ArithmeticOperation::Add),
               {x, parameter});
    t.emplace(std::vector{graph}, std::make_shared<losses::MeanSquaredError>(),
              sgd(0.1f));
    t->add_inputs({{"x", x}}, {{"label", label}}, {{"weight", weight}});
    t->add_outputs({{"x", x}, {"label", label}, {"weight", weight}});
    t->set_training_tensor_parameters({TensorParameter(parameter)});
    t->compile(test_device(), options);
  }
  static Floats filled(float value, std::int64_t rows = 4) {
    return Floats(rows, value);
  }
  void bind(const char* name, float value, std::int64_t batch = 0) {
    const Floats data = filled(value, batch ? batch : 4);
    t->bind_and_write_data({{name, view(data)}}, {}, batch);
  }
  void bind_all(float x_value, float label_value, float weight_value) {
    bind("x", x_value);
    bind("label", label_value);
    bind("weight", weight_value);
  }
  void expect_seen(const Execution& execution, float x_value, float label_value,
                   float weight_value, std::int64_t rows = 4) {
    const ExecutionResult result = execution.result();
    EXPECT_EQ(floats_of(result.output("x")), filled(x_value, rows));
    EXPECT_EQ(floats_of(result.output("label")), filled(label_value, rows));
    EXPECT_EQ(floats_of(result.output("weight")), filled(weight_value, rows));
  }
  Tensor x{{{4, 1}}, "x"}, label{{{4, 1}}, "label"}, weight{{{4, 1}}, "weight"};
  Tensor parameter = Tensor::filled({{1, 1}}, 0, "parameter");
  Graph graph;
  std::optional<TrainingGraph> t;
};

TEST(BoundData, DataOfACallCountsForThatCallAlone) {
  Seen s;
  const Floats x = s.filled(1), label = s.filled(2), weight = s.filled(3);
  s.t->execute({{"x", view(x)}}, {{"label", view(label)}},
               {{"weight", view(weight)}});
  auto error = error_of<InvalidArgument>(
      [&] { s.t->execute({{"x", view(x)}}, {}, {{"weight", view(weight)}}); });
  EXPECT_EQ(error.node, "label");
  EXPECT_NE(error.hint.find("bind_and_write_data"), std::string::npos);
  error = error_of<InvalidArgument>(
      [&] { s.t->execute({{"x", view(x)}}, {{"label", view(label)}}); });
  EXPECT_EQ(error.node, "weight");
  error = error_of<InvalidArgument>([&] {
    s.t->execute_forward({}, {{"label", view(label)}},
                         {{"weight", view(weight)}});
  });
  EXPECT_EQ(error.node, "x");
  error_of<InvalidArgument>([&] { s.t->execute_forward(); });
  error_of<InvalidArgument>([&] {
    s.t->execute({}, {}, {}, {.skip_writing_input_data_to_device = true});
  });
}

TEST(BoundData, IsUsedAgainAfterACallThatHadItsOwn) {
  Seen s;
  s.bind_all(1, 2, 3);
  s.expect_seen(s.t->execute({}), 1, 2, 3);
  const Floats nine = s.filled(9), eight = s.filled(8);
  s.expect_seen(s.t->execute({{"x", view(nine)}}), 9, 2, 3);
  s.expect_seen(s.t->execute({}), 1, 2, 3);
  s.expect_seen(
      s.t->execute({}, {{"label", view(nine)}}, {{"weight", view(eight)}}), 1,
      9, 8);
  s.expect_seen(s.t->execute_forward(), 1, 2, 3);
  s.expect_seen(s.t->execute_forward({{"x", view(nine)}}, {}), 9, 2, 3);
  s.expect_seen(s.t->execute({{"x", view(nine)}}, {}, {},
                             {.skip_writing_input_data_to_device = true}),
                1, 2, 3);
  s.bind("x", 5);
  s.expect_seen(s.t->execute({}), 5, 2, 3);
  s.expect_seen(s.t->execute({}), 5, 2, 3);
}

TEST(BoundData, WhatACallIgnoresIsNotLookedAt) {
  Seen s;
  s.bind_all(1, 2, 3);
  const Floats one{9};
  s.expect_seen(s.t->execute({{"x", view(one)}, {"no such name", TensorData()}},
                             {{"label", view(one)}}, {{"x", view(one)}},
                             {.skip_writing_input_data_to_device = true}),
                1, 2, 3);
}

TEST(BoundData, HoldsInTheOrderOfCallsWhileWorkIsInFlight) {
  Seen s;
  s.bind_all(1, 2, 3);
  std::vector<Execution> executions;
  const Floats nine = s.filled(9);
  for (int i = 0; i < 30; ++i) {
    if (i % 5 == 4) s.bind("label", float(i));
    if (i % 3 == 0) {
      executions.push_back(s.t->execute({{"x", view(nine)}}));
    } else {
      executions.push_back(s.t->execute({}));
    }
  }
  float label = 2;
  for (int i = 0; i < 30; ++i) {
    if (i % 5 == 4) label = float(i);
    s.expect_seen(executions[i], i % 3 == 0 ? 9 : 1, label, 3);
  }
}

TEST(BoundData, OfSmallerBatches) {
  Seen s;
  s.bind_all(1, 2, 3);
  const Floats nine = s.filled(9);
  s.expect_seen(s.t->execute({{"x", view(nine)}}, {}, {}, {.batch_size = 2}), 9,
                2, 3, 2);
  s.expect_seen(s.t->execute({}), 1, 2, 3);
  s.bind("x", 7, 3);
  s.expect_seen(s.t->execute({{"x", view(nine)}}), 9, 2, 3);
  s.expect_seen(s.t->execute({}, {}, {}, {.batch_size = 2}), 7, 2, 3, 2);
  s.expect_seen(s.t->execute({}, {}, {}, {.batch_size = 3}), 7, 2, 3, 3);
  const auto error = error_of<InvalidArgument>([&] { s.t->execute({}); });
  EXPECT_EQ(error.node, "x");
  EXPECT_NE(error.got.find("3"), std::string::npos) << error.got;
  s.expect_seen(s.t->execute({{"x", view(nine)}}), 9, 2, 3);
}

TEST(BoundData, ARefusedCallChangesNothing) {
  Seen s;
  s.bind_all(1, 2, 3);
  const Floats nine = s.filled(9), small = s.filled(9, 3);
  error_of<ShapeError>(
      [&] { s.t->execute({{"x", view(nine)}}, {{"label", view(small)}}); });
  error_of<ShapeError>([&] {
    s.t->bind_and_write_data({{"x", view(nine)}, {"label", view(small)}});
  });
  s.expect_seen(s.t->execute({}), 1, 2, 3);
}

TEST(BoundData, SurvivesAnotherOptimizerAndAnotherCompile) {
  Seen s;
  s.bind_all(1, 2, 3);
  s.t->execute({});
  s.t->compile_optimizer(sgd(0.2f, 0.9f));
  s.expect_seen(s.t->execute({}), 1, 2, 3);
  s.t->compile(test_device());
  s.expect_seen(s.t->execute({}), 1, 2, 3);
}

TEST(BoundData, OfOneGraphIsNotThatOfAnother) {
  Seen a;
  Graph graph;
  graph.node(std::make_shared<layers::Tanh>(), a.x);
  InferenceGraph b({graph});
  b.add_inputs({{"x", a.x}});
  b.add_outputs({{"x", a.x}});
  b.compile(test_device());
  a.bind_all(1, 2, 3);
  error_of<InvalidArgument>([&] { b.execute({}); });
  const Floats five = a.filled(5);
  b.bind_and_write_data({{"x", view(five)}});
  EXPECT_EQ(floats_of(b.execute({}).result().output("x")), five);
  a.expect_seen(a.t->execute({}), 1, 2, 3);
}

TEST(BoundData, MayBeBoundBetweenPhases) {
  Linear net, same;
  TrainingGraph t = net.train(sgd(0.1f)), r = same.train(sgd(0.1f));
  t.execute_forward(net.inputs, net.labels);
  const Floats other(12, 9.0f);
  t.bind_and_write_data({{"x", view(other)}});
  t.execute_gradient();  // of the forward's data
  t.execute_optimizer_update();
  r.execute(same.inputs, same.labels);
  EXPECT_EQ(read(net.w()), read(same.w()));
}

TEST(BoundData, TensorsThatWereCreatedWithDataAreBound) {
  const Floats given = random_floats(4, 1), other = random_floats(4, 2),
               newer = random_floats(4, 3);
  const Tensor x({{4, 1}}, view(given), "x");
  Graph graph;
  graph.node(std::make_shared<layers::Tanh>(), x);
  InferenceGraph g({graph});
  g.add_inputs({{"x", x}});
  g.add_outputs({{"x", x}});
  g.compile(test_device());
  const auto seen = [&](DataList data) {
    return floats_of(g.execute(data).result().output("x"));
  };
  EXPECT_EQ(seen({{"x", view(other)}}), other);
  EXPECT_EQ(seen({}), given);
  g.bind_and_write_data({{"x", view(newer)}});
  EXPECT_EQ(seen({}), newer);
  EXPECT_EQ(seen({{"x", view(other)}}), other);
  EXPECT_EQ(seen({}), newer);
  x.set_data(view(other));
  EXPECT_EQ(seen({}), other);
}

TEST(BoundData, OfInferenceNeedsNoLabels) {
  Seen s;
  const ExecuteOptions inference{.forward_for_inference = true};
  const Floats one = s.filled(1), two = s.filled(2);
  EXPECT_FALSE(
      s.t->execute({{"x", view(one)}}, {}, {}, inference).result().has_loss());
  // Labels without their weights.
  const auto error = error_of<InvalidArgument>([&] {
    s.t->execute({{"x", view(one)}}, {{"label", view(two)}}, {}, inference);
  });
  EXPECT_EQ(error.node, "weight");
  s.bind_all(1, 2, 3);
  EXPECT_FALSE(
      s.t->execute({{"x", view(one)}}, {}, {}, inference).result().has_loss());
  EXPECT_TRUE(s.t->execute({}, {}, {}, inference).result().has_loss());
  EXPECT_TRUE(s.t->execute_forward(inference).result().has_loss());
}

TEST(BoundData, TakesNoDeviceMemory) {
  Seen s;
  const Floats data = s.filled(1);
  s.bind_all(1, 2, 3);
  s.t->execute({}).wait();
  const MemoryReport before = s.t->memory();
  s.t->execute({{"x", view(data)}}).wait();
  s.t->execute({}).wait();
  EXPECT_EQ(s.t->memory().allocated_bytes, before.allocated_bytes);
  EXPECT_EQ(s.t->memory().allocated_bytes, s.t->memory().predicted_bytes);
}

}  // namespace
}  // namespace traingraph
