// SPDX-License-Identifier: MIT
// Batch normalisation with the residual sum and the ReLU behind it, and the
// gradients of the three, as units of their own: against the formulas in
// double, against the same nodes one by one, and left alone where somebody
// needs the values in between.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include "autodiff/gradient.h"
#include "compiler/plan.h"
#include "cpu/cpu_target.h"
#include "cpu/kernel_case.h"
#include "traingraph/traingraph.h"

namespace traingraph::testing {
namespace {

using Doubles = std::vector<double>;

struct Form {
  std::string name;
  Shape shape;
  bool is_after_convolution, has_sum, is_sum_first;
  std::optional<float> negative_slope;  // none: no ReLU
  bool is_training = true;
};

std::ostream& operator<<(std::ostream& out, const Form& f) {
  return out << f.name;
}

/// [convolution ->] norm [-> + r] [-> ReLU], and its gradients.
struct Chain {
  explicit Chain(const Form& f) : form(f) {
    const Shape channels{f.shape[1]};
    x = test.input(f.shape);
    r = test.input(f.shape);
    gamma = test.input(channels, Role::Variable);
    beta = test.input(channels, Role::Variable);
    running_mean = test.input(channels, Role::Variable);
    running_variance = test.input(channels, Role::Variable);
    for (float& v : test.data[5].second) v = 1 + std::abs(v);
    const BatchNormAttrs attrs{.epsilon = 1e-3f, .training = f.is_training};
    Program& p = test.program;
    source = f.is_after_convolution ? convolve(f.shape[1]) : x;
    const auto results =
        p.append(OpKind::BatchNorm, attrs,
                 {source, gamma, beta, running_mean, running_variance}, "norm");
    n = s = results[0];
    if (f.has_sum) {
      s = p.append_one(OpKind::Binary, ArithmeticAttrs{},
                       f.is_sum_first ? std::vector{r, n} : std::vector{n, r},
                       "sum");
    }
    y = s;
    if (f.negative_slope) {
      y = p.append_one(OpKind::Activation, relu(), {s}, "relu");
    }
  }

  ActivationAttrs relu() const {
    return {ActivationType::ReLU, *form.negative_slope};
  }

  /// One that changes no bit, but the layout.
  ValueId convolve(std::int64_t channels) {
    const ValueId weights =
        test.input({channels, channels, 1, 1}, Role::Variable);
    Floats& identity = test.data.back().second;
    for (std::int64_t i = 0; i < channels * channels; ++i) {
      identity[i] = i % (channels + 1) == 0 ? 1.0f : 0.0f;
    }
    return test.program.append_one(OpKind::Convolution2d, Convolution2dAttrs{},
                                   {x, weights, kNoValue});
  }

  /// Gradients of source, gamma, beta and r.
  std::vector<ValueId> differentiate_all() {
    seed = test.input(form.shape);
    Program& p = test.program;
    p.position.phase = Phase::Gradient;
    std::vector<ValueId> wanted{source, gamma, beta};
    if (form.has_sum) wanted.push_back(r);
    const GradientMap map = differentiate(
        p, {.seeds = {{y, seed}}, .wanted = wanted, .stopped = {}});
    std::vector<ValueId> gradients;
    for (ValueId value : wanted) gradients.push_back(map.at(value));
    return gradients;
  }

  const Floats& contents(ValueId id) const {
    const auto it =
        std::ranges::find(test.data, id, &std::pair<ValueId, Floats>::first);
    return it->second;
  }
  std::vector<ValueId> all_results() const {
    std::vector<ValueId> all;
    for (const Node& node : test.program.nodes()) {
      all.insert(all.end(), node.outputs.begin(), node.outputs.end());
    }
    return all;
  }

  Form form;
  Case test;
  ValueId x, r, gamma, beta, running_mean, running_variance, source, n, s, y;
  ValueId seed = kNoValue;
};

struct Expected {
  Doubles y, dx, dgamma, dbeta, dr;
};

/// The formulas, in double.
Expected reference(const Chain& chain) {
  const Shape& shape = chain.form.shape;
  const std::int64_t channels = shape[1], size = shape.num_elements();
  const std::int64_t inner = size / (shape[0] * channels);
  const auto channel = [&](std::int64_t i) { return i / inner % channels; };
  const double count = double(size) / double(channels);
  const Floats &x = chain.contents(chain.x), &r = chain.contents(chain.r),
               &gamma = chain.contents(chain.gamma),
               &beta = chain.contents(chain.beta);
  const bool trains = chain.form.is_training;
  Doubles mean(channels), variance(channels), inverse(channels);
  for (std::int64_t i = 0; i < size; ++i) mean[channel(i)] += x[i] / count;
  for (std::int64_t i = 0; i < size; ++i) {
    const double d = x[i] - mean[channel(i)];
    variance[channel(i)] += d * d / count;
  }
  for (std::int64_t c = 0; c < channels; ++c) {
    if (!trains) {
      mean[c] = chain.contents(chain.running_mean)[c];
      variance[c] = chain.contents(chain.running_variance)[c];
    }
    inverse[c] = 1 / std::sqrt(variance[c] + 1e-3f);
  }
  Expected e{Doubles(size), Doubles(size), Doubles(channels), Doubles(channels),
             Doubles(size)};
  Doubles normalized(size);
  for (std::int64_t i = 0; i < size; ++i) {
    const auto c = channel(i);
    normalized[i] = (x[i] - mean[c]) * inverse[c];
    e.y[i] = normalized[i] * gamma[c] + beta[c];
    if (chain.form.has_sum) e.y[i] += r[i];
    const double slope = e.y[i] > 0 ? 1 : chain.form.negative_slope.value_or(1);
    e.y[i] *= slope;
    if (chain.seed == kNoValue) continue;
    e.dr[i] = chain.contents(chain.seed)[i] * slope;
    e.dbeta[c] += e.dr[i];
    e.dgamma[c] += e.dr[i] * normalized[i];
  }
  for (std::int64_t i = 0; i < size; ++i) {
    const auto c = channel(i);
    double through = e.dr[i];
    if (trains) {
      through -= (e.dbeta[c] + normalized[i] * e.dgamma[c]) / count;
    }
    e.dx[i] = gamma[c] * inverse[c] * through;
  }
  return e;
}

std::vector<std::string> units(const Program& program,
                               std::vector<ValueId> kept, bool fuses = true) {
  const LoweredProgram lowered = cpu::CpuTarget(2).lower(
      program, {.kept = std::move(kept), .fuses = fuses});
  std::vector<std::string> names;
  for (const Unit& unit : lowered.units) {
    if (unit.is_reorder) continue;
    std::string name;
    for (NodeId id : unit.nodes) {
      name +=
          (name.empty() ? "" : "+") + std::string(program.node(id).op->name);
    }
    names.push_back(name);
  }
  return names;
}

bool has(const std::vector<std::string>& units, const std::string& name) {
  return std::ranges::find(units, name) != units.end();
}

class NormFusion : public ::testing::TestWithParam<Form> {
 protected:
  std::string forward_unit() const {
    return std::string("batch_norm") + (GetParam().has_sum ? "+binary" : "") +
           (GetParam().negative_slope.value_or(-1) >= 0 ? "+activation" : "");
  }
};

TEST_P(NormFusion, ForwardIsTheFormulaInOneUnit) {
  Chain chain(GetParam());
  const auto names = units(chain.test.program, {chain.y});
  EXPECT_TRUE(has(names, std::string("batch_norm") +
                             (chain.form.has_sum ? "+binary" : "") +
                             (chain.form.negative_slope ? "+activation" : "")));
  EXPECT_EQ(names.size(), chain.form.is_after_convolution ? 2u : 1u);
  for (const bool in_place : {false, true}) {
    ProgramRun run = chain.test.run({chain.y}, in_place);
    expect_near(run.get(chain.y), reference(chain).y, 1e-5);
    // Kept values are computed one by one, with the same bits.
    EXPECT_EQ(run.get(chain.y),
              chain.test.run(chain.all_results()).get(chain.y));
  }
}

TEST_P(NormFusion, GradientsAreTheFormulas) {
  Chain chain(GetParam());
  const auto kept = chain.differentiate_all();
  const Expected expected = reference(chain);
  const bool is_relu = chain.form.negative_slope.has_value();
  const auto names = units(chain.test.program, kept);
  EXPECT_EQ(has(names, "activation_gradient+batch_norm_gradient"), is_relu);
  // A slope below 0 asks for ReLU's source.
  if (!is_relu || *chain.form.negative_slope >= 0) {
    EXPECT_TRUE(has(names, forward_unit()));
  }
  for (const bool in_place : {false, true}) {
    ProgramRun run = chain.test.run(kept, in_place);
    expect_near(run.get(kept[0]), expected.dx, 2e-5);
    expect_near(run.get(kept[1]), expected.dgamma, 2e-5);
    expect_near(run.get(kept[2]), expected.dbeta, 2e-5);
    if (chain.form.has_sum) expect_near(run.get(kept[3]), expected.dr, 1e-5);
    if (chain.form.negative_slope.value_or(0) != 0) continue;
    const ProgramRun one_by_one = chain.test.run(chain.all_results());
    for (ValueId id : kept) EXPECT_EQ(run.get(id), one_by_one.get(id));
  }
}

TEST_P(NormFusion, PassesThePlanChecker) {
  Chain chain(GetParam());
  const std::vector<ValueId> kept = chain.differentiate_all();
  const Program& program = chain.test.program;
  const LoweredProgram lowered =
      cpu::CpuTarget(2).lower(program, {.kept = kept});
  for (PlanKind kind : {PlanKind::Step, PlanKind::Phases}) {
    const PlanRequest request{.kind = kind, .readable = {}, .gradients = kept};
    EXPECT_NO_THROW(make_plan(program, lowered, request));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Forms, NormFusion,
    ::testing::Values(
        Form{"relu", {4, 3, 9, 7}, false, false, false, 0.0f},
        Form{"relu_blocked", {3, 20, 9, 7}, true, false, false, 0.0f},
        Form{"leaky", {4, 3, 9, 7}, false, false, false, 0.1f},
        Form{"negative_slope", {4, 3, 9, 7}, false, false, false, -0.5f},
        Form{"sum", {4, 3, 9, 7}, false, true, false, {}},
        Form{"sum_blocked", {3, 20, 9, 7}, true, true, true, {}},
        Form{"sum_relu", {4, 3, 9, 7}, false, true, false, 0.0f},
        Form{"sum_relu_swapped", {4, 3, 9, 7}, false, true, true, 0.0f},
        Form{"sum_relu_blocked", {3, 20, 9, 7}, true, true, false, 0.0f},
        Form{"sum_leaky_blocked", {3, 32, 8, 8}, true, true, false, 0.2f},
        Form{"sum_relu_large", {8, 16, 40, 40}, true, true, false, 0.0f},
        Form{"vectors", {300, 33}, false, true, false, 0.0f},
        Form{"sequences", {5, 6, 100}, false, true, false, 0.0f},
        Form{"volumes", {2, 4, 3, 5, 7}, false, true, false, 0.0f},
        Form{"fixed", {4, 3, 9, 7}, false, true, false, 0.0f, false},
        Form{"fixed_blocked", {4, 20, 9, 7}, true, false, false, 0.0f, false}),
    [](const auto& info) { return info.param.name; });

Form sum_relu() { return {"", {4, 3, 9, 7}, false, true, false, 0.0f}; }

TEST(NormFusionRule, KeepsWhatOthersRead) {
  Chain chain(sum_relu());
  Program& p = chain.test.program;
  // The exponentials of the norm's result, and of the sum's.
  const ValueId of_n = p.append_one(
      OpKind::Unary, ArithmeticAttrs{ArithmeticOperation::Exp}, {chain.n});
  EXPECT_TRUE(has(units(p, {chain.y, of_n}), "batch_norm"));
  const ProgramRun run = chain.test.run({chain.y, of_n});
  expect_near(run.get(chain.y), reference(chain).y, 1e-5);
  Chain other(sum_relu());
  const ValueId of_s = other.test.program.append_one(
      OpKind::Binary, ArithmeticAttrs{}, {other.s, other.y});
  EXPECT_TRUE(has(units(other.test.program, {of_s}), "batch_norm+binary"));
  const ProgramRun sums = other.test.run({of_s, other.s});
  const Floats both = sums.get(of_s), s = sums.get(other.s);
  for (std::size_t i = 0; i < s.size(); ++i) {
    ASSERT_EQ(both[i], s[i] + std::max(s[i], 0.0f));
  }
}

TEST(NormFusionRule, KeepsWhatTheHostReads) {
  Chain chain(sum_relu());
  const Program& p = chain.test.program;
  EXPECT_TRUE(has(units(p, {chain.n, chain.y}), "batch_norm"));
  EXPECT_TRUE(has(units(p, {chain.s, chain.y}), "batch_norm+binary"));
  EXPECT_TRUE(has(units(p, {chain.y}), "batch_norm+binary+activation"));
  EXPECT_TRUE(has(units(p, {chain.y}, /*fuses=*/false), "batch_norm"));
}

TEST(NormFusionRule, ANormPlusItselfIsNoResidual) {
  Chain chain({"", {4, 3, 9, 7}, false, false, false, {}});
  const ValueId twice = chain.test.program.append_one(
      OpKind::Binary, ArithmeticAttrs{}, {chain.n, chain.n});
  EXPECT_TRUE(has(units(chain.test.program, {twice}), "batch_norm"));
  Doubles expected = reference(chain).y;
  for (double& value : expected) value *= 2;
  expect_near(chain.test.run({twice}).get(twice), expected, 1e-5);
}

TEST(NormFusionRule, AResidualThatBroadcastsIsAddedByItself) {
  Chain chain({"", {4, 3, 9, 7}, false, false, false, {}});
  const ValueId row = chain.test.input({7});
  const ValueId sum = chain.test.program.append_one(
      OpKind::Binary, ArithmeticAttrs{}, {chain.n, row});
  EXPECT_TRUE(has(units(chain.test.program, {sum}), "batch_norm"));
}

// relu(norm(x) + norm(r)): the later norm takes the sum along. The gradient
// of both norms is the ReLU's, which goes with one of them; a sum before it,
// as of two consumers, goes along.
TEST(NormFusionRule, OfTwoNormsTheLaterOneAdds) {
  Chain chain({"", {4, 20, 9, 7}, true, false, false, {}});
  Case& test = chain.test;
  Program& p = test.program;
  const BatchNormAttrs attrs{.epsilon = 1e-3f};
  const ValueId mean = test.input({20}, Role::Variable);
  const ValueId variance = test.input({20}, Role::Variable);
  const auto side =
      p.append(OpKind::BatchNorm, attrs,
               {chain.r, chain.gamma, chain.beta, mean, variance});
  const ValueId s =
      p.append_one(OpKind::Binary, ArithmeticAttrs{}, {chain.n, side[0]});
  const ValueId y = p.append_one(OpKind::Activation,
                                 ActivationAttrs{ActivationType::ReLU}, {s});
  const ValueId a = p.append_one(
      OpKind::Unary, ArithmeticAttrs{ArithmeticOperation::Sin}, {y});
  const ValueId b = p.append_one(
      OpKind::Unary, ArithmeticAttrs{ArithmeticOperation::Exp}, {y});
  const ValueId first_seed = test.input(p.shape(a));
  const ValueId second_seed = test.input(p.shape(b));
  p.position.phase = Phase::Gradient;
  const GradientMap map =
      differentiate(p, {.seeds = {{a, first_seed}, {b, second_seed}},
                        .wanted = {chain.source, chain.r, chain.gamma},
                        .stopped = {}});
  const std::vector<ValueId> kept{y, map.at(chain.source), map.at(chain.r),
                                  map.at(chain.gamma)};
  const auto names = units(p, kept);
  EXPECT_TRUE(has(names, "batch_norm"));
  EXPECT_TRUE(has(names, "batch_norm+binary+activation"));
  EXPECT_TRUE(has(names, "binary+activation_gradient+batch_norm_gradient"));
  EXPECT_TRUE(has(names, "batch_norm_gradient"));
  const ProgramRun one_by_one = test.run(chain.all_results());
  for (const bool in_place : {false, true}) {
    const ProgramRun run = test.run(kept, in_place);
    for (ValueId id : kept) EXPECT_EQ(run.get(id), one_by_one.get(id));
  }
}

TEST(NormFusionRule, KeepsNaN) {
  Chain chain(sum_relu());
  const float nan = std::numeric_limits<float>::quiet_NaN();
  chain.test.data[1].second[5] = nan;  // the residual's
  const Floats y = chain.test.run({chain.y}).get(chain.y);
  for (std::size_t i = 0; i < y.size(); ++i) {
    EXPECT_EQ(std::isnan(y[i]), i == 5);
  }
}

}  // namespace
}  // namespace traingraph::testing
