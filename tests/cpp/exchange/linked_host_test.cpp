// SPDX-License-Identifier: MIT
// Host code between two linked graphs, on several ranks: what the second graph
// gives the host has its weight already.
#include <gtest/gtest.h>

#include <cmath>

#include "exchange/linked_net.h"
#include "support/optimizers.h"

namespace traingraph {
namespace {

using namespace testing;

/// x -> shared -> own -> h, tanh by the host, middle -> shared -> loss
class HostBetween : public LinkedParts {
 public:
  explicit HostBetween(LinkedOptions options)
      : LinkedParts(std::move(options)) {
    Graph a, b;
    const Tensor h = a.node(dense(own), a.node(dense(shared), x));
    b.node(dense(shared), middle);
    front.emplace(std::vector{a}, nullptr, optimizer());
    front->add_inputs({{"x", x}});
    front->add_outputs({{"h", h}});
    user_ = front->allocate_user_gradient(h);
    back.emplace(std::vector{b}, loss(), optimizer());
    back->add_inputs({{"middle", middle}}, {{"label", label}});
    back->compile(device_, options_.compile);
    // Gradients are of the whole batch, as they come.
    options_.compile.data_parallel.gradients_of_ranks =
        GradientAccumulation::Sum;
    front->compile(device_, options_.compile);
    front->link({*back});
  }

  void step(Part part) {
    const ExecuteOptions batch{.batch_size = part.count};
    const auto forward =
        front->execute_forward({{"x", rows(x_data, part)}}, {}, {}, batch)
            .result();
    Floats t = floats_of(forward.output("h"));
    for (float& value : t) value = std::tanh(value);
    back->execute_forward({{"middle", view(std::as_const(t))}},
                          {{"label", rows(labels, part)}}, {}, batch);
    back->execute_gradient();
    Floats g = read(back->gradient_tensor(middle));
    g.resize(static_cast<std::size_t>(part.count * kWidth));
    for (std::size_t i = 0; i < g.size(); ++i) g[i] *= 1 - t[i] * t[i];
    front->bind_and_write_data({{"g", view(g)}}, {{"g", user_}}, part.count);
    front->execute_gradient();
    front->execute_optimizer_update();
    back->execute_optimizer_update().wait();
  }
  std::vector<Floats> values() const { return {read(shared), read(own)}; }

  const Tensor x{{{kSamples, kWidth}}, "x"},
      middle{{{kSamples, kWidth}}, "middle"},
      label{{{kSamples, kWidth}}, "label"};
  const Tensor shared = parameter({kWidth, kWidth}, 1, "shared"),
               own = parameter({kWidth, kWidth}, 2, "own");
  std::optional<TrainingGraph> front, back;

 private:
  Tensor user_;
};

TEST(LinkedRanks, TrainWithHostCodeBetweenGraphs) {
  HostBetween whole({});
  for (int step = 0; step < 3; ++step) whole.step({0, 12});
  for (int size = 1; size <= 3; ++size) {
    ThreadGroup group(size);
    const auto parts = parts_of(size, /*is_even=*/false);
    std::vector<std::vector<Floats>> values(parts.size());
    on_each_rank(size, [&](int rank) {
      HostBetween net(linked_rank({}, group, rank));
      for (int step = 0; step < 3; ++step) net.step(parts[rank]);
      values[rank] = net.values();
    });
    for (const auto& of_rank : values) EXPECT_EQ(of_rank, values.front());
    // The bound is that of linked_test.cpp.
    expect_all_near(values.front(), whole.values(), 1e-6);
  }
}

}  // namespace
}  // namespace traingraph
