// SPDX-License-Identifier: MIT
// Order, failures and asynchrony, on the null device: its hook sees each node
// on the queue's thread and may throw or block.
#include "runtime/null_device.h"

#include <gtest/gtest.h>

#include <future>
#include <latch>
#include <map>
#include <mutex>
#include <thread>

namespace traingraph {
namespace {

using namespace testing;

TEST_F(NullDevice, ResultsAreZeros) {
  Named a("a");
  TrainingGraph t = a.train();
  const auto result = t.execute(a.net.inputs, a.net.labels).result();
  EXPECT_EQ(result.loss(), 0);
  EXPECT_EQ(t.memory().predicted_bytes, t.memory().allocated_bytes);
}

TEST_F(NullDevice, AFailureReachesItsWaiterAndItsDependants) {
  Named a("a"), b("b");
  TrainingGraph t = a.train(), other = b.train();
  fail_at("matmul", "a");
  const auto forward = t.execute_forward(a.net.inputs, a.net.labels);
  const auto gradient = t.execute_gradient();
  const auto update = t.execute_optimizer_update();
  const auto elsewhere = other.execute(b.net.inputs, b.net.labels);
  for (const Execution& execution : {forward, gradient, update}) {
    EXPECT_THROW(execution.wait(), Broken);
    EXPECT_TRUE(execution.done());
    EXPECT_THROW(execution.result(), Broken);
    EXPECT_THROW(execution.wait_for(std::chrono::seconds(1)), Broken);
    EXPECT_EQ(execution.exception(), forward.exception());
  }
  elsewhere.wait();
  EXPECT_EQ(elsewhere.exception(), nullptr);
  Device::null().synchronize();
  set_null_hook(nullptr);
  t.execute(a.net.inputs, a.net.labels).wait();  // the next step is fine
  t.execute_forward(a.net.inputs, a.net.labels);
  t.execute_gradient();
  t.execute_optimizer_update().wait();
}

TEST_F(NullDevice, AFailedGradientFailsItsUpdateOnly) {
  Named a("a");
  TrainingGraph t = a.train();
  fail_at("activation_gradient", "a relu");
  const auto forward = t.execute_forward(a.net.inputs, a.net.labels);
  const auto gradient = t.execute_gradient();
  const auto update = t.execute_optimizer_update();
  EXPECT_THROW(update.wait(), Broken);
  EXPECT_THROW(gradient.wait(), Broken);
  forward.wait();
  EXPECT_THROW(t.gradient(a.net.w()), Broken);
  // Inference does not depend on it.
  t.execute(a.net.inputs, {}, {}, {.forward_for_inference = true}).wait();
}

TEST_F(NullDevice, LinkedGraphsFailWithWhatTheyRead) {
  Linear a(4, 3, 3, 1, "a"), b(4, 3, 3, 1, "b");
  Graph second;
  second.node(std::make_shared<layers::FullyConnected>(b.w()), a.y);
  TrainingGraph first({a.graph}, nullptr, sgd(0.1f));
  first.add_inputs({{"x", a.x}});
  TrainingGraph last({second}, std::make_shared<losses::MeanSquaredError>(),
                     sgd(0.1f));
  last.add_inputs({{"h", a.y}}, {{"label", b.label}});
  first.compile(Device::null(), {.link_graphs = true});
  last.compile(Device::null(), {.link_graphs = true});
  first.link({last});
  const auto step = [&] {
    std::vector<Execution> all;
    all.push_back(first.execute_forward(a.inputs, {}));
    all.push_back(last.execute_forward({}, b.labels));
    all.push_back(last.execute_gradient());
    all.push_back(first.execute_gradient());
    all.push_back(last.execute_optimizer_update());
    all.push_back(first.execute_optimizer_update());
    Device::null().synchronize();
    return all;
  };
  for (const Execution& execution : step()) execution.wait();
  fail_at("matmul", "a");
  for (const Execution& execution : step()) {
    EXPECT_THROW(execution.wait(), Broken);
  }
  fail_at("loss_gradient", "mean_squared_error");
  const auto half = step();
  half[0].wait();
  half[1].wait();
  for (int i = 2; i < 6; ++i) EXPECT_THROW(half[i].wait(), Broken);
  set_null_hook(nullptr);
  for (const Execution& execution : step()) execution.wait();
}

TEST_F(NullDevice, AFailedStepDoesNotFailTheNext) {
  Named a("a");
  TrainingGraph t = a.train();
  std::atomic<int> calls = 0;
  set_null_hook([&](const std::string& op, const std::string&) {
    if (op == "loss" && calls++ == 1) throw Broken("second");
  });
  const auto first = t.execute(a.net.inputs, a.net.labels);
  const auto second = t.execute(a.net.inputs, a.net.labels);
  const auto third = t.execute(a.net.inputs, a.net.labels);
  EXPECT_THROW(second.wait(), Broken);
  first.wait();
  third.wait();
}

TEST_F(NullDevice, SynchronousCallsThrowAfterTheirHandler) {
  Named a("a");
  TrainingGraph t = a.train();
  fail_at("loss", "mean_squared_error");
  std::exception_ptr seen;
  EXPECT_THROW(
      t.execute(a.net.inputs, a.net.labels, {},
                {.synchronous = true,
                 .completion_handler =
                     [&](const Execution& e) { seen = e.exception(); }}),
      Broken);
  EXPECT_NE(seen, nullptr);
  std::promise<bool> failed;
  t.execute(a.net.inputs, a.net.labels, {},
            {.completion_handler = [&](const Execution& e) {
              failed.set_value(e.exception() != nullptr);
            }});
  EXPECT_TRUE(failed.get_future().get());
}

TEST_F(NullDevice, FailedExecutionsDoNotTouchTheCallersMemory) {
  Named a("a");
  TrainingGraph t = a.train();
  Floats y(8, 5.0f);
  const NamedData outputs[] = {{"y", view(y)}};
  fail_at("loss", "mean_squared_error");
  EXPECT_THROW(
      t.execute(a.net.inputs, a.net.labels, {}, {.outputs_data = outputs})
          .wait(),
      Broken);
  EXPECT_EQ(y, Floats(8, 5.0f));
  set_null_hook(nullptr);
}

TEST_F(NullDevice, CallsReturnBeforeTheWorkIsDone) {
  Named a("a");
  TrainingGraph t = a.train();
  Gate gate("a");
  std::vector<Execution> executions;
  executions.push_back(t.execute(a.net.inputs, a.net.labels));
  gate.wait_until_reached();
  for (int i = 0; i < 5; ++i) {
    executions.push_back(t.execute(a.net.inputs, a.net.labels));
    executions.push_back(t.execute_forward(a.net.inputs, a.net.labels));
    executions.push_back(t.execute_gradient());
    executions.push_back(t.execute_optimizer_update());
    t.bind_and_write_data(a.net.inputs);
  }
  for (const Execution& execution : executions) {
    EXPECT_FALSE(execution.done());
    EXPECT_EQ(execution.exception(), nullptr);
    EXPECT_FALSE(execution.wait_for(std::chrono::seconds(0)));
  }
  gate.open();
  for (const Execution& execution : executions) execution.wait();
}

TEST_F(NullDevice, AWaitMayBeForever) {
  Named a("a");
  TrainingGraph t = a.train();
  Gate gate("a");
  const Execution run = t.execute(a.net.inputs, a.net.labels);
  gate.wait_until_reached();
  EXPECT_FALSE(run.wait_for(std::chrono::duration<double>::min()));
  auto waited = std::async(std::launch::async, [&] {
    return run.wait_for(std::chrono::duration<double>::max());
  });
  EXPECT_EQ(waited.wait_for(std::chrono::milliseconds(20)),
            std::future_status::timeout);
  gate.open();
  EXPECT_TRUE(waited.get());
}

TEST_F(NullDevice, InputsAreTakenWhileTheQueueIsBusy) {
  Named a("a");
  TrainingGraph t({a.net.graph}, std::make_shared<losses::MeanSquaredError>());
  t.add_inputs({{"x", a.net.x}}, {{"label", a.net.label}});
  t.add_outputs({{"x as seen", a.net.x}});
  t.compile(Device::null());
  Gate gate("a");
  const auto first = t.execute(a.net.inputs, a.net.labels);
  gate.wait_until_reached();
  Floats other(12, 3.0f);
  const auto last = t.execute({{"x", view(other)}}, a.net.labels);
  std::ranges::fill(other, 4.0f);
  gate.open();
  EXPECT_EQ(floats_of(last.result().outputs()[0]), Floats(12, 3.0f));
  EXPECT_EQ(floats_of(first.result().outputs()[0]), a.net.x_data);
}

TEST_F(NullDevice, RefusedCallsEnqueueNothing) {
  Named a("a");
  TrainingGraph t = a.train();
  std::atomic<int> nodes = 0;
  set_null_hook([&](const std::string&, const std::string&) { ++nodes; });
  const Floats tiny(1, 0.0f);
  EXPECT_THROW(t.execute({{"x", view(tiny)}}, a.net.labels), ShapeError);
  EXPECT_THROW(t.execute(a.net.inputs), InvalidArgument);
  EXPECT_THROW(t.execute_gradient(), StateError);
  EXPECT_THROW(t.execute(a.net.inputs, a.net.labels, {}, {.batch_size = 9}),
               InvalidArgument);
  Device::null().synchronize();
  EXPECT_EQ(nodes, 0);
  EXPECT_EQ(t.optimizer()->time_step(), 1u);
}

TEST_F(NullDevice, OrderPerGraphIsTheOrderOfCalls) {
  // Four threads, a graph each; the phases of a graph never mix.
  std::mutex mutex;
  std::map<std::string, std::vector<std::string>> ops;  // by graph
  set_null_hook([&](const std::string& op, const std::string& node) {
    if (op != "matmul" && op != "activation_gradient") return;
    std::scoped_lock lock(mutex);
    ops[node.substr(0, 1)].push_back(node.ends_with("relu") ? "gradient"
                                                            : "matmul");
  });
  constexpr int kSteps = 50;
  std::latch start(4);
  std::vector<std::thread> threads;
  for (char name : {'a', 'b', 'c', 'd'}) {
    threads.emplace_back([&, name] {
      Named graph(std::string(1, name));
      TrainingGraph t = graph.train();
      start.arrive_and_wait();
      for (int i = 0; i < kSteps; ++i) {
        t.execute_forward(graph.net.inputs, graph.net.labels);
        t.execute_gradient();
        t.execute_optimizer_update();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  Device::null().synchronize();
  ASSERT_EQ(ops.size(), 4u);
  for (const auto& [name, list] : ops) {
    std::vector<std::string> once;  // as one step does
    for (const std::string& op : list) {
      once.push_back(op);
      if (once.size() == list.size() / kSteps) break;
    }
    ASSERT_EQ(list.size(), once.size() * kSteps);
    EXPECT_EQ(once.front(), "matmul");
    for (std::size_t i = 0; i < list.size(); ++i) {
      EXPECT_EQ(list[i], once[i % once.size()]);
    }
  }
}

TEST_F(NullDevice, ThreadsMayShareOneGraph) {
  Named a("a");
  TrainingGraph t = a.train();
  std::atomic<int> losses = 0;
  set_null_hook([&](const std::string& op, const std::string&) {
    if (op == "loss") ++losses;
  });
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (int k = 0; k < 50; ++k) {
        const auto execution =
            t.execute(a.net.inputs, a.net.labels, {}, {.batch_size = 1 + i});
        if (k % 10 == 0) execution.wait();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  t.synchronize();
  EXPECT_EQ(losses, 200);
  EXPECT_EQ(t.optimizer()->time_step(), 201u);
  EXPECT_EQ(t.random_step(), 200u);
}

TEST_F(NullDevice, SynchronizeWaitsForThisGraph) {
  Named a("a");
  TrainingGraph t = a.train();
  Gate gate("a");
  const auto execution = t.execute(a.net.inputs, a.net.labels);
  gate.wait_until_reached();
  std::promise<bool> was_done;
  std::thread waiter([&] {
    t.synchronize();
    was_done.set_value(execution.done());
  });
  gate.open();
  EXPECT_TRUE(was_done.get_future().get());
  waiter.join();
}

TEST_F(NullDevice, GraphsWithWorkInFlightMayGo) {
  std::optional<Execution> last;
  std::optional<Gate> gate;
  {
    Named a("a");
    TrainingGraph t = a.train();
    t.execute(a.net.inputs, a.net.labels).wait();
    gate.emplace("a");
    for (int i = 0; i < 3; ++i) last = t.execute(a.net.inputs, a.net.labels);
    gate->wait_until_reached();
  }
  gate->open();
  last->wait();
}

}  // namespace
}  // namespace traingraph
