// SPDX-License-Identifier: MIT
// report() and profile(): rows add up to units, units are the plan's, and what
// can be worked out by hand is.
#include <gtest/gtest.h>

#include <sstream>

#include "support/training.h"

namespace traingraph {
namespace {

using namespace testing;

constexpr std::int64_t kBatch = 4, kChannels = 8, kSize = 10, kClasses = 5;

/// x -> stem -> relu -> block -> + -> head, with a way around the block.
struct Residual {
  Residual() {
    const Tensor h = add(std::make_shared<layers::ReLU>(), "relu",
                         add(convolution(3), "stem", x));
    const Tensor block = add(convolution(kChannels), "block", h);
    Tensor sum = graph.node(
        std::make_shared<layers::Arithmetic>(ArithmeticOperation::Add),
        {h, block});
    sum = graph.reshape({kBatch, -1}, sum);
    y = add(std::make_shared<layers::FullyConnected>(kInner, kClasses), "head",
            sum);
    x_data = random_floats(kBatch * 3 * kSize * kSize, 1);
    label_data = one_hot(kBatch, kClasses);
    inputs = {{"x", view(std::as_const(x_data))}};
    labels = {{"label", view(std::as_const(label_data))}};
  }

  static std::shared_ptr<Layer> convolution(std::int64_t channels) {
    return std::make_shared<layers::Convolution>(channels, kChannels, 3);
  }

  Tensor add(const std::shared_ptr<Layer>& layer, const char* label,
             const Tensor& source) {
    layer->set_name(label);
    return graph.node(layer, source);
  }

  TrainingGraph train(const CompileOptions& options = {}) {
    TrainingGraph t({graph}, std::make_shared<losses::SoftmaxCrossEntropy>(),
                    sgd(0.1f));
    t.add_inputs({{"x", x}}, {{"label", label}});
    t.compile(test_device(), options);
    return t;
  }

  static constexpr std::int64_t kInner = kChannels * kSize * kSize;
  Tensor x{{{kBatch, 3, kSize, kSize}}, "x"};
  Tensor label{{{kBatch, kClasses}}, "label"};
  Tensor y;
  Graph graph;
  Floats x_data, label_data;
  std::vector<NamedData> inputs, labels;
};

const LayerRow& row(const std::vector<LayerRow>& rows, std::string_view layer) {
  const auto found = std::ranges::find(rows, layer, &LayerRow::layer);
  if (found == rows.end()) throw std::logic_error("no such row");
  return *found;
}

void expect_equal(const LayerCost& got, const LayerCost& expected) {
  EXPECT_NEAR(got.flops, expected.flops, 1e-9 * expected.flops);
  EXPECT_NEAR(got.bytes, expected.bytes, 1e-9 * expected.bytes);
  EXPECT_NEAR(got.seconds, expected.seconds, 1e-9 * expected.seconds);
}

void add(LayerCost& sum, const LayerCost& cost) {
  sum.flops += cost.flops;
  sum.bytes += cost.bytes;
  sum.seconds += cost.seconds;
}

/// Rows, units and the total are three views of the same.
template <class Tables>
void expect_sums(const Tables& tables) {
  LayerCost forward, gradient, update, units;
  std::int64_t parameters = 0;
  int reorders = 0, num_reorder_units = 0;
  for (const LayerRow& row : tables.rows) {
    add(forward, row.forward);
    add(gradient, row.gradient);
    add(update, row.update);
    parameters += row.parameters;
    reorders += row.reorders;
  }
  double end = 0;
  for (const UnitSpan& unit : tables.units) {
    add(units, unit.cost);
    num_reorder_units += unit.is_reorder;
    EXPECT_DOUBLE_EQ(unit.start, end);
    end = unit.start + unit.cost.seconds;
    EXPECT_FALSE(unit.rows.empty());
    for (int row : unit.rows) {
      EXPECT_NE(unit.name.find(tables.rows.at(row).layer), std::string::npos);
    }
  }
  expect_equal(forward, tables.total.forward);
  expect_equal(gradient, tables.total.gradient);
  expect_equal(update, tables.total.update);
  expect_equal(units, tables.total.cost());
  EXPECT_EQ(parameters, tables.total.parameters);
  EXPECT_EQ(reorders, tables.total.reorders);
  EXPECT_EQ(num_reorder_units, tables.total.reorders);
}

/// Lines of one plan in plan_description().
std::vector<std::string> plan_lines(const CompiledGraph& graph,
                                    const std::string& plan) {
  std::istringstream text(graph.plan_description());
  std::vector<std::string> lines;
  bool is_inside = false;
  for (std::string line; std::getline(text, line);) {
    if (!line.starts_with(' ')) {
      is_inside = line.starts_with(plan + ":");
    } else if (is_inside) {
      lines.push_back(line);
    }
  }
  return lines;
}

void expect_disjoint(const Report& report) {
  const auto& spans = report.memory;
  const int num_units = static_cast<int>(report.units.size());
  std::size_t height = 0;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    const MemorySpan& a = spans[i];
    EXPECT_TRUE(0 <= a.first && a.first <= a.last && a.last < num_units);
    EXPECT_GT(a.bytes, 0u);
    EXPECT_FALSE(a.name.empty());
    height = std::max(height, a.offset + a.bytes);
    for (std::size_t j = 0; j < i; ++j) {
      const MemorySpan& b = spans[j];
      const bool at_once = a.first <= b.last && b.first <= a.last;
      const bool same_bytes =
          a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
      EXPECT_FALSE(at_once && same_bytes) << a.name << " and " << b.name;
    }
  }
  EXPECT_LE(height, report.arena_bytes);
  EXPECT_GT(height + device_alignment(), report.arena_bytes);
}

TEST(Insight, ReportNeedsNoRun) {
  Residual net;
  TrainingGraph t = net.train();
  const Report report = t.report();
  EXPECT_EQ(t.memory().allocated_bytes, 0u);
  EXPECT_EQ(report.batch_size, kBatch);
  EXPECT_EQ(report.arena_bytes, t.memory().step.arena_bytes);
  expect_sums(report);
  expect_disjoint(report);
  EXPECT_EQ(report.total.cost().seconds, 0);
  EXPECT_TRUE(std::isnan(report.total.cost().share()));
  EXPECT_EQ(row(report.rows, "stem").parameters, kChannels * (3 * 9 + 1));
  EXPECT_EQ(row(report.rows, "relu").parameters, 0);
  EXPECT_EQ(report.total.parameters, kChannels * (3 * 9 + 1) +
                                         kChannels * (kChannels * 9 + 1) +
                                         kClasses * (Residual::kInner + 1));
}

TEST(Insight, MemoryIsNeverHeldTwice) {
  const CompileOptions kinds[] = {{.disable_layer_fusion = true},
                                  {.compute_all_gradients = true},
                                  {.reuse_memory = false}};
  for (const CompileOptions& options : kinds) {
    Residual net;
    expect_disjoint(net.train(options).report());
  }
}

TEST(Insight, FlopsOfProductsAreExact) {
  Residual net;
  const Report report = net.train().report();
  const auto outputs = double(kBatch * kChannels * kSize * kSize);
  EXPECT_EQ(row(report.rows, "stem").forward.flops, 2 * outputs * 3 * 9);
  EXPECT_EQ(row(report.rows, "block").forward.flops,
            2 * outputs * kChannels * 9);
  EXPECT_EQ(row(report.rows, "head").forward.flops,
            2.0 * kBatch * Residual::kInner * kClasses);
  // The gradient multiplies by weights and by input, and biases take little.
  const LayerRow& block = row(report.rows, "block");
  EXPECT_GE(block.gradient.flops, 2 * block.forward.flops);
  EXPECT_LE(block.gradient.flops, 2.2 * block.forward.flops);
}

TEST(Insight, EveryUnitOfThePlanIsThereOnce) {
  Residual net;
  TrainingGraph t = net.train();
  const Report report = t.report();
  const auto lines = plan_lines(t, "step");
  ASSERT_EQ(report.units.size(), lines.size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string& ops = report.units[i].ops;
    const std::string begin = "  " + std::to_string(i) + ' ';
    EXPECT_TRUE(
        lines[i].starts_with(begin + ops.substr(0, ops.find(' ')) + ' '))
        << lines[i] << " is not " << ops;
  }
}

TEST(Insight, FusedLayersNameEachOther) {
  Residual net;
  const Report report = net.train().report();
  const LayerRow &stem = row(report.rows, "stem"),
                 &relu = row(report.rows, "relu");
  EXPECT_EQ(stem.fused_group, relu.fused_group);
  EXPECT_EQ(stem.fused_group >= 0,
            computes());  // the null device fuses nothing
  EXPECT_EQ(stem.fused, relu.fused);
  if (!computes()) return;
  EXPECT_TRUE(stem.fused.starts_with("stem + relu")) << stem.fused;
  if (test_device_type() != DeviceType::CPU) return;
  EXPECT_EQ(row(report.rows, "head").fused_group, -1);
  Residual apart;
  const Report plain = apart.train({.disable_layer_fusion = true}).report();
  for (const LayerRow& row : plain.rows) EXPECT_EQ(row.fused, "") << row.layer;
}

TEST(Insight, CpuNamesLayouts) {
  if (test_device_type() != DeviceType::CPU) GTEST_SKIP();
  Residual net;
  const Report report = net.train().report();
  for (const UnitSpan& unit : report.units) EXPECT_NE(unit.layout, "");
  EXPECT_EQ(row(report.rows, "head").layout, "plain");
  EXPECT_NE(row(report.rows, "block").layout, "");
}

TEST(Insight, ProfileIsOneMeasuredStep) {
  Residual net;
  TrainingGraph t = net.train();
  const auto result =
      t.execute(net.inputs, net.labels, {}, {.per_layer_profiling = true})
          .result();
  t.execute(net.inputs, net.labels).wait();  // does not count
  const Profile profile = t.profile();
  expect_sums(profile);
  EXPECT_EQ(profile.batch_size, kBatch);
  EXPECT_EQ(profile.units.size(), t.report().units.size());
  double seconds = 0;
  for (const LayerTime& time : result.layer_times()) {
    seconds += time.forward + time.gradient + time.update;
  }
  const LayerCost total = profile.total.cost();
  EXPECT_NEAR(total.seconds, seconds, 1e-9);
  EXPECT_EQ(total.seconds > 0, computes());
  EXPECT_EQ(total.flops, t.report().total.cost().flops);
  const bool has_peaks = test_device_type() == DeviceType::CPU;
  EXPECT_EQ(std::isnan(profile.peaks.flops), !has_peaks);
  EXPECT_EQ(std::isnan(total.share()), !has_peaks);
  if (!has_peaks) return;
  EXPECT_GT(total.share(), 0);
  EXPECT_GT(profile.peaks.flops, 1e8);
  EXPECT_GT(profile.peaks.bandwidth, 1e7);
  EXPECT_EQ(t.profile().peaks.flops, profile.peaks.flops);  // measured once
}

TEST(Insight, PhasesAreOneRun) {
  Residual net;
  TrainingGraph t = net.train();
  const ExecuteOptions measured{.per_layer_profiling = true};
  t.execute_forward(net.inputs, net.labels, {}, measured);
  const std::size_t num_forward = t.profile().units.size();
  t.execute_gradient(measured);
  t.execute_optimizer_update(measured);
  const Profile profile = t.profile();
  expect_sums(profile);
  EXPECT_EQ(profile.units.size(), plan_lines(t, "phases").size());
  EXPECT_GT(profile.total.update.flops, 0);
  EXPECT_EQ(profile.units[num_forward - 1].phase, "forward");
  EXPECT_EQ(profile.units[num_forward].phase, "gradient");
  // A gradient pass whose forward was not measured stands by itself.
  t.execute_forward(net.inputs, net.labels);
  t.execute_gradient(measured);
  EXPECT_EQ(t.profile().total.forward.flops, 0);
  EXPECT_GT(t.profile().total.gradient.flops, 0);
}

TEST(Insight, SmallerBatchesHaveTheirOwnCosts) {
  Residual net;
  TrainingGraph t = net.train();
  const Floats x(net.x_data.begin(),
                 net.x_data.begin() + 2 * 3 * kSize * kSize);
  t.execute({{"x", view(x)}}, {}, {},
            {.batch_size = 2,
             .forward_for_inference = true,
             .per_layer_profiling = true});
  const Profile profile = t.profile();
  EXPECT_EQ(profile.batch_size, 2);
  EXPECT_EQ(row(profile.rows, "head").forward.flops,
            2.0 * 2 * Residual::kInner * kClasses);
  EXPECT_EQ(profile.total.gradient.flops, 0);
}

TEST(Insight, InferenceGraphsHaveItToo) {
  Linear net;
  InferenceGraph graph({net.graph});
  graph.add_inputs({{"x", net.x}});
  graph.add_outputs({{"y", net.y}});
  graph.compile(test_device());
  const Report report = graph.report();
  expect_sums(report);
  EXPECT_EQ(report.units.size(), plan_lines(graph, "inference").size());
  EXPECT_EQ(report.arena_bytes, graph.memory().inference.arena_bytes);
  EXPECT_EQ(row(report.rows, "dense").forward.flops,
            2.0 * net.batch * net.in * net.out);
  graph.execute(net.inputs, {.per_layer_profiling = true});
  EXPECT_EQ(graph.profile().total.cost().flops, report.total.cost().flops);
}

TEST(Insight, ErrorsSayWhatToDo) {
  Linear net;
  TrainingGraph early({net.graph}, nullptr, nullptr);
  EXPECT_EQ(error_of<StateError>([&] { early.report(); }).op, "report");
  EXPECT_EQ(error_of<StateError>([&] { early.profile(); }).op, "profile");
  EXPECT_EQ(error_of<StateError>([&] { early.notes(); }).op, "notes");
  TrainingGraph t = net.train(sgd(0.1f));
  t.execute(net.inputs, net.labels).wait();
  const ErrorInfo none = error_of<StateError>([&] { t.profile(); });
  EXPECT_NE(none.hint.find("per_layer_profiling"), std::string::npos);
  t.execute(net.inputs, net.labels, {}, {.per_layer_profiling = true});
  EXPECT_NO_THROW(t.profile());
  t.compile(test_device());
  EXPECT_THROW(t.profile(), StateError);
}

}  // namespace
}  // namespace traingraph
