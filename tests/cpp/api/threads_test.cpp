// SPDX-License-Identifier: MIT
// Reading, compiling and drawing while another thread works on the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <latch>
#include <thread>

#include "support/training.h"

namespace traingraph {
namespace {

using namespace testing;

/// All weights and biases are one number, before and after every step.
struct Uniform {
  Uniform() {
    layer = std::make_shared<layers::FullyConnected>(
        Tensor::filled({{kSize, kSize}, DataType::Float32}, 0.5, "w"),
        Tensor::filled({{kSize}, DataType::Float32}, 0.5, "b"));
    y = graph.node(layer, x);
    t.emplace(std::vector{graph}, std::make_shared<losses::MeanSquaredError>(),
              sgd(0.01f, 0.5f));
    t->add_inputs({{"x", x}}, {{"label", label}});
    t->add_outputs({{"y", y}});
    t->compile(test_device());
  }
  void step() {
    t->execute({{"x", view(ones)}}, {{"label", view(ones)}}, {},
               {.synchronous = true});
  }

  static constexpr std::int64_t kSize = 128;
  Tensor x{{{1, kSize}}, "x"}, label{{{1, kSize}}, "label"}, y;
  const Floats ones = Floats(kSize, 1.0f);
  Graph graph;
  std::shared_ptr<layers::FullyConnected> layer;
  std::optional<TrainingGraph> t;
};

bool is_uniform(const Floats& values, float expected) {
  return std::ranges::all_of(values, [&](float v) { return v == expected; });
}

class Threads : public ::testing::Test {
 protected:
  /// Trains on another thread while `read` is called.
  template <class Read>
  void train_during(const Read& read) {
    run_during([&] { net.step(); }, read);
  }
  /// `work` over and over on another thread while `read` is called.
  template <class Work, class Read>
  void run_during(const Work& work, const Read& read) {
    work();
    std::atomic<bool> stops = false;
    std::atomic<int> num_done = 0;
    std::thread thread([&] {
      for (; !stops; ++num_done) work();
    });
    for (int i = 0; i < 100 || num_done < 10; ++i) read();
    stops = true;
    thread.join();
  }
  Uniform net;
};

TEST_F(Threads, AReadIsBetweenTwoSteps) {
  int num_torn = 0;
  train_during([&] {
    const Floats w = read(net.layer->weights());
    num_torn += !is_uniform(w, w[0]);
    const Floats y = read(net.y);
    num_torn += !is_uniform(y, y[0]);
  });
  EXPECT_EQ(num_torn, 0);
}

TEST_F(Threads, SynchronizedUpdatesAreOfOneStep) {
  int num_torn = 0;
  train_during([&] {
    net.t->synchronize_updates();
    for (const Tensor& each : {net.layer->weights(), net.layer->biases()}) {
      const Floats values = host(each);
      num_torn += !is_uniform(values, values[0]);
    }
  });
  EXPECT_EQ(num_torn, 0);
}

TEST_F(Threads, WritesAreBetweenTwoSteps) {
  const Floats w(Uniform::kSize * Uniform::kSize, 0.25f);
  int num_torn = 0;
  train_during([&] {
    net.layer->weights().bind_and_write_data(view(w), test_device());
    net.layer->weights().synchronize_optimizer_data();
    const Floats momentum = [&] {
      const auto slots = net.layer->weights().optimizer_data();
      const auto* first =
          reinterpret_cast<const float*>(slots.at(0).data.data());
      return Floats(first, first + w.size());
    }();
    num_torn += !is_uniform(momentum, momentum[0]);
  });
  EXPECT_EQ(num_torn, 0);
}

/// Also where steps change nothing.
TEST_F(Threads, AReadIsBetweenTwoWrites) {
  const Tensor w = net.layer->weights();
  const std::size_t size = w.shape().num_elements();
  int num_writes = 0, num_torn = 0;
  run_during(
      [&] {
        const Floats values(size, static_cast<float>(++num_writes));
        w.bind_and_write_data(view(values), test_device());
      },
      [&] {
        const Floats values = read(w);
        num_torn += !is_uniform(values, values[0]);
      });
  EXPECT_EQ(num_torn, 0);
}

TEST_F(Threads, ReadingOptimizerDataUndoesNoCompile) {
  const Tensor w = net.layer->weights();
  bool has_adam = false;
  int num_undone = 0;
  run_during(
      [&] {
        try {
          w.synchronize_optimizer_data();
        } catch (const StateError&) {  // NOLINT(bugprone-empty-catch)
          // compile_optimizer() has not placed the buffers yet.
        }
      },
      [&] {
        has_adam = !has_adam;
        if (has_adam) {
          net.t->compile_optimizer(std::make_shared<optimizers::Adam>());
        } else {
          net.t->compile_optimizer(sgd(0.01f, 0.5f));
        }
        for (int i = 0; i < 20; ++i) {
          std::this_thread::yield();
          num_undone += w.optimizer_data().size() != (has_adam ? 2u : 1u);
        }
      });
  EXPECT_EQ(num_undone, 0);
}

TEST(ThreadsOnOneGraph, AFailingCompileThawsNothingForTheOther) {
  for (int i = 0; i < 30; ++i) {
    Linear net;
    TrainingGraph good({net.graph},
                       std::make_shared<losses::MeanSquaredError>());
    TrainingGraph bad({net.graph});  // declares nothing
    good.add_inputs({{"x", net.x}}, {{"label", net.label}});
    std::latch start(2);
    std::thread thread([&] {
      start.arrive_and_wait();
      EXPECT_THROW(bad.compile(Device::null()), Error);
    });
    start.arrive_and_wait();
    good.compile(Device::null());
    thread.join();
    EXPECT_THROW(net.graph.node(std::make_shared<layers::ReLU>(), net.y),
                 StateError);
  }
}

TEST(ThreadsOnOneGraph, AGraphIsDrawnWhileItGrows) {
  Linear net;
  TrainingGraph t({net.graph});
  std::thread thread([&] {
    Tensor h = net.y;
    for (int i = 0; i < 50; ++i) {
      h = net.graph.node(std::make_shared<layers::ReLU>(), h);
    }
  });
  for (int i = 0; i < 20; ++i) {
    EXPECT_NE(t.summarized_dot_description().find("digraph"),
              std::string::npos);
  }
  thread.join();
}

TEST(Readable, AnOutputOfTwoGraphsIsReadFromTheOneCompiledLast) {
  Linear net;
  TrainingGraph first = net.train(sgd(0.1f));
  first.execute(net.inputs, net.labels).wait();
  const Floats y = read(net.y);
  InferenceGraph second({net.graph});
  second.add_inputs({{"x", net.x}});
  second.add_outputs({{"y", net.y}});
  second.compile(test_device());
  EXPECT_THROW(read(net.y), StateError);  // it has not run
  second.execute(net.inputs);
  EXPECT_EQ(read(net.y) != y, computes());  // after the first one's update
}

TEST(Readable, ASmallerBatchFillsTheLeadingSamples) {
  Linear net(4, 3, 2);
  TrainingGraph t = net.train(nullptr);
  const auto result =
      t.execute(net.inputs, net.labels, {}, {.batch_size = 1}).result();
  const Floats want = floats_of(result.output("y"));
  Floats got(8, 9.0f);
  net.y.copy_data_from_device_memory(
      std::as_writable_bytes(std::span<float>(got)));
  EXPECT_EQ(Floats(got.begin(), got.begin() + 2), want);
  EXPECT_EQ(Floats(got.begin() + 2, got.end()), Floats(6, 0.0f));
}

}  // namespace
}  // namespace traingraph
