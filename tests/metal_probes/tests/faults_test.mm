// SPDX-License-Identifier: MIT
// Probes of a machine that misbehaves: each answer turns, and the verdict with
// it. What cannot be seen on a fault says nothing when it holds.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <string>
#include <tuple>

#include "emulator/control.h"
#include "emulator/hardware_faults.h"
#include "emulator/kernels.h"
#include "metal/gpu_limits.h"
#import "metal/guard.h"
#include "tests/metal_probes/probe.h"
#include "tests/metal_probes/report.h"
#include "tests/metal_probes/sizes.h"

namespace traingraph::metal::probes {
namespace {

Probe find(const std::string& name) {
  for (Probe& probe : all_probes()) {
    if (probe.name == name) return std::move(probe);
  }
  ADD_FAILURE() << "there is no probe " << name;
  return {};
}

Outcome ask(const Probe& probe) {
  std::string answer;
  std::string* to_fill = &answer;
  const auto question = probe.answer;
  const auto exception = run_guarded(^{
    *to_fill = question();
  });
  return {.answer = exception ? "raised " + *exception : answer};
}

class Faults : public testing::Test {
 protected:
  ~Faults() override { emulator::reset_faults(); }

  static Verdict verdict(const std::string& name) {
    const Probe probe = find(name);
    const Outcome outcome = ask(probe);
    answer_ = outcome.answer;
    return verdict_of(probe, outcome);
  }
  static inline std::string answer_;
};

TEST_F(Faults, HeapsAreElsewhere) {
  emulator::scatter_heaps(true);
  EXPECT_EQ(verdict("contiguous"), Verdict::Contradicted) << answer_;
}

TEST_F(Faults, NoHeap) {
  emulator::fail_allocation(1);  // the device's own is made by then
  EXPECT_NE(verdict("graph_in_heap"), Verdict::Holds) << answer_;
}

TEST_F(Faults, SwapsAreSilent) {
  emulator::commit_silently(true);
  EXPECT_EQ(verdict("continue_is_called"), Verdict::Contradicted) << answer_;
  emulator::commit_and_continue_every(0);
  EXPECT_EQ(verdict("continue_is_called"), Verdict::Holds) << answer_;
  EXPECT_TRUE(answer_.starts_with("no swaps")) << answer_;
}

/// Which of the command buffers fails depends on how fast this machine is: one
/// that is made to find that out is an exception.
TEST_F(Faults, LongBuffersFail) {
  emulator::fail_command_buffer(/*code=*/14, /*after=*/8);
  const Outcome outcome = ask(find("long_buffer"));
  EXPECT_FALSE(outcome.answer.starts_with("ends well")) << outcome.answer;
}

struct Wrong {
  const char* probe;
  const char* operation;
};

class WrongNumbers : public Faults,
                     public testing::WithParamInterface<Wrong> {};

/// Every result is one more than it was.
TEST_P(WrongNumbers, AreSeen) {
  EXPECT_EQ(verdict(GetParam().probe), Verdict::Holds) << answer_;
  emulator::corrupt_operation(GetParam().operation,
                              [](std::vector<std::vector<double>>& results) {
                                for (auto& result : results) {
                                  for (double& value : result) value += 1;
                                }
                              });
  EXPECT_EQ(verdict(GetParam().probe), Verdict::Contradicted) << answer_;
}

INSTANTIATE_TEST_SUITE_P(
    All, WrongNumbers,
    testing::Values(
        Wrong{"rint", "rint"}, Wrong{"tanh_extremes", "tanh"},
        Wrong{"pow_extremes", "power"}, Wrong{"exp_extremes", "sigmoid"},
        Wrong{"inner_extents", "matrixMultiplication"},
        Wrong{"row_counts", "matrixMultiplication"},
        Wrong{"column_counts", "matrixMultiplication"},
        Wrong{"changing_sizes", "matrixMultiplication"},
        Wrong{"tensor_small", "addition"},
        Wrong{"convolution", "convolution2D"},
        Wrong{"convolution_views", "convolution2D"},
        Wrong{"convolution_grouped", "convolution2DWeightsGradient"},
        Wrong{"convolution_fours", "convolution2DDataGradient"},
        Wrong{"convolution_selectors", "depthwiseConvolution3DWeightsGradient"},
        Wrong{"convolution_images", "convolution2D"},
        Wrong{"convolution_gradient_images", "convolution2DWeightsGradient"},
        Wrong{"convolution_gradient_width", "convolution2DDataGradient"},
        Wrong{"convolution_width", "convolution2D"},
        Wrong{"normalization_composed", "squareRoot"},
        Wrong{"gru_flip_no", "GRU"}, Wrong{"gru_gradients", "GRUGradients"},
        Wrong{"single_gate_gradient", "singleGateRNNGradients"},
        Wrong{"lstm_results_both", "LSTM"}, Wrong{"lstm_peephole", "LSTM"},
        Wrong{"product_of_written_reshape", "matrixMultiplication"},
        Wrong{"product_of_written_bfloat16", "matrixMultiplication"},
        Wrong{"convolution_by_written_weights", "convolution2D"},
        Wrong{"gather_from_two_columns", "gatherAlongAxis"},
        Wrong{"graph_in_heap", "square"},
        Wrong{"image_graph_inside", "square"}),
    [](const auto& info) { return std::string(info.param.probe); });

TEST_F(Faults, WeightsThatAreViewsAreMisread) {
  const emulator::Imitation imitation({.misreads_views_of_weights = true});
  EXPECT_EQ(ask(find("convolution_by_turned_weights")).answer, "wrong");
  EXPECT_EQ(ask(find("convolution_by_written_weights")).answer, "right");
}

using ProbeFaultsDeathTest = Faults;

TEST_F(ProbeFaultsDeathTest, OperandsThatAreViewsEndTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto ask_on = [](const emulator::HardwareFaults& faults,
                         const char* name) {
    const emulator::Imitation imitation(faults);
    return ask(find(name)).answer;
  };
  const emulator::HardwareFaults reshapes{.ends_at_products_of_reshapes = true};
  const emulator::HardwareFaults bfloat16{.ends_at_turned_bfloat16 = true};
  const emulator::HardwareFaults columns{.ends_at_gathers_of_columns = true};
  EXPECT_DEATH(ask_on(reshapes, "product_between_reshapes"), "pass manager");
  EXPECT_EQ(ask_on(reshapes, "product_of_written_reshape"), "right");
  EXPECT_DEATH(ask_on(bfloat16, "product_of_turned_bfloat16"), "bfloat16");
  EXPECT_EQ(ask_on(bfloat16, "product_of_written_bfloat16"), "right");
  EXPECT_DEATH(ask_on(columns, "gather_from_one_column"), "updates array");
  EXPECT_EQ(ask_on(columns, "gather_from_two_columns"), "right");
}

// The emulator is a system on which products of any rows and convolutions of
// any extent are computed at once: there they have to be right.
TEST_F(Faults, WhatIsNotTiledIsWrong) {
  const emulator::Imitation imitation(
      {.max_product_extent = 40000, .max_convolution_extent = 65537});
  for (const char* name : {"row_counts", "column_counts", "convolution_images",
                           "convolution_width"}) {
    EXPECT_EQ(verdict(name), Verdict::Contradicted) << name << ": " << answer_;
  }
  EXPECT_EQ(verdict("inner_extents"), Verdict::Holds) << answer_;
}

TEST_F(Faults, WhatIsTiledOrWrittenMayBeWrong) {
  const emulator::Imitation imitation(
      {.max_product_extent = 32766,
       .loses_broadcast_rows = true,
       .max_gradient_extent = GpuLimits{}.max_gradient_extent});
  for (const char* name : {"inner_extents", "convolution_gradient_images",
                           "convolution_gradient_width", "broadcast_rows"}) {
    EXPECT_EQ(verdict(name), Verdict::Holds) << name << ": " << answer_;
    EXPECT_NE(answer_.find("wrong"), std::string::npos) << name;
  }
}

TEST_F(Faults, SmallerThanTheLimitIsWrong) {
  const emulator::Imitation imitation(
      {.max_product_extent = 32765, .max_gradient_extent = 65534});
  for (const char* name :
       {"inner_extents", "row_counts", "column_counts",
        "convolution_gradient_images", "convolution_gradient_width"}) {
    EXPECT_EQ(verdict(name), Verdict::Contradicted) << name << ": " << answer_;
    EXPECT_TRUE(answer_.starts_with("wrong")) << answer_;
  }
}

TEST_F(Faults, BlitsLoseTheirEnds) {
  const emulator::Imitation imitation({.max_blit_bytes = 1000});
  EXPECT_EQ(verdict("copy_1_mb"), Verdict::Contradicted) << answer_;
  EXPECT_EQ(verdict("fill_1_mb"), Verdict::Contradicted) << answer_;
}

TEST(Sizes, AreRightUpToTheLimit) {
  const auto answer = [](std::int64_t most, std::int64_t last_right) {
    return by_size({8, 9, 10, 100}, most, [=](std::int64_t size) {
      return size <= last_right ? "" : "wrong";
    });
  };
  const auto holds = [](const std::string& answer, std::int64_t most) {
    return std::ranges::any_of(
        right_up_to({8, 9, 10, 100}, most),
        [&](const std::string& text) { return answer.starts_with(text); });
  };
  EXPECT_EQ(answer(9, 9), "right up to 9, wrong at 10, wrong at 100");
  EXPECT_EQ(answer(9, 7), "wrong at 8, wrong at 9, wrong at 10, wrong at 100");
  EXPECT_EQ(answer(1000, 100), "right up to 100 (the largest)");
  EXPECT_EQ(answer(50, 60),
            "right up to 50, wrong at 100");  // asked since it is the limit
  for (const std::int64_t most : {8, 9, 10, 50, 100, 1000}) {
    for (const std::int64_t last_right : {7, 8, 9, 10, 50, 60, 100}) {
      EXPECT_EQ(holds(answer(most, last_right), most),
                last_right >= std::min<std::int64_t>(most, 100))
          << most << ", " << last_right;
    }
  }
}

TEST_F(Faults, KernelsDoNotCompile) {
  emulator::fail_library();
  EXPECT_EQ(verdict("kernels_compile"), Verdict::Contradicted) << answer_;
  EXPECT_EQ(answer_.find("no: "), 0U) << answer_;
  emulator::fail_library();
  EXPECT_EQ(verdict("update_kernels_compile"), Verdict::Chance) << answer_;
  emulator::fail_library();
  EXPECT_EQ(verdict("update_adam"), Verdict::Contradicted) << answer_;
}

/// While it lives, a kernel has `change` done to its buffers at the end of one
/// of its threads.
class OtherKernel {
 public:
  using Change = std::function<void(const std::vector<void*>&)>;
  OtherKernel(std::string name, Change change)
      : name_(std::move(name)), before_(emulator::registered_kernel(name_)) {
    const emulator::ComputeKernel before = before_;
    emulator::register_kernel(
        name_, [before, change](const std::vector<void*>& buffers, unsigned i) {
          before(buffers, i);
          if (i == 0) change(buffers);
        });
  }
  ~OtherKernel() { emulator::register_kernel(name_, before_); }
  OtherKernel(const OtherKernel&) = delete;
  OtherKernel& operator=(const OtherKernel&) = delete;

 private:
  const std::string name_;
  const emulator::ComputeKernel before_;
};

TEST_F(Faults, KernelsThatComputeWrongAreSeen) {
  for (const auto& [probe, kernel] : {std::pair("update_sgd", "sgd_update"),
                                      {"update_adam", "adam_update"},
                                      {"update_rmsprop", "rmsprop_update"},
                                      {"update_sums", "accumulate_gradient"}}) {
    EXPECT_EQ(verdict(probe), Verdict::Holds) << answer_;
    EXPECT_EQ(answer_, "the same bits") << probe;
    for (const auto& [change, expected, begins] :
         {std::tuple(1e-6F, Verdict::Holds, "rounded otherwise"),
          {1e-3F, Verdict::Contradicted, "wrong: "},
          {NAN, Verdict::Contradicted, "wrong: "}}) {
      const float by = change;
      const OtherKernel other(kernel, [by](const std::vector<void*>& buffers) {
        static_cast<float*>(buffers[0])[0] += by;
      });
      EXPECT_EQ(verdict(probe), expected) << answer_;
      EXPECT_TRUE(answer_.starts_with(begins)) << answer_;
    }
  }
  const OtherKernel other("dropout_mask", [](const auto& buffers) {
    auto* mask = static_cast<std::uint8_t*>(buffers[1]);
    mask[2] = mask[2] == 0 ? 1 : 0;
  });
  EXPECT_EQ(verdict("dropout_kernel"), Verdict::Contradicted) << answer_;
}

TEST(Probes, SayWhatIsExpectedAndWhatToDo) {
  // Measured, not judged.
  const std::set<std::string> numbers = {
      "alignment",     "first_run",         "swaps",
      "first_numbers", "handler_threads",   "handlers_before_wait",
      "lstm_results",  "lstm_results_cell", "lstm_results_training",
      "half_speed",    "bfloat_speed",      "state_after_drawing"};
  for (const Probe& probe : all_probes()) {
    EXPECT_TRUE(probe.remedy.constant[0] || probe.remedy.text[0]) << probe.name;
    EXPECT_EQ(probe.expected.empty(), numbers.contains(probe.name))
        << probe.name;
  }
}

TEST(Verdicts, FollowTheWeight) {
  const Outcome other{.answer = "another"};
  const Outcome aborted{.state = Outcome::State::Aborted, .answer = "aborted"};
  Probe probe{.name = "p", .question = "?", .answer = nullptr};
  probe.expected = {"this", "that"};
  probe.weight = Weight::Reliance;
  EXPECT_EQ(verdict_of(probe, {.answer = "that one"}), Verdict::Holds);
  EXPECT_EQ(verdict_of(probe, other), Verdict::Contradicted);
  EXPECT_EQ(verdict_of(probe, aborted), Verdict::Crashed);
  probe.may_abort = true;
  EXPECT_EQ(verdict_of(probe, aborted), Verdict::Contradicted);
  probe.weight = Weight::Chance;
  EXPECT_EQ(verdict_of(probe, other), Verdict::Chance);
  probe.expected.clear();
  EXPECT_EQ(verdict_of(probe, other), Verdict::Noted);
  const Outcome skipped{.state = Outcome::State::NotAsked, .answer = "slow"};
  EXPECT_EQ(verdict_of(probe, skipped), Verdict::NotAsked);
}

TEST(Verdicts, ReportIsJsonWithTheExitCode) {
  Report report;
  report.machine.device = "a \"GPU\"";
  report.probes = {{.name = "p",
                    .question = "?",
                    .answer = nullptr,
                    .weight = Weight::Reliance,
                    .expected = {"yes"},
                    .remedy = {.constant = "kThis", .value = "false"}}};
  report.outcomes = {{.answer = "no\n\\"}};
  EXPECT_EQ(report.exit_code(), 2);
  const std::string json = report.json();
  for (const char* part :
       {"\"device\": \"a \\\"GPU\\\"\"", "\"answer\": \"no\\u000a\\\\\"",
        "\"file\": \"metal/assumptions.h\"", "\"verdict\": \"contradicted\""}) {
    EXPECT_NE(json.find(part), std::string::npos) << part << " in " << json;
  }
  EXPECT_NE(report.summary().find("kThis = false in metal/assumptions.h"),
            std::string::npos);
  report.machine.device.clear();
  EXPECT_EQ(report.exit_code(), 3);
}

}  // namespace
}  // namespace traingraph::metal::probes
