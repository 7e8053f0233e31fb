// SPDX-License-Identifier: MIT
// What ranks must have in common, before the first step and at every call.
#include <gtest/gtest.h>

#include "exchange/rank_net.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

using namespace testing;

/// h + tanh(h) * factor, with what may differ between ranks.
struct Branches {
  std::shared_ptr<Collective> collective;
  bool stops = false;
  float factor = 2;

  void compile() const {
    const Tensor x({{4, 3}}, "x"), label({{4, 2}}, "label");
    const Tensor c({{1, 2}}, "c");
    Graph graph;
    const Tensor h =
        graph.node(std::make_shared<layers::FullyConnected>(
                       Tensor({{2, 3}}, view(random_floats(6, 1))), Tensor()),
                   x);
    const Tensor branch = graph.node(std::make_shared<layers::Tanh>(), h);
    const Tensor scaled = graph.node(
        std::make_shared<layers::Arithmetic>(ArithmeticOperation::Multiply),
        std::vector<Tensor>{branch, c});
    graph.node(std::make_shared<layers::Arithmetic>(ArithmeticOperation::Add),
               std::vector<Tensor>{h, scaled});
    TrainingGraph t({graph},
                    std::make_shared<losses::MeanSquaredError>(
                        LossDescriptor{.reduction_type = ReductionType::Mean}),
                    sgd(0.1f));
    t.add_inputs({{"x", x}}, {{"label", label}});
    if (stops) t.stop_gradient({branch});
    CompileOptions options;
    options.data_parallel.collective = collective;
    options.data_parallel.collective_timeout = 20;
    const Floats constants(2, factor);
    t.compile(rank_device(), options, {{"c", c}}, {{"c", view(constants)}});
  }
};

/// Expects this of two ranks when the second one is `other`.
void expect_difference(Branches other, const std::string& what) {
  ThreadGroup group(2);
  on_each_rank(2, [&](int rank) {
    Branches own = rank == 0 ? Branches{} : other;
    own.collective = group[rank];
    const ErrorInfo error = error_of<InvalidArgument>([&] { own.compile(); });
    EXPECT_EQ(error.node, "rank 1");
    EXPECT_NE(error.what.find(what), std::string::npos) << error.what;
  });
}

TEST(Rendezvous, ComparesStopsAndConstants) {
  expect_difference({.collective = {}, .stops = true},
                    "gradients that are stopped or given differ");
  expect_difference({.collective = {}, .factor = 3}, "constants differ");
}

TEST(Rendezvous, NoticesWhatIsSetOnOneRank) {
  for (const bool is_restored : {false, true}) {
    ThreadGroup group(2);
    on_each_rank(2, [&](int rank) {
      RankNet net(with_rank({}, group, rank));
      net.step(0, 6).wait();
      const Tensor bias = net.t->parameters().back();
      Floats zeros(static_cast<std::size_t>(bias.shape().num_elements()));
      // All ranks may set data, which is their business.
      bias.set_data(view(zeros));
      net.step(0, 6).wait();
      if (rank == 1 && is_restored) {
        net.t->load_state_dict(
            {{net.t->state_tensors().back().name, view(zeros)}},
            /*strict=*/false);
      } else if (rank == 1) {
        bias.set_data(view(zeros));
      }
      const ErrorInfo error =
          error_of<StateError>([&] { net.step(0, 6).wait(); });
      EXPECT_NE(error.what.find("set on some"), std::string::npos)
          << error.what;
    });
  }
}

}  // namespace
}  // namespace traingraph
