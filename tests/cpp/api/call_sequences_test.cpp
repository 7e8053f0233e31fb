// SPDX-License-Identifier: MIT
// Random sequences of calls against a model of a few lines that says which
// data each call runs on, what it computes, and which calls are refused.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdlib>

#include "support/training.h"

namespace traingraph {
namespace {

using namespace testing;

constexpr std::int64_t kBatch = 4;
constexpr float kRate = 0.125f;
constexpr std::array kNames{"x", "label", "weight"};

/// loss = mean(weight * (x + p - label)^2), rows of one element; and a graph
/// for inference that has x as its input and p as a constant.
struct Network {
  Network() {
    for (int i : {1, 2}) {  // outputs are tensors that a node reads
      graph.node(std::make_shared<layers::Tanh>(), tensors[i]);
    }
    y = graph.node(
        std::make_shared<layers::Arithmetic>(ArithmeticOperation::Add),
        {tensors[0], p});
    t.emplace(std::vector{graph}, std::make_shared<losses::MeanSquaredError>(),
              sgd(kRate));
    t->add_inputs({{"x", tensors[0]}}, {{"label", tensors[1]}},
                  {{"weight", tensors[2]}});
    t->add_outputs(
        {{"x", tensors[0]}, {"label", tensors[1]}, {"weight", tensors[2]}});
    t->set_training_tensor_parameters({TensorParameter(p)});
    Graph inference;
    inference.node(
        std::make_shared<layers::Arithmetic>(ArithmeticOperation::Add),
        {tensors[0], p});
    g.emplace(std::vector{inference});
    g->add_inputs({{"x", tensors[0]}});
    g->add_outputs({{"x", tensors[0]}});
    t->compile(test_device());
    g->compile(test_device());
  }
  const std::array<Tensor, 3> tensors{Tensor({{kBatch, 1}}, "x"),
                                      Tensor({{kBatch, 1}}, "label"),
                                      Tensor({{kBatch, 1}}, "weight")};
  const Tensor p = Tensor::filled({{1, 1}}, 0, "p");
  Tensor y;
  Graph graph;
  std::optional<TrainingGraph> t;
  std::optional<InferenceGraph> g;
};

/// Bound data has so many rows.
struct Bound {
  Floats data;
  bool serves(std::int64_t batch) const {
    return !data.empty() && std::int64_t(data.size()) >= batch;
  }
};

/// A forward pass has seen these.
struct Seen {
  std::array<Floats, 3> data;
  double gradient(double p) const {
    double sum = 0;
    const std::size_t rows = data[0].size();
    for (std::size_t i = 0; i < rows; ++i) {
      sum += 2 * data[2][i] * (data[0][i] + p - data[1][i]) / rows;
    }
    return sum;
  }
};

class Sequence {
 public:
  explicit Sequence(unsigned seed) : random_(seed) {}

  void run(int num_calls) {
    for (int i = 0; i < num_calls && !::testing::Test::HasFailure(); ++i) {
      switch (below(12)) {
        case 0:
        case 1:
        case 2:
          step();
          break;
        case 3:
        case 4:
          forward();
          break;
        case 5:
          gradient();
          break;
        case 6:
          update();
          break;
        case 7:
          bind();
          break;
        case 8:
          infer();
          break;
        case 9:
          set();
          break;
        case 10:
          share();
          break;
        default:
          check();
          break;
      }
    }
    check();
  }

 private:
  int below(int limit) {
    return std::uniform_int_distribution<int>(0, limit - 1)(random_);
  }
  /// Weights (i = 2) are not negative, so that training converges.
  Floats rows(int i, std::int64_t batch) {
    Floats values(batch);
    for (float& v : values) v = float(below(17) - 8) / 8;
    for (float& v : values) v = i == 2 ? std::abs(v) : v;
    return values;
  }

  /// A call's own data: some of the names.
  struct Given {
    std::array<Floats, 3> data;
    std::array<std::vector<NamedData>, 3> lists;
    std::int64_t batch = 0, size = kBatch;
    bool skips = false;
    ExecuteOptions options() const {
      return {.batch_size = batch, .skip_writing_input_data_to_device = skips};
    }
    bool has(int i) const { return !skips && !data[i].empty(); }
  };
  void choose(Given& given, int chance_of_each) {
    given.batch = below(2) ? 0 : 1 + below(kBatch);
    given.size = given.batch ? given.batch : kBatch;
    given.skips = below(6) == 0;
    for (int i = 0; i < 3; ++i) {
      if (below(4) >= chance_of_each) continue;
      given.data[i] = rows(i, below(3) ? given.size : kBatch);
      given.lists[i] = {{kNames[i], view(std::as_const(given.data[i]))}};
    }
  }

  /// Returns what the call runs on; empty when it lacks `missing`.
  std::optional<Seen> expected(const Given& given, std::string& missing) {
    Seen seen;
    for (int i : {1, 2, 0}) {  // by name, as the call looks
      const Floats* from = given.has(i)                   ? &given.data[i]
                           : bound_[i].serves(given.size) ? &bound_[i].data
                                                          : nullptr;
      if (!from) {
        missing = kNames[i];
        return std::nullopt;
      }
      seen.data[i].assign(from->begin(), from->begin() + given.size);
    }
    return seen;
  }

  template <class Run>
  std::optional<Seen> training_call(int chance, const Run& run) {
    Given given;
    choose(given, chance);
    std::string missing;
    const auto seen = expected(given, missing);
    if (!seen) {
      const ErrorInfo error = error_of<InvalidArgument>([&] { run(given); });
      EXPECT_EQ(error.node, missing);
      return std::nullopt;
    }
    const Execution execution = run(given);
    if (below(2)) return seen;  // may be in flight during the calls to come
    const ExecutionResult result = execution.result();
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(floats_of(result.output(kNames[i])), seen->data[i])
          << kNames[i];
    }
    return seen;
  }

  void step() {
    const auto seen = training_call(3, [&](const Given& given) {
      return net_.t->execute(given.lists[0], given.lists[1], given.lists[2],
                             given.options());
    });
    if (!seen) return;
    if (computes()) p_ -= kRate * seen->gradient(p_);
    forward_.reset();
    gradient_.reset();
  }
  void forward() {
    const auto seen = training_call(2, [&](const Given& given) {
      return net_.t->execute_forward(given.lists[0], given.lists[1],
                                     given.lists[2], given.options());
    });
    if (!seen) return;
    forward_ = seen;
    at_forward_ = p_;
    gradient_.reset();
  }
  void gradient() {
    if (!forward_) {
      error_of<StateError>([&] { net_.t->execute_gradient(); });
      return;
    }
    net_.t->execute_gradient();
    gradient_ = forward_->gradient(at_forward_);
    forward_.reset();
  }
  void update() {
    if (!gradient_) {
      error_of<StateError>([&] { net_.t->execute_optimizer_update(); });
      return;
    }
    net_.t->execute_optimizer_update();
    if (computes()) p_ -= kRate * *gradient_;
    gradient_.reset();
  }
  void bind() {
    const std::int64_t batch = below(2) ? 0 : 1 + below(kBatch);
    const std::int64_t size = batch ? batch : kBatch;
    std::vector<NamedData> list;
    for (int i = 0; i < 3; ++i) {
      if (below(2)) continue;
      bound_[i].data = rows(i, size);
      list.push_back({kNames[i], view(std::as_const(bound_[i].data))});
    }
    net_.t->bind_and_write_data(list, {}, batch);
  }

  /// Labels may be left out when there is other data.
  void infer() {
    Given given;
    choose(given, 2);
    ExecuteOptions options = given.options();
    options.forward_for_inference = true;
    const bool has_labels = given.has(1) || given.has(2);
    const bool is_empty = !has_labels && !given.has(0);
    const bool all_bound = !bound_[1].data.empty() && !bound_[2].data.empty();
    const bool uses_labels = is_empty ? all_bound : has_labels;
    const auto run = [&] {
      return net_.t->execute(given.lists[0], given.lists[1], given.lists[2],
                             options);
    };
    std::string missing;
    for (int i : {1, 2, 0}) {
      const bool is_needed = i == 0 || uses_labels;
      const bool is_there = given.has(i) || bound_[i].serves(given.size);
      if (missing.empty() && is_needed && !is_there) missing = kNames[i];
    }
    if (!missing.empty()) {
      EXPECT_EQ(error_of<InvalidArgument>(run).node, missing);
      return;
    }
    const Floats& x = given.has(0) ? given.data[0] : bound_[0].data;
    const ExecutionResult result = run().result();
    EXPECT_EQ(floats_of(result.output("x")),
              Floats(x.begin(), x.begin() + given.size));
    EXPECT_EQ(result.has_loss(), uses_labels);
    forward_.reset();  // gradients stay for the update
  }

  /// A tensor gets a value: that of x is bound in both graphs.
  void set() {
    const int i = below(4);
    if (i == 3) {
      // Between a forward and its gradient the parameter is not of one pass.
      if (forward_) return;
      const Floats value = rows(0, 1);
      net_.p.set_data(view(value));
      p_ = value[0];
      return;
    }
    const Floats data = rows(i, kBatch);
    net_.tensors[i].set_data(view(data));
    bound_[i].data = data;
    if (i == 0) shared_.data = data;
  }

  void share() {
    const Floats own = rows(0, kBatch);
    if (below(3) == 0) {
      net_.g->bind_and_write_data({{"x", view(own)}});
      shared_.data = own;
      return;
    }
    const bool is_given = below(2);
    const auto run = [&] {
      return is_given ? net_.g->execute({{"x", view(own)}})
                      : net_.g->execute({});
    };
    if (!is_given && shared_.data.empty()) {
      EXPECT_EQ(error_of<InvalidArgument>(run).node, "x");
      return;
    }
    const Floats& x = is_given ? own : shared_.data;
    const ExecutionResult result = run().result();
    EXPECT_EQ(floats_of(result.output("x")), x);
    if (!computes()) return;
    const Floats y = floats_of(*result.result());
    for (int i = 0; i < kBatch; ++i) EXPECT_NEAR(y[i], x[i] + p_, 1e-4);
  }

  // 1e-4: p is summed up in float32 over hundreds of updates.
  void check() { EXPECT_NEAR(read(net_.p)[0], p_, 1e-4); }

  std::mt19937 random_;
  Network net_;
  std::array<Bound, 3> bound_;
  Bound shared_;
  double p_ = 0, at_forward_ = 0;
  std::optional<Seen> forward_;
  std::optional<double> gradient_;
};

TEST(CallSequences, FollowTheModel) {
  const char* fixed = std::getenv("TRAINGRAPH_SEED");
  for (unsigned i = 0; i < 20; ++i) {
    const unsigned seed = fixed ? unsigned(std::atoi(fixed)) : i + 1;
    SCOPED_TRACE("TRAINGRAPH_SEED=" + std::to_string(seed));
    Sequence(seed).run(150);
    if (HasFailure() || fixed) return;
  }
}

}  // namespace
}  // namespace traingraph
