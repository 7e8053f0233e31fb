// SPDX-License-Identifier: MIT
// Ranks that synchronize batch normalization and differ or fall silent, and
// what it is not combined with.
#include <gtest/gtest.h>

#include <mutex>

#include "exchange/error_text.h"
#include "exchange/forwarding.h"
#include "exchange/norm_net.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

using namespace testing;

/// A rank that stays away from its all-gathers from the `last`-th on.
class Silent : public Forwarding {
 public:
  Silent(std::shared_ptr<Collective> rank, int last)
      : Forwarding(std::move(rank)), left_(last) {}
  void all_gather(std::span<const std::byte> part, std::span<std::byte> all,
                  Done done) override {
    if (--left_ > 0) return Forwarding::all_gather(part, all, std::move(done));
    const std::scoped_lock lock(mutex_);
    waiting_ = std::move(done);
  }
  void abort() noexcept override {
    Forwarding::abort();
    Done waiting;
    {
      const std::scoped_lock lock(mutex_);
      waiting.swap(waiting_);
    }
    if (waiting) {
      waiting(std::make_exception_ptr(
          DeviceError(ErrorInfo{.what = "this rank gave up"})));
    }
  }
  /// Fails after so many gathers from now on.
  void come_to(int num_gathers) { left_ = num_gathers + 1; }

 private:
  int left_;
  std::mutex mutex_;
  Done waiting_;
};

TEST(SynchronizedBatchNorm, ARankWithoutItEndsAllAtCompile) {
  ThreadGroup group(3);
  on_each_rank(3, [&](int rank) {
    NormOptions options = with_norms({}, group, rank);
    options.compile.data_parallel.synchronize_batch_norm = rank != 2;
    const ErrorInfo error =
        error_of<InvalidArgument>([&] { NormNet net(options); });
    EXPECT_EQ(error.node, "rank 2");
    EXPECT_TRUE(contains(error.got, "synchronize_batch_norm=0")) << error.got;
  });
}

TEST(SynchronizedBatchNorm, ARankThatFallsSilentAtStatisticsEndsAll) {
  // After the announcement come statistics, in the order of the network; the
  // last ones are gradients.
  for (const int num_gathers : {1, 2, 4, 6}) {
    SCOPED_TRACE(num_gathers);
    ThreadGroup group(3);
    on_each_rank(3, [&](int rank) {
      NormOptions options = with_norms({}, group, rank);
      options.compile.data_parallel.collective_timeout = 0.4;
      const auto silent = std::make_shared<Silent>(group[rank], 1 << 20);
      options.compile.data_parallel.collective = silent;
      NormNet net(options);
      net.step({0, 4}).wait();
      if (rank == 1) silent->come_to(num_gathers);
      const ErrorInfo error =
          error_of<DeviceError>([&] { net.step({0, 4}).wait(); });
      EXPECT_TRUE(contains(error.node, "rank " + std::to_string(rank)))
          << error.node;
      EXPECT_TRUE(contains(error.node, "statistics of \"batch_norm"))
          << error.node;
      EXPECT_THROW(net.step({0, 4}).wait(), StateError);  // for good
    });
  }
}

TEST(SynchronizedBatchNorm, ADifferentCallEndsBothBeforeStatisticsMix) {
  ThreadGroup group(2);
  on_each_rank(2, [&](int rank) {
    NormNet net(with_norms({}, group, rank));
    const auto before = net.values();
    const ErrorInfo error = error_of<StateError>([&] {
      rank == 0 ? net.forward({0, 6}).wait() : net.step({6, 6}).wait();
    });
    EXPECT_EQ(error.what, "the processes are at different calls");
    EXPECT_TRUE(contains(error.expected + error.got, "execute_forward"));
    EXPECT_EQ(net.values(), before);
  });
}

/// All ranks make this call then.
TEST(SynchronizedBatchNorm, AForwardPassNeedsAllRanks) {
  ThreadGroup group(2);
  NormNet whole(NormOptions{});
  const float expected = whole.forward({0, NormNet::kSamples}).result().loss();
  on_each_rank(2, [&](int rank) {
    NormOptions options = with_norms({}, group, rank);
    options.compile.data_parallel.reduce_losses = true;
    NormNet net(options);
    const float loss = net.forward({rank * 6, 6}).result().loss();
    // Sums of 36 numbers of magnitude 1.
    EXPECT_NEAR(loss, expected, 36 * 0x1p-24 * expected);
  });
}

TEST(SynchronizedBatchNorm, RefusesWhatItCannotDo) {
  ThreadGroup group(1);
  NormOptions options = with_norms({}, group, 0);
  options.compile.accumulate_gradients = true;
  const ErrorInfo added =
      error_of<UnsupportedError>([&] { NormNet net(options); });
  EXPECT_TRUE(contains(added.expected, "synchronize_batch_norm"));
  options.compile.accumulate_gradients = false;
  options.compile.data_parallel.collective = nullptr;
  const ErrorInfo alone =
      error_of<InvalidArgument>([&] { NormNet net(options); });
  EXPECT_EQ(alone.node, "synchronize_batch_norm");
  options = with_norms({}, group, 0);
  const NormNet net(options);
  EXPECT_TRUE(net.t->report().synchronize_batch_norm);
  const ErrorInfo model = error_of<UnsupportedError>(
      [&] { net.t->report().scaling(2, 1e9, 1e-6); });
  EXPECT_EQ(model.op, "scaling");
}

/// Their gradients would have to be summed, too.
TEST(SynchronizedBatchNorm, RefusesNodesThatReadStatistics) {
  ThreadGroup group(1);
  const Tensor x({{4, 3}}, "x"), label({{4, 3}}, "label");
  const Floats zeros(3, 0.0f), ones(3, 1.0f);
  Graph graph;
  const auto norm = graph.op(
      OpKind::BatchNorm, BatchNormAttrs{},
      {x, Tensor({{3}}, view(ones), "gamma"),
       Tensor({{3}}, view(zeros), "beta"), Tensor({{3}}, view(zeros), "mean"),
       Tensor({{3}}, view(ones), "variance")},
      "norm");
  graph.op(OpKind::Binary, ArithmeticAttrs{ArithmeticOperation::Add},
           {norm[0], norm[1]}, "shifted");
  TrainingGraph t({graph}, std::make_shared<losses::MeanSquaredError>(),
                  sgd(0.1f));
  t.add_inputs({{"x", x}}, {{"label", label}});
  CompileOptions options;
  options.data_parallel = {.collective = group[0],
                           .gradients_of_ranks = GradientAccumulation::Sum,
                           .synchronize_batch_norm = true};
  const ErrorInfo error =
      error_of<UnsupportedError>([&] { t.compile(Device::cpu(), options); });
  EXPECT_EQ(error.node, "shifted");
}

/// What arrives at them has no weight of the rank.
TEST(SynchronizedBatchNorm, RefusesGradientsThatWereDeclared) {
  ThreadGroup group(1);
  const Tensor x({{4, 3}}, "x"), label({{4, 2}}, "label");
  const Floats zeros(3, 0.0f), ones(3, 1.0f);
  Graph graph;
  const auto norm =
      graph.op(OpKind::BatchNorm, BatchNormAttrs{},
               {x, Tensor(), Tensor(), Tensor({{3}}, view(zeros), "mean"),
                Tensor({{3}}, view(ones), "variance")},
               "norm");
  const Tensor dx = graph.op(OpKind::BatchNormGradient, BatchNormAttrs{},
                             {x, x, Tensor(), norm[1], norm[2]}, "declared")[0];
  graph.node(std::make_shared<layers::FullyConnected>(3, 2), dx);
  TrainingGraph t({graph}, std::make_shared<losses::MeanSquaredError>(),
                  sgd(0.1f));
  t.add_inputs({{"x", x}}, {{"label", label}});
  CompileOptions options;
  options.data_parallel = {.collective = group[0],
                           .gradients_of_ranks = GradientAccumulation::Sum,
                           .synchronize_batch_norm = true};
  const ErrorInfo error =
      error_of<UnsupportedError>([&] { t.compile(rank_device(), options); });
  EXPECT_EQ(error.node, "declared");
  options.data_parallel.synchronize_batch_norm = false;
  t.compile(rank_device(), options);
}

}  // namespace
}  // namespace traingraph
