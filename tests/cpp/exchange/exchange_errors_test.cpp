// SPDX-License-Identifier: MIT
// Ranks that differ, fall silent or fail: every other one ends with an error
// that says which.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <optional>

#include "exchange/error_text.h"
#include "exchange/forwarding.h"
#include "exchange/rank_net.h"
#include "traingraph/error.h"
#include "traingraph/interrupt.h"

namespace traingraph {
namespace {

using namespace testing;

/// Each rank's InvalidArgument at compile.
std::vector<std::string> errors_of_compile(
    const std::vector<RankOptions>& options) {
  const int size = static_cast<int>(options.size());
  ThreadGroup group(size);
  std::vector<std::string> errors(options.size());
  on_each_rank(size, [&](int rank) {
    errors[rank] = text_of_error<InvalidArgument>(
        [&] { RankNet net(with_rank(options[rank], group, rank)); });
  });
  return errors;
}

TEST(Exchange, AllNameTheSameDifference) {
  RankOptions other;
  other.dropout = 0.5f;
  for (const std::string& error : errors_of_compile({{}, {}, other})) {
    EXPECT_TRUE(contains(error, "rank 2")) << error;
    EXPECT_TRUE(contains(error, "layers differ")) << error;
    EXPECT_TRUE(contains(error, "dropout")) << error;
  }
  other = {.optimizer = std::make_shared<optimizers::Adam>(0.1f)};
  for (const std::string& error : errors_of_compile({{}, other})) {
    EXPECT_TRUE(contains(error, "rank 1")) << error;
    EXPECT_TRUE(contains(error, "optimizers differ")) << error;
  }
  other = {};
  other.compile.data_parallel.bucket_bytes = 77;
  for (const std::string& error : errors_of_compile({{}, other})) {
    EXPECT_TRUE(contains(error, "bucket_bytes=77")) << error;
  }
}

TEST(Exchange, ADifferentCallEndsBoth) {
  ThreadGroup group(2);
  on_each_rank(2, [&](int rank) {
    RankNet net(with_rank({}, group, rank));
    const std::string error = text_of_error<StateError>([&] {
      if (rank == 0) net.step(0, 6).wait();
      net.forward(6, 6);
      net.t->execute_gradient().wait();
    });
    EXPECT_TRUE(contains(error, "different calls")) << error;
    EXPECT_TRUE(contains(error, "execute_gradient")) << error;
    // The failure is for good.
    const std::string again =
        text_of_error<StateError>([&] { net.step(0, 6).wait(); });
    EXPECT_TRUE(contains(again, "from a checkpoint")) << again;
  });
}

TEST(Exchange, ARankThatFallsSilentEndsTheOthersInTime) {
  ThreadGroup group(3);
  const auto begin = std::chrono::steady_clock::now();
  on_each_rank(3, [&](int rank) {
    RankOptions options;
    options.compile.data_parallel.collective_timeout = 0.5;
    RankNet net(with_rank(options, group, rank));
    net.step(0, 4).wait();
    if (rank == 2) return group.kill(2);
    const std::string error =
        text_of_error<DeviceError>([&] { net.step(0, 4).wait(); });
    EXPECT_TRUE(contains(error, "rank " + std::to_string(rank))) << error;
  });
  const std::chrono::duration<double> time =
      std::chrono::steady_clock::now() - begin;
  EXPECT_LT(time.count(), 30);
}

TEST(ExchangeDeathTest, AnExitEndsTheWait) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto begin = std::chrono::steady_clock::now();
  const auto leave = [] {
    static ThreadGroup group(2);
    static std::optional<RankNet> waits;
    on_each_rank(2, [&](int rank) {
      if (rank == 1) RankNet other(with_rank({}, group, rank));
      if (rank == 0) waits.emplace(with_rank({}, group, rank));
    });
    waits->step(0, 6);  // the other one does not
    std::exit(3);
  };
  EXPECT_EXIT(leave(), ::testing::ExitedWithCode(3), "");
  const std::chrono::duration<double> time =
      std::chrono::steady_clock::now() - begin;
  EXPECT_LT(time.count(), 15);  // of 20 until the deadline
}

/// x picks rows of a table: no check can foresee which.
struct TableNet {
  explicit TableNet(std::shared_ptr<Collective> collective) {
    const Tensor ids =
        graph.op(OpKind::Cast, CastAttrs{DataType::Int32}, {x}, "to_int")[0];
    graph.node(
        std::make_shared<layers::Embedding>(
            EmbeddingDescriptor{.embedding_count = 3, .embedding_dimension = 1},
            EmbeddingOptions{
                .weights = Tensor({{3, 1}}, view(random_floats(3, 1)), "t")}),
        ids);
    t.emplace(std::vector{graph}, std::make_shared<losses::MeanSquaredError>(),
              sgd(0.5f));
    t->add_inputs({{"x", x}}, {{"label", label}});
    CompileOptions options;
    options.data_parallel = {.collective = std::move(collective),
                             .gradients_of_ranks = GradientAccumulation::Sum,
                             .collective_timeout = 1};
    t->compile(rank_device(), options);
  }

  void step(float index) {
    t->execute({{"x", view(indices(index))}}, {{"label", view(zeros)}}).wait();
  }
  Execution forward(float index) {
    return t->execute_forward({{"x", view(indices(index))}},
                              {{"label", view(zeros)}});
  }

  std::optional<TrainingGraph> t;

 private:
  /// Valid until the next call.
  const Floats& indices(float index) { return indices_ = {0, index}; }

  const Tensor x{{{2}}, "x"}, label{{{2, 1}}, "label"};
  Graph graph;
  const Floats zeros{0, 0};
  Floats indices_;
};

TEST(Exchange, AKernelThatFailsEndsAll) {
  ThreadGroup group(3);
  const auto begin = std::chrono::steady_clock::now();
  on_each_rank(3, [&](int rank) {
    TableNet net(group[rank]);
    net.step(2);
    if (rank == 1) {
      const std::string error =
          text_of_error<InvalidArgument>([&] { net.step(7); });
      EXPECT_TRUE(contains(error, "to_int")) << error;
    } else {
      const std::string error =
          text_of_error<DeviceError>([&] { net.step(1); });
      EXPECT_TRUE(contains(error, "rank " + std::to_string(rank))) << error;
    }
    EXPECT_THROW(net.step(1), StateError);
  });
  const std::chrono::duration<double> time =
      std::chrono::steady_clock::now() - begin;
  EXPECT_LT(time.count(), 15);
}

/// Remembers that its rank has told the others of a failure.
class Telling final : public Forwarding {
 public:
  using Forwarding::Forwarding;
  void abort() noexcept override {
    has_told = true;
    Forwarding::abort();
  }
  std::atomic<bool> has_told{false};
};

TEST(Exchange, AGradientPassThatIsSkippedTellsTheOthers) {
  const ThreadGroup group(1);
  const auto rank = std::make_shared<Telling>(group[0]);
  TableNet net(rank);
  net.step(2);
  const Execution forward = net.forward(7);
  EXPECT_THROW(forward.wait(), InvalidArgument);
  // A forward pass exchanges nothing: others wait for no part of it.
  EXPECT_FALSE(rank->has_told);
  EXPECT_THROW(net.t->execute_gradient().wait(), InvalidArgument);
  EXPECT_TRUE(rank->has_told);
  EXPECT_THROW(net.step(1), StateError);
}

TEST(Exchange, ARankThatNeverCompilesEndsTheOthers) {
  ThreadGroup group(2);
  RankOptions options;
  options.compile.data_parallel.collective_timeout = 0.3;
  const std::string error = text_of_error<DeviceError>(
      [&] { RankNet net(with_rank(options, group, 0)); });
  EXPECT_TRUE(contains(error, "did not come")) << error;
}

TEST(Exchange, AnInterruptEndsTheWaitOfACall) {
  ThreadGroup group(2);
  static std::atomic<bool> is_interrupted{false};
  on_each_rank(2, [&](int rank) {
    RankNet net(with_rank({}, group, rank));
    net.step(0, 6).wait();
    if (rank == 1) return group.kill(1);
    set_interrupt_check([] {
      if (is_interrupted) throw std::runtime_error("Ctrl-C");
    });
    is_interrupted = true;
    const auto begin = std::chrono::steady_clock::now();
    const std::string error = text_of_error<std::runtime_error>([&] {
      net.t->execute({{"x", RankNet::rows(net.x_data, 5, 0, 6)}},
                     {{"label", RankNet::rows(net.labels, 3, 0, 6)}}, {},
                     {.batch_size = 6, .synchronous = true});
    });
    const std::chrono::duration<double> time =
        std::chrono::steady_clock::now() - begin;
    set_interrupt_check(nullptr);
    EXPECT_TRUE(contains(error, "Ctrl-C")) << error;
    EXPECT_LT(time.count(), 10);  // of 20 until the deadline
  });
}

TEST(Exchange, AHookSeesEachBucketOnce) {
  std::vector<std::string> names;
  std::vector<int> indices;
  RankOptions options;
  options.compile.data_parallel.bucket_bytes = 64;
  options.compile.data_parallel.on_bucket = [&](const GradientBucket& bucket) {
    indices.push_back(bucket.index);
    for (const auto name : bucket.parameters) names.emplace_back(name);
    for (float& value : bucket.values) value = 0;
  };
  RankNet net(options);
  const auto before = net.values();
  net.step(0, 12).wait();
  EXPECT_EQ(net.values(), before);  // gradients were made zero
  EXPECT_EQ(indices, (std::vector<int>{0, 1, 2, 3}));
  ASSERT_EQ(names.size(), 4u);
  // The last layer's come first.
  EXPECT_TRUE(contains(names.front(), "fully_connected_2")) << names.front();
}

TEST(Exchange, AHookThatThrowsFailsTheExecution) {
  RankOptions options;
  options.compile.data_parallel.on_bucket = [](const GradientBucket&) {
    throw std::runtime_error("the disk is full");
  };
  RankNet net(options);
  for (int i = 0; i < 2; ++i) {  // there is nobody to lose step with
    const std::string error =
        text_of_error<std::runtime_error>([&] { net.step(0, 12).wait(); });
    EXPECT_EQ(error, "the disk is full");
  }
}

TEST(Exchange, AFailureWithoutATextEndsWhatFollows) {
  ThreadGroup group(1);
  RankOptions options = with_rank({}, group, 0);
  options.compile.data_parallel.on_bucket = [](const GradientBucket&) {
    throw std::runtime_error("");
  };
  RankNet net(options);
  EXPECT_EQ(text_of_error<std::runtime_error>([&] { net.step(0, 12).wait(); }),
            "");
  const std::string error =
      text_of_error<StateError>([&] { net.step(0, 12).wait(); });
  EXPECT_TRUE(contains(error, "has failed")) << error;
}

TEST(Exchange, RefusesWhatItCannotDo) {
  ThreadGroup group(1);
  RankOptions options = with_rank({}, group, 0);
  options.compile.verify = Device::cpu();
  EXPECT_THROW(RankNet net(options), UnsupportedError);
  options.compile.data_parallel.collective.reset();
  options.compile.data_parallel.on_bucket = [](const GradientBucket&) {};
  const std::string error =
      text_of_error<UnsupportedError>([&] { RankNet net(options); });
  EXPECT_TRUE(contains(error, "on_bucket")) << error;
}

/// Also where there is nobody; what was compiled before is left as it is.
TEST(Exchange, RefusesWrongOptions) {
  const ThreadGroup group(1);
  for (const bool has_others : {true, false}) {
    RankNet net({});
    const auto refuses = [&](const std::string& option, auto change) {
      CompileOptions options;
      if (has_others) options.data_parallel.collective = group[0];
      change(options.data_parallel);
      const std::string error = text_of_error<InvalidArgument>(
          [&] { net.t->compile(rank_device(), options); });
      EXPECT_TRUE(contains(error, option)) << error;
      net.step(0, 12).wait();
    };
    refuses("bucket_bytes", [](DataParallel& d) { d.bucket_bytes = 0; });
    refuses("collective_timeout",
            [](DataParallel& d) { d.collective_timeout = -1; });
    refuses("gradients_of_ranks", [](DataParallel& d) {
      d.gradients_of_ranks = GradientAccumulation::None;
    });
  }
}

TEST(Exchange, TheReportCountsTheGradientsThatAStepKeeps) {
  RankNet alone({});
  ThreadGroup group(1);
  RankNet net(with_rank({}, group, 0));
  const MemoryReport own = net.t->memory();
  EXPECT_GE(own.step.arena_bytes, own.step.gradient_bytes);
  EXPECT_GT(own.step.arena_bytes, alone.t->memory().step.arena_bytes);
}

}  // namespace
}  // namespace traingraph
