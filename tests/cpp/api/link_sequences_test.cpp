// SPDX-License-Identifier: MIT
// Random sequences of calls on two linked graphs against a model that says
// what each computes and which are refused.
#include <gtest/gtest.h>

#include <cstdlib>

#include "support/training.h"

namespace traingraph {
namespace {

using namespace testing;

constexpr std::int64_t kRows = 4;
constexpr double kRate = 0.125, kDecay = 0.5;

OptimizerPtr optimizer() {
  return std::make_shared<optimizers::SGD>(
      OptimizerDescriptor{.learning_rate = float(kRate),
                          .regularization_type = RegularizationType::L2,
                          .regularization_scale = float(kDecay)});
}

Tensor product(Graph& graph, const Tensor& x, const Tensor& y) {
  return graph.node(
      std::make_shared<layers::Arithmetic>(ArithmeticOperation::Multiply),
      {x, y});
}

/// front: h = x a, and x u, which nobody reads. back: loss = mse(h b, label).
class LinkSequence {
 public:
  explicit LinkSequence(unsigned seed) : random_(seed) {
    Graph front, back;
    product(front, x_, u_);
    h_ = product(front, x_, a_);
    product(back, h_, b_);
    front_.emplace(std::vector{front}, nullptr, optimizer());
    front_->add_inputs({{"x", x_}});
    front_->set_training_tensor_parameters(
        {TensorParameter(a_), TensorParameter(u_)});
    back_.emplace(std::vector{back},
                  std::make_shared<losses::MeanSquaredError>(), optimizer());
    back_->add_inputs({{"h", h_}}, {{"label", label_}});
    back_->set_training_tensor_parameters({TensorParameter(b_)});
    front_->compile(test_device(), {.link_graphs = true});
    back_->compile(test_device(), {.link_graphs = true});
    front_->link({*back_});
  }

  void run(int num_calls) {
    for (int i = 0; i < num_calls && !::testing::Test::HasFailure(); ++i) {
      // Mostly in an order that trains.
      next_ = below(3) ? (next_ + 1) % 6 : below(6);
      switch (next_) {
        case 0:
          front_forward();
          break;
        case 1:
          back_forward();
          break;
        case 2:
          back_gradient();
          break;
        case 3:
          front_gradient();
          break;
        case 4:
          update(*front_, front_phase_, a_value_, da_);
          break;
        default:
          update(*back_, back_phase_, b_value_, db_);
          break;
      }
      if (below(8) == 0) check();
    }
    check();
  }

 private:
  enum class Phase { Clean, Forward, Gradient };

  int below(int limit) {
    return std::uniform_int_distribution<int>(0, limit - 1)(random_);
  }
  Floats rows() {
    Floats values(kRows);
    for (float& v : values) v = float(below(17) - 8) / 8;
    return values;
  }

  void front_forward() {
    x_seen_ = rows();
    front_->execute_forward({{"x", view(x_seen_)}}, {});
    front_phase_ = Phase::Forward;
    h_value_.assign(kRows, 0);
    for (int i = 0; i < kRows; ++i) h_value_[i] = x_seen_[i] * a_value_;
    dh_.reset();
    ++runs_;
  }
  void back_forward() {
    const Floats label = rows();
    const auto run = [&] {
      return back_->execute_forward({}, {{"label", view(label)}});
    };
    if (runs_ == 0) {
      EXPECT_EQ(error_of<StateError>(run).node, "h");
      return;
    }
    const Execution forward = run();
    label_seen_ = label;
    back_phase_ = Phase::Forward;
    seen_runs_ = runs_;
    if (below(2) || !computes()) return;
    double loss = 0;
    for (int i = 0; i < kRows; ++i) loss += difference(i) * difference(i);
    EXPECT_NEAR(forward.result().loss(), loss / kRows, 1e-4);
  }
  double difference(int i) const {
    return h_value_[i] * b_value_ - label_seen_[i];
  }
  void back_gradient() {
    if (back_phase_ != Phase::Forward || seen_runs_ != runs_) {
      error_of<StateError>([&] { back_->execute_gradient(); });
      return;
    }
    back_->execute_gradient();
    back_phase_ = Phase::Gradient;
    if (!dh_) dh_.emplace(kRows, 0.0);
    db_ = 0;
    for (int i = 0; i < kRows; ++i) {
      db_ += 2 * difference(i) * h_value_[i] / kRows;
      (*dh_)[i] += 2 * difference(i) * b_value_ / kRows;
    }
  }
  void front_gradient() {
    if (front_phase_ != Phase::Forward || !dh_) {
      error_of<StateError>([&] { front_->execute_gradient(); });
      return;
    }
    front_->execute_gradient();
    front_phase_ = Phase::Gradient;
    da_ = 0;
    for (int i = 0; i < kRows; ++i) da_ += (*dh_)[i] * x_seen_[i];
    dh_.reset();
  }
  void update(TrainingGraph& graph, Phase& phase, double& value,
              double gradient) {
    if (phase != Phase::Gradient) {
      error_of<StateError>([&] { graph.execute_optimizer_update(); });
      return;
    }
    graph.execute_optimizer_update();
    phase = Phase::Clean;
    if (computes()) value -= kRate * (gradient + kDecay * value);
  }
  // 1e-4: sums of hundreds of float32 updates.
  void check() {
    EXPECT_NEAR(read(a_)[0], a_value_, 1e-4);
    EXPECT_NEAR(read(b_)[0], b_value_, 1e-4);
    EXPECT_EQ(read(u_)[0], 1.0f);
  }

  std::mt19937 random_;
  const Tensor x_{{{kRows, 1}}, "x"}, label_{{{kRows, 1}}, "label"};
  const Tensor a_ = Tensor::filled({{1, 1}}, 1, "a"),
               b_ = Tensor::filled({{1, 1}}, 1, "b"),
               u_ = Tensor::filled({{1, 1}}, 1, "u");
  Tensor h_;
  std::optional<TrainingGraph> front_, back_;

  int next_ = 5;
  double a_value_ = 1, b_value_ = 1, da_ = 0, db_ = 0;
  Floats x_seen_, label_seen_;
  Doubles h_value_;
  std::optional<Doubles> dh_;  // what back has passed on
  Phase front_phase_ = Phase::Clean, back_phase_ = Phase::Clean;
  int runs_ = 0, seen_runs_ = 0;
};

TEST(LinkSequences, FollowTheModel) {
  const char* fixed = std::getenv("TRAINGRAPH_SEED");
  for (unsigned i = 0; i < 20; ++i) {
    const unsigned seed = fixed ? unsigned(std::atoi(fixed)) : i + 1;
    SCOPED_TRACE("TRAINGRAPH_SEED=" + std::to_string(seed));
    LinkSequence(seed).run(150);
    if (HasFailure() || fixed) return;
  }
}

}  // namespace
}  // namespace traingraph
