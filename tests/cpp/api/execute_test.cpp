// SPDX-License-Identifier: MIT
// Every option of an execution, and what an execution returns.
#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "support/training.h"

namespace traingraph {
namespace {

using namespace testing;

Doubles prediction(const Linear& net, const Floats& w, const Floats& b) {
  Doubles y(net.batch * net.out);
  for (std::int64_t n = 0; n < net.batch; ++n) {
    for (std::int64_t o = 0; o < net.out; ++o) {
      double sum = b[o];
      for (std::int64_t i = 0; i < net.in; ++i) {
        sum += double(net.x_data[n * net.in + i]) * w[o * net.in + i];
      }
      y[n * net.out + o] = sum;
    }
  }
  return computed(std::move(y));
}

TEST(Execute, ReturnsLossAndOutputs) {
  Linear net;
  const Floats w = host(net.w()), b = host(net.b());
  TrainingGraph t = net.train(sgd(0.1f));
  const auto result = t.execute(net.inputs, net.labels).result();
  EXPECT_TRUE(result.has_loss());
  ASSERT_EQ(result.outputs().size(), 1u);
  EXPECT_EQ(result.output("y").descriptor.shape, (Shape{4, 2}));
  expect_near(floats_of(result.output("y")), prediction(net, w, b));
  EXPECT_EQ(result.execution_time(), 0);
  EXPECT_TRUE(result.layer_times().empty());
  const auto info = error_of<InvalidArgument>([&] { result.output("z"); });
  EXPECT_NE(info.expected.find("y"), std::string::npos);
}

TEST(Execute, SkippedWritingUsesWhatWasBound) {
  Linear net;
  const Floats w = host(net.w()), b = host(net.b());
  TrainingGraph t = net.train(sgd(0.1f));
  t.bind_and_write_data(net.inputs);
  t.bind_and_write_data(net.labels);
  const Floats other(12, 9.0f);
  const auto result = t.execute({{"x", view(other)}}, net.labels, {},
                                {.skip_writing_input_data_to_device = true})
                          .result();
  expect_near(floats_of(result.output("y")), prediction(net, w, b));
  t.execute({}, {}).wait();  // bound data needs no option
}

TEST(Execute, SynchronousReturnsAfterTheHandler) {
  Linear net;
  TrainingGraph t = net.train(sgd(0.1f));
  std::thread::id on;
  bool was_done = false;
  const auto execution = t.execute(
      net.inputs, net.labels, {},
      {.synchronous = true, .completion_handler = [&](const Execution& e) {
         on = std::this_thread::get_id();
         was_done = e.done();
       }});
  EXPECT_TRUE(on == std::this_thread::get_id());
  EXPECT_TRUE(was_done);
  EXPECT_TRUE(execution.done());
}

TEST(Execute, ForwardForInferenceTrainsNothing) {
  Linear net;
  const Floats w = host(net.w()), b = host(net.b());
  TrainingGraph t = net.train(sgd(0.1f));
  const ExecuteOptions options{.forward_for_inference = true};
  auto result = t.execute(net.inputs, net.labels, {}, options).result();
  EXPECT_TRUE(result.has_loss());
  result = t.execute(net.inputs, {}, {}, options).result();
  EXPECT_FALSE(result.has_loss());
  EXPECT_THROW(result.loss(), StateError);
  expect_near(floats_of(*result.result()), prediction(net, w, b));
  result = t.execute_forward(net.inputs, {}, {}, options).result();
  expect_near(floats_of(*result.result()), prediction(net, w, b));
  EXPECT_THROW(t.execute_gradient(), StateError);
  EXPECT_EQ(read(net.w()), w);
}

TEST(Execute, OutputsDataReceivesTheOutputs) {
  Linear net;
  const Floats w = host(net.w()), b = host(net.b());
  TrainingGraph t = net.train(sgd(0.1f));
  Floats y(8, -1.0f);
  const NamedData outputs[] = {{"y", view(y)}};
  t.execute(net.inputs, net.labels, {}, {.outputs_data = outputs}).wait();
  expect_near(y, prediction(net, w, b));
}

TEST(Execute, GradientAndUpdateHaveNoResult) {
  Linear net;
  TrainingGraph t = net.train(sgd(0.1f));
  t.execute_forward(net.inputs, net.labels);
  const auto gradient = t.execute_gradient().result();
  EXPECT_FALSE(gradient.result().has_value());
  EXPECT_FALSE(gradient.has_loss());
  EXPECT_TRUE(t.execute_optimizer_update().result().outputs().empty());
}

TEST(Execute, ProfilingMeasures) {
  Linear net;
  TrainingGraph t = net.train(sgd(0.1f));
  auto result =
      t.execute(net.inputs, net.labels, {}, {.profiling = true}).result();
  const double total = result.execution_time();
  EXPECT_GT(total, 0);
  EXPECT_TRUE(result.layer_times().empty());
  result = t.execute(net.inputs, net.labels, {}, {.per_layer_profiling = true})
               .result();
  double sum = 0;
  int num_layers = 0;
  for (const LayerTime& time : result.layer_times()) {
    sum += time.forward + time.gradient + time.update;
    if (time.layer != net.layer->name()) continue;
    num_layers += 1;
    EXPECT_EQ(time.forward > 0, computes());
    EXPECT_EQ(time.gradient > 0, computes());
    EXPECT_EQ(time.update > 0, computes());
  }
  EXPECT_EQ(num_layers, 1);
  EXPECT_EQ(sum > 0, computes());
  // One unit has all of the time, in parts whose sum is rounded.
  EXPECT_LE(sum, result.execution_time() * (1 + 1e-12));
  result = t.execute(net.inputs, net.labels).result();
  EXPECT_EQ(result.execution_time(), 0);
  EXPECT_TRUE(result.layer_times().empty());
}

TEST(Execute, ResultsThatAreHeldDoNotChange) {
  Linear net;
  TrainingGraph t = net.train(sgd(0.1f));
  std::vector<ExecutionResult> held;
  std::vector<Floats> seen;
  std::vector<float> losses;
  for (int i = 0; i < 20; ++i) {
    held.push_back(t.execute(net.inputs, net.labels).result());
    seen.push_back(floats_of(held.back().output("y")));
    losses.push_back(held.back().loss());
  }
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(floats_of(held[i].output("y")), seen[i]) << i;
    EXPECT_EQ(held[i].loss(), losses[i]);
  }
  EXPECT_EQ(losses.back() < losses.front(), computes());
}

TEST(Execute, DroppedResultsRunAllTheSame) {
  Linear dropped, waited;
  TrainingGraph a = dropped.train(sgd(0.1f, 0.9f));
  TrainingGraph b = waited.train(sgd(0.1f, 0.9f));
  for (int i = 0; i < 50; ++i) {
    a.execute(dropped.inputs, dropped.labels);
    b.execute(waited.inputs, waited.labels).wait();
  }
  EXPECT_EQ(read(dropped.w()), read(waited.w()));
}

TEST(Execute, InputsMayChangeAsSoonAsTheCallReturns) {
  Linear a, b;
  TrainingGraph queued = a.train(sgd(0.1f)), waited = b.train(sgd(0.1f));
  std::vector<Execution> executions;
  for (unsigned i = 0; i < 20; ++i) {
    a.x_data = random_floats(12, i);
    a.inputs = {{"x", view(std::as_const(a.x_data))}};
    executions.push_back(queued.execute(a.inputs, a.labels));
    std::fill(a.x_data.begin(), a.x_data.end(), std::nanf(""));
    b.x_data = random_floats(12, i);
    b.inputs = {{"x", view(std::as_const(b.x_data))}};
    waited.execute(b.inputs, b.labels).wait();
  }
  EXPECT_EQ(read(a.w()), read(b.w()));
}

TEST(Execute, CallbacksBeforeAndAfterCompletionRunOnce) {
  Linear net;
  TrainingGraph t = net.train(sgd(0.1f));
  std::promise<float> first, second;
  const auto execution =
      t.execute(net.inputs, net.labels, {},
                {.completion_handler = [&](const Execution& e) {
                  first.set_value(e.result().loss());
                }});
  execution.add_done_callback(
      [&](const Execution& e) { second.set_value(e.result().loss()); });
  EXPECT_EQ(first.get_future().get(), execution.result().loss());
  EXPECT_EQ(second.get_future().get(), execution.result().loss());
  int calls = 0;
  execution.add_done_callback([&](const Execution&) { ++calls; });
  EXPECT_EQ(calls, 1);  // at once, here
}

TEST(Execute, HandlersThatThrowAreReportedAndDropped) {
  Linear net;
  TrainingGraph t = net.train(sgd(0.1f));
  const CompletionHandler thrower = [](const Execution&) {
    throw std::runtime_error("from the handler");
  };
  ::testing::internal::CaptureStderr();
  t.execute(net.inputs, net.labels, {},
            {.synchronous = true, .completion_handler = thrower});
  const auto execution =
      t.execute(net.inputs, net.labels, {}, {.completion_handler = thrower});
  execution.wait();
  execution.add_done_callback(thrower);
  std::promise<void> last;  // callbacks run in order
  t.execute(
      net.inputs, net.labels, {},
      {.completion_handler = [&](const Execution&) { last.set_value(); }});
  last.get_future().wait();
  const std::string text = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(text.find("from the handler") == std::string::npos, false) << text;
}

TEST(Execute, AHandlerMayExecuteAndSynchronize) {
  Linear net;
  TrainingGraph t = net.train(sgd(0.1f));
  std::promise<Floats> weights;
  t.execute(net.inputs, net.labels, {},
            {.completion_handler = [&](const Execution&) {
              t.execute(net.inputs, net.labels).wait();
              t.synchronize_updates();
              weights.set_value(host(net.w()));
            }});
  const Floats seen = weights.get_future().get();
  EXPECT_EQ(seen, read(net.w()));
}

TEST(Execute, ResultsOutliveTheGraph) {
  std::optional<ExecutionResult> result;
  {
    Linear net;
    TrainingGraph t = net.train(sgd(0.1f));
    result = t.execute(net.inputs, net.labels).result();
  }
  EXPECT_TRUE(std::isfinite(result->loss()));
  EXPECT_EQ(result->output("y").name, "y");
}

TEST(Execute, AGraphMayDieWhileItsWorkIsInFlight) {
  std::vector<Execution> executions;
  for (int i = 0; i < 20; ++i) {
    Linear net;
    TrainingGraph t = net.train(sgd(0.1f));
    for (int k = 0; k < 3; ++k) {
      executions.push_back(t.execute(net.inputs, net.labels));
    }
  }
  for (const Execution& execution : executions) {
    EXPECT_TRUE(std::isfinite(execution.result().loss()));
  }
}

TEST(Execute, OutputTensorsAreReadableByThemselves) {
  Linear net;
  TrainingGraph t = net.train(sgd(0.1f));
  EXPECT_THROW(net.y.synchronize_data(), StateError);
  const auto result = t.execute(net.inputs, net.labels).result();
  net.y.synchronize_data();
  EXPECT_EQ(host(net.y), floats_of(result.output("y")));
}

}  // namespace
}  // namespace traingraph
