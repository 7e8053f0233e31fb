// SPDX-License-Identifier: MIT
// Linked sub-graphs against the network in one piece.
#include <gtest/gtest.h>

#include "support/training.h"

namespace traingraph {
namespace {

using namespace testing;
using layers::FullyConnected;
using losses::MeanSquaredError;

Tensor parameter(Shape shape, unsigned seed) {
  const Floats values = random_floats(shape.num_elements(), seed);
  return Tensor({shape}, view(values));
}

/// shared(x) -> middle -> shared, square matrices so that one fits twice.
struct Parts {
  Parts()
      : w(parameter({3, 3}, 1)),
        own(parameter({3, 3}, 2)),
        x_data(random_floats(12, 3)),
        label_data(random_floats(12, 4)) {}
  std::shared_ptr<FullyConnected> shared() const {
    return std::make_shared<FullyConnected>(w);
  }

  Tensor x{{{4, 3}}, "x"}, label{{{4, 3}}, "label"};
  Tensor w, own;
  Floats x_data, label_data;
  std::vector<NamedData> inputs{{"x", view(std::as_const(x_data))}};
  std::vector<NamedData> labels{{"label", view(std::as_const(label_data))}};
};

/// The reference: x -> shared -> own -> tanh -> shared -> loss.
struct Whole : Parts {
  explicit Whole(OptimizerPtr optimizer) {
    Tensor h = graph.node(shared(), x);
    h = graph.node(std::make_shared<FullyConnected>(own), h);
    h = graph.node(std::make_shared<layers::Tanh>(), h);
    graph.node(shared(), h);
    t.emplace(std::vector{graph}, std::make_shared<MeanSquaredError>(),
              std::move(optimizer));
    t->add_inputs({{"x", x}}, {{"label", label}});
    t->compile(test_device());
  }
  Graph graph;
  std::optional<TrainingGraph> t;
};

/// First: x -> shared -> own. Second: t -> shared -> loss. The tanh between
/// them is the host's.
struct HostBetween : Parts {
  HostBetween(OptimizerPtr first, OptimizerPtr second) {
    h = a.node(std::make_shared<FullyConnected>(own), a.node(shared(), x));
    b.node(shared(), middle);
    ta.emplace(std::vector{a}, nullptr, std::move(first));
    ta->add_inputs({{"x", x}});
    ta->add_outputs({{"h", h}});
    user = ta->allocate_user_gradient(h);
    tb.emplace(std::vector{b}, std::make_shared<MeanSquaredError>(),
               std::move(second));
    tb->add_inputs({{"middle", middle}}, {{"label", label}});
    const CompileOptions options{.link_graphs = true,
                                 .compute_all_gradients = true};
    ta->compile(test_device(), options);
    tb->compile(test_device(), options);
    ta->link({*tb});
  }
  void forward_and_gradient(std::int64_t batch = 0) {
    const std::int64_t rows = batch ? batch : 4;
    const ExecuteOptions options{.batch_size = batch};
    const auto forward = ta->execute_forward(inputs, {}, {}, options).result();
    Floats t = floats_of(forward.output("h"));
    for (float& v : t) v = std::tanh(v);
    tb->execute_forward({{"middle", view(std::as_const(t))}}, labels, {},
                        options);
    tb->execute_gradient();
    Floats g = read(tb->gradient_tensor(middle));
    g.resize(rows * 3);
    for (std::size_t i = 0; i < g.size(); ++i) g[i] *= 1 - t[i] * t[i];
    ta->bind_and_write_data({{"g", view(g)}}, {{"g", user}}, batch);
    ta->execute_gradient();
  }
  void step(std::int64_t batch = 0) {
    forward_and_gradient(batch);
    ta->execute_optimizer_update();
    tb->execute_optimizer_update();
  }

  Graph a, b;
  Tensor h, user, middle{{{4, 3}}, "middle"};
  std::optional<TrainingGraph> ta, tb;
};

TEST(Link, HostCodeBetweenTwoGraphsEqualsTheWholeNetwork) {
  Whole whole(sgd(0.1f, 0.9f));
  const OptimizerPtr optimizer = sgd(0.1f, 0.9f);
  HostBetween linked(optimizer, optimizer);
  for (int i = 0; i < 4; ++i) {
    whole.t->execute(whole.inputs, whole.labels);
    linked.step();
    expect_near(read(linked.w), read(whole.w));
    expect_near(read(linked.own), read(whole.own));
  }
}

TEST(Link, SeparateAdamObjectsCountOneStepEach) {
  const auto adam = [] { return std::make_shared<optimizers::Adam>(0.05f); };
  Whole whole(adam());
  const auto first = adam(), second = adam();
  HostBetween linked(first, second);
  for (int i = 0; i < 4; ++i) {
    whole.t->execute(whole.inputs, whole.labels);
    linked.step();
    expect_near(read(linked.w), read(whole.w), 1e-4);
  }
  EXPECT_EQ(first->time_step(), 5u);
}

TEST(Link, AnOptimizerOfBothGraphsAdvancesOncePerStep) {
  const auto adam = std::make_shared<optimizers::Adam>(0.05f);
  Whole whole(std::make_shared<optimizers::Adam>(0.05f));
  HostBetween linked(adam, adam);
  for (int i = 1; i <= 4; ++i) {
    whole.t->execute(whole.inputs, whole.labels);
    linked.step();
    EXPECT_EQ(adam->time_step(), 1u + i);
    expect_near(read(linked.w), read(whole.w), 1e-4);
  }
}

TEST(Link, TheSharedGradientIsTheSum) {
  Whole whole(sgd(0.1f));
  HostBetween linked(sgd(0.1f), sgd(0.1f));
  for (int i = 0; i < 3; ++i) {
    whole.t->execute_forward(whole.inputs, whole.labels);
    whole.t->execute_gradient();
    linked.forward_and_gradient();
    expect_near(linked.ta->gradient_data(linked.w),
                whole.t->gradient_data(whole.w));
    if (has_host_views()) {
      EXPECT_EQ(linked.ta->gradient(linked.w).data(),
                linked.tb->gradient(linked.w).data());
    }
    whole.t->execute_optimizer_update();
    linked.ta->execute_optimizer_update();
    linked.tb->execute_optimizer_update();
  }
}

TEST(Link, SmallerBatchesWithHostCodeBetween) {
  Whole whole(sgd(0.1f));
  HostBetween linked(sgd(0.1f), sgd(0.1f));
  for (std::int64_t batch : {4, 2, 3, 4}) {
    whole.t->execute(whole.inputs, whole.labels, {}, {.batch_size = batch});
    linked.step(batch);
    expect_near(read(linked.w), read(whole.w));
  }
}

/// One tensor is produced by the first and read by the second.
struct Direct : Parts {
  explicit Direct(OptimizerPtr optimizer) {
    Tensor h =
        a.node(std::make_shared<FullyConnected>(own), a.node(shared(), x));
    middle = a.node(std::make_shared<layers::Tanh>(), h);
    b.node(shared(), middle);
    ta.emplace(std::vector{a}, nullptr, optimizer);
    ta->add_inputs({{"x", x}});
    tb.emplace(std::vector{b}, std::make_shared<MeanSquaredError>(), optimizer);
    tb->add_inputs({{"middle", middle}}, {{"label", label}});
    ta->compile(test_device(), {.link_graphs = true});
    tb->compile(test_device(), {.link_graphs = true});
    ta->link({*tb});
  }
  void step(const ExecuteOptions& options = {}) {
    ta->execute_forward(inputs, {}, {}, options);
    tb->execute_forward({}, labels, {}, options);
    tb->execute_gradient();
    ta->execute_gradient();
    ta->execute_optimizer_update();
    tb->execute_optimizer_update();
  }
  Graph a, b;
  Tensor middle;
  std::optional<TrainingGraph> ta, tb;
};

TEST(Link, DirectlyLinkedGraphsEqualTheWholeNetwork) {
  Whole whole(sgd(0.1f, 0.9f));
  Direct linked(sgd(0.1f, 0.9f));
  for (int i = 0; i < 4; ++i) {
    whole.t->execute(whole.inputs, whole.labels);
    linked.step();
    expect_near(read(linked.w), read(whole.w));
    expect_near(read(linked.own), read(whole.own));
  }
}

TEST(Link, DirectlyLinkedGraphsRefuseOtherBatchSizes) {
  Whole whole(sgd(0.1f));
  Direct linked(sgd(0.1f));
  EXPECT_THROW(linked.step({.batch_size = 2}), UnsupportedError);
  EXPECT_EQ(read(linked.w), host(linked.w));
  whole.t->execute(whole.inputs, whole.labels);
  linked.step();
  expect_near(read(linked.w), read(whole.w));
}

TEST(Link, ResultsAreReadWhereSeparatePhasesLeaveThem) {
  Direct linked(sgd(0.1f));
  EXPECT_THROW(linked.ta->execute(linked.inputs), StateError);
  EXPECT_THROW(linked.ta->execute_forward(linked.inputs, {}, {},
                                          {.forward_for_inference = true}),
               StateError);
  linked.step();
}

TEST(Link, AGraphThatIsGoneOrCompiledAgainBreaksTheLink) {
  Direct linked(sgd(0.1f));
  linked.step();
  linked.ta->compile(test_device(), {.link_graphs = true});
  EXPECT_THROW(linked.tb->execute_forward({}, linked.labels), StateError);
  linked.ta->link({*linked.tb});
  linked.step();
  linked.ta.reset();
  EXPECT_THROW(linked.tb->execute_forward({}, linked.labels), StateError);
}

/// A teacher whose result is the student's label: no gradient goes back.
TEST(Link, ALabelIsReadWhereItsGraphLeavesIt) {
  const Parts parts;
  Graph teach, learn;
  const Tensor target = teach.node(parts.shared(), parts.x);
  const Tensor y =
      learn.node(std::make_shared<FullyConnected>(parts.own), parts.x);
  TrainingGraph teacher({teach}, nullptr, nullptr);
  teacher.add_inputs({{"x", parts.x}});
  TrainingGraph student({learn}, std::make_shared<MeanSquaredError>(),
                        sgd(0.1f));
  student.add_inputs({{"x", parts.x}}, {{"target", target}});
  for (TrainingGraph* t : {&teacher, &student}) {
    t->compile(test_device(), {.link_graphs = true});
  }
  teacher.link({student});
  teacher.execute_forward(parts.inputs, {});
  const float loss = student.execute_forward(parts.inputs, {}).result().loss();
  const auto by_hand = [&](const Tensor& w, int row, int column) {
    double sum = 0;
    for (int k = 0; k < 3; ++k) {
      sum += double{parts.x_data[row * 3 + k]} * read(w)[column * 3 + k];
    }
    return sum;
  };
  double expected = 0;
  for (int i = 0; i < 12; ++i) {
    const double difference =
        by_hand(parts.own, i / 3, i % 3) - by_hand(parts.w, i / 3, i % 3);
    expected += difference * difference / 12;
  }
  EXPECT_NEAR(loss, computes() ? expected : 0, 1e-6);
  student.execute_gradient();
  student.execute_optimizer_update().wait();
}

TEST(Link, OptimizersAreCompiledBeforeLinking) {
  Direct linked(sgd(0.1f));
  linked.step();
  EXPECT_THROW(linked.ta->compile_optimizer(sgd(0.1f)), StateError);
  linked.step();
}

TEST(Link, InferenceGraphs) {
  Parts parts;
  Graph a, b, all;
  const Tensor middle =
      a.node(std::make_shared<layers::Tanh>(), a.node(parts.shared(), parts.x));
  const Tensor y = b.node(parts.shared(), middle);
  InferenceGraph whole({a, b}), first({a}), second({b});
  whole.add_inputs({{"x", parts.x}});
  whole.compile(test_device());
  first.add_inputs({{"x", parts.x}});
  second.add_inputs({{"middle", middle}});
  second.add_outputs({{"y", y}});
  first.compile(test_device(), {.link_graphs = true});
  second.compile(test_device(), {.link_graphs = true});
  first.link({second});
  const Floats want = floats_of(*whole.execute(parts.inputs).result().result());
  first.execute(parts.inputs);
  expect_near(floats_of(second.execute({}).result().output("y")), want);
}

TEST(Link, AResultThatItsGraphReadsTooIsDeclared) {
  for (bool is_output : {false, true}) {
    SCOPED_TRACE(is_output);
    Parts parts;
    Graph a, b;
    const Tensor sum = a.node(parts.shared(), parts.x);
    const Tensor squashed = a.node(std::make_shared<layers::ReLU>(), sum);
    const Tensor y =
        b.node(std::make_shared<layers::Arithmetic>(ArithmeticOperation::Add),
               {sum, squashed});
    InferenceGraph whole({a, b}), first({a}), second({b});
    whole.add_inputs({{"x", parts.x}});
    whole.compile(test_device());
    first.add_inputs({{"x", parts.x}});
    if (is_output) first.add_outputs({{"sum", sum}});
    second.add_inputs({{"sum", sum}, {"squashed", squashed}});
    second.add_outputs({{"y", y}});
    first.compile(test_device(), {.link_graphs = true});
    second.compile(test_device(), {.link_graphs = true});
    if (!is_output) {
      const ErrorInfo error =
          error_of<StateError>([&] { first.link({second}); });
      EXPECT_NE(error.hint.find("add_outputs"), std::string::npos);
      continue;
    }
    first.link({second});
    const Floats want =
        floats_of(*whole.execute(parts.inputs).result().result());
    first.execute(parts.inputs);
    expect_near(floats_of(second.execute({}).result().output("y")), want);
  }
}

TEST(Link, GraphsOfALinkThatFailedAreOnTheirOwn) {
  Parts parts;
  Graph a, b, c;
  const Tensor hidden = a.node(parts.shared(), parts.x);
  const Tensor h = a.node(std::make_shared<layers::Tanh>(), hidden);
  b.node(std::make_shared<FullyConnected>(parts.own), h);
  c.node(std::make_shared<layers::Tanh>(), hidden);
  TrainingGraph first({a}, nullptr, sgd(0.1f)), third({c}, nullptr, nullptr);
  TrainingGraph second({b}, std::make_shared<MeanSquaredError>(), sgd(0.1f));
  first.add_inputs({{"x", parts.x}});
  const Tensor user = first.allocate_user_gradient(h);
  second.add_inputs({{"h", h}}, {{"label", parts.label}});
  third.add_inputs({{"hidden", hidden}});
  for (TrainingGraph* t : {&first, &second, &third}) {
    t->compile(test_device(), {.link_graphs = true});
  }
  const auto step = [&] {
    first.execute_forward(parts.inputs, {});
    second.execute_forward({}, parts.labels);
    second.execute_gradient();
    first.execute_gradient();
    first.execute_optimizer_update();
    second.execute_optimizer_update().wait();
  };
  first.link({second});
  step();
  first.execute_forward(parts.inputs, {});
  second.execute_forward({}, parts.labels);
  second.execute_gradient();
  EXPECT_THROW(first.link({second, third}), StateError);
  EXPECT_THROW(second.execute_forward({}, parts.labels), Error);
  first.execute_forward(parts.inputs, {});
  // Nobody gives its user gradient any more.
  EXPECT_THROW(first.execute_gradient(), InvalidArgument);
  const Floats gradient(12, 0.5f);
  first.bind_and_write_data({{"g", view(gradient)}}, {{"g", user}});
  first.execute_gradient();
  first.execute_optimizer_update().wait();
  first.link({second});
  EXPECT_THROW(
      first.bind_and_write_data({{"g", view(gradient)}}, {{"g", user}}),
      InvalidArgument);
  step();
}

TEST(Link, Errors) {
  Direct linked(sgd(0.1f));
  EXPECT_THROW(linked.ta->link({*linked.ta}), InvalidArgument);
  Linear other;
  TrainingGraph unlinkable = other.train(sgd(0.1f));
  EXPECT_THROW(linked.ta->link({unlinkable}), StateError);
  TrainingGraph uncompiled({other.graph});
  EXPECT_THROW(linked.ta->link({uncompiled}), StateError);
  Linear third;
  TrainingGraph elsewhere =
      third.train(sgd(0.1f), {.link_graphs = true}, other_device());
  EXPECT_THROW(linked.ta->link({elsewhere}), InvalidArgument);
  linked.ta->link({*linked.tb});
  linked.step();
}

}  // namespace
}  // namespace traingraph
