// SPDX-License-Identifier: MIT
// Medians of runs, and reports and profiles as text.
#include "traingraph/insight_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "runtime/insight/medians.h"
#include "runtime/insight/printable.h"
#include "support/training.h"

namespace traingraph {
namespace {

using namespace testing;

/// A run of two layers with one unit each.
Profile run_of(double first, double second) {
  Profile profile;
  profile.rows.resize(2);
  profile.rows[0].layer = "a";
  profile.rows[1].layer = "b";
  profile.rows[0].forward.seconds = first;
  profile.rows[1].gradient.seconds = second;
  profile.total.forward.seconds = first;
  profile.total.gradient.seconds = second;
  profile.units.resize(2);
  profile.units[0].cost.seconds = first;
  profile.units[1].cost.seconds = second;
  profile.units[1].start = first;
  return profile;
}

TEST(MedianOfRuns, OutliersDoNotCount) {
  const Profile median = median_of({run_of(1, 10), run_of(2, 20), run_of(3, 30),
                                    run_of(4, 40), run_of(1000, 5000)});
  EXPECT_EQ(median.runs, 5);
  EXPECT_EQ(median.rows[0].forward.seconds, 3);
  EXPECT_EQ(median.rows[0].forward.spread, 2);  // from 2 to 4
  EXPECT_EQ(median.rows[1].gradient.seconds, 30);
  EXPECT_EQ(median.rows[1].gradient.spread, 20);
  EXPECT_EQ(median.rows[1].forward.seconds, 0);
  EXPECT_EQ(median.total.cost().seconds, 33);
  EXPECT_EQ(median.units[0].start, 0);
  EXPECT_EQ(median.units[1].start, 3);
  EXPECT_EQ(median.units[1].cost.seconds, 30);
}

TEST(MedianOfRuns, OfAnEvenNumberIsBetweenTheMiddleTwo) {
  const Profile median =
      median_of({run_of(4, 0), run_of(1, 0), run_of(2, 0), run_of(3, 0)});
  EXPECT_EQ(median.rows[0].forward.seconds, 2.5);
  EXPECT_EQ(median.rows[0].forward.spread, 3.25 - 1.75);
}

TEST(MedianOfRuns, OfOneRunIsTheRun) {
  const Profile median = median_of({run_of(4, 1)});
  EXPECT_EQ(median.runs, 1);
  EXPECT_EQ(median.rows[0].forward.seconds, 4);
  EXPECT_EQ(median.rows[0].forward.spread, 0);
  EXPECT_EQ(median.units[1].start, 4);
}

TEST(Printable, KeepsTextAndNothingElse) {
  const std::string kept = "a \xC3\xA9 \xE2\x82\xAC \xF0\x9F\x99\x82 <&>\"";
  EXPECT_EQ(printable(kept), kept);
  EXPECT_EQ(width(kept), 12);
  EXPECT_EQ(printable(std::string("\0\n\t\x1F\x7F", 5)), "?????");
  EXPECT_EQ(printable("\xC2\x85"), "??");            // a control character
  EXPECT_EQ(printable("\xC0\x80"), "??");            // overlong
  EXPECT_EQ(printable("\xE0\x80\xAF"), "???");       // overlong
  EXPECT_EQ(printable("\xED\xA0\x80"), "???");       // a surrogate
  EXPECT_EQ(printable("\xF4\x90\x80\x80"), "????");  // above U+10FFFF
  EXPECT_EQ(printable("\xEF\xBF\xBE"), "???");       // no character
  EXPECT_EQ(printable("a\xE2\x82"), "a??");          // cut off
  EXPECT_EQ(printable("\xFF\xFE"), "??");
}

TEST(Printable, NumbersHaveCommas) {
  EXPECT_EQ(with_commas(0), "0");
  EXPECT_EQ(with_commas(999), "999");
  EXPECT_EQ(with_commas(1000), "1,000");
  EXPECT_EQ(with_commas(1234567), "1,234,567");
}

LayerRow row_of(std::string name, double flops, std::string ops = "matmul") {
  LayerRow row;
  row.layer = std::move(name);
  row.ops = std::move(ops);
  row.forward.flops = flops;
  row.parameters = 7;
  row.layout = "plain";
  return row;
}

TEST(RepeatedBlocks, AreAddedUp) {
  std::vector<LayerRow> rows{row_of("stem", 1),       row_of("block1.fc", 10),
                             row_of("block2.fc", 10), row_of("block10.fc", 10),
                             row_of("block3.fc", 20), row_of("head", 1)};
  rows[2].layout = "nhwc";
  const std::vector<LayerRow> blocks = repeated_blocks(rows);
  ASSERT_EQ(blocks.size(), 4);
  EXPECT_EQ(blocks[0].layer, "stem");
  EXPECT_EQ(blocks[1].layer, "block#.fc x 3");
  EXPECT_EQ(blocks[1].forward.flops, 30);
  EXPECT_EQ(blocks[1].parameters, 21);
  EXPECT_EQ(blocks[1].layout, "various");
  EXPECT_EQ(blocks[2].layer, "block3.fc");  // other work
  EXPECT_EQ(blocks[3].layer, "head");
}

TEST(RepeatedBlocks, TheFirstOfSeveralHasNoNumber) {
  const auto blocks = repeated_blocks(
      {row_of("fc", 5), row_of("fc:2", 5), row_of("fc.3", 5),
       row_of("fc", 5, "relu"), row_of("1", 1), row_of("22", 1)});
  ASSERT_EQ(blocks.size(), 3);
  EXPECT_EQ(blocks[0].layer, "fc x 3");
  EXPECT_EQ(blocks[1].layer, "fc");
  EXPECT_EQ(blocks[2].layer, "# x 2");
}

std::vector<std::string> first_words(const std::string& text) {
  std::vector<std::string> words;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    words.push_back(line.substr(0, line.find("  ")));
    at = end + 1;
  }
  return words;
}

TEST(Table, SortsByWhatIsAskedFor) {
  Profile profile;
  profile.device = "a device";
  profile.runs = 3;
  profile.rows = {row_of("small", 1), row_of("large", 100),
                  row_of("middle", 10)};
  profile.rows[0].update.seconds = 3;
  profile.total.layer = "total";
  const auto order = [&](RowOrder by) {
    auto words = first_words(table(profile, {.order = by}));
    return std::vector(words.begin() + 4, words.begin() + 7);
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(order(RowOrder::Declared), (Names{"small", "large", "middle"}));
  EXPECT_EQ(order(RowOrder::Flops), (Names{"large", "middle", "small"}));
  EXPECT_EQ(order(RowOrder::Seconds), (Names{"small", "large", "middle"}));
  EXPECT_NE(table(profile).find("median of 3 runs"), std::string::npos);
  EXPECT_NE(table(profile).find("+-"), std::string::npos);
  EXPECT_THROW(table(Report{}, {.order = RowOrder::Seconds}), InvalidArgument);
}

TEST(Table, WithoutRowsHasATotal) {
  const auto words = first_words(table(Report{}));
  ASSERT_EQ(words.size(), 6);
  EXPECT_NO_THROW(memory_svg(Report{}));
  EXPECT_NO_THROW(trace_json(Profile{}));
}

TEST(ProfileOfRuns, ThereAreAsManyAsWereMeasured) {
  Linear net;
  TrainingGraph t = net.train(sgd(0.1f));
  const ExecuteOptions measured{.per_layer_profiling = true};
  for (int i = 0; i < 70; ++i) {
    t.execute(net.inputs, net.labels, {}, measured);
    t.execute(net.inputs, net.labels);
  }
  EXPECT_EQ(t.profile().runs, 1);
  EXPECT_EQ(t.profile(5).runs, 5);
  EXPECT_EQ(t.profile(1000).runs, 64);
  EXPECT_EQ(t.profile(1000).units.size(), t.profile().units.size());
  EXPECT_GE(t.profile(9).total.cost().spread, 0);
  EXPECT_THROW(t.profile(0), InvalidArgument);
  EXPECT_THROW(t.profile(-1), InvalidArgument);
  // Runs of another kind are left out.
  t.execute_forward(net.inputs, net.labels, {}, measured);
  EXPECT_EQ(t.profile(1000).runs, 1);
  t.execute_gradient(measured);
  t.execute_optimizer_update(measured);
  t.execute_forward(net.inputs, net.labels, {}, measured);
  t.execute_gradient(measured);
  t.execute_optimizer_update(measured);
  const Profile phases = t.profile(1000);
  EXPECT_EQ(phases.runs, 2);
  EXPECT_GT(phases.total.update.flops, 0);
}

TEST(Outputs, AreReadAsFloats) {
  Linear net;
  InferenceGraph graph({net.graph});
  graph.add_inputs({{"x", net.x}});
  graph.add_outputs({{"y", net.y}});
  graph.compile(test_device());
  const OutputView y = graph.execute(net.inputs).result().output("y");
  EXPECT_EQ(y.floats().size_bytes(), y.data.size());
  EXPECT_EQ(static_cast<const void*>(y.floats().data()), y.data.data());
  const OutputView integers{"n", {{2}, DataType::Int32}, y.data, nullptr};
  EXPECT_THROW(integers.floats(), DTypeError);
  EXPECT_EQ(graph.inputs().begin()->first, "x");
  EXPECT_EQ(graph.outputs().begin()->first, "y");
  EXPECT_TRUE(graph.loss_labels().empty());
}

}  // namespace
}  // namespace traingraph
