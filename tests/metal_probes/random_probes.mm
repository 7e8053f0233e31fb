// SPDX-License-Identifier: MIT
// The layout of MPSGraph's Philox state and how words become floats. Numbers
// are printed in full, so that machines can be compared.
#include <cstdio>

#import "tests/metal_probes/lab.h"
#include "tests/metal_probes/probe.h"

namespace traingraph::metal::probes {
namespace {

using Words = std::vector<std::int32_t>;

std::string text_of(const Words& words) {
  std::string result = "[";
  for (std::int32_t word : words) {
    if (result.size() > 1) result += ", ";
    result += std::to_string(word);
  }
  return result + ']';
}

std::string state_of_seed() {
  Lab lab;
  return text_of(lab.run_ints(
      [lab.graph() randomPhiloxStateTensorWithSeed:12345 name:@"state"]));
}

/// Distinct halves tell where each goes.
std::string state_of_parts() {
  Lab lab;
  return text_of(lab.run_ints([lab.graph()
      randomPhiloxStateTensorWithCounterLow:0x0000000200000001U
                                counterHigh:0x0000000400000003U
                                        key:0x0000000600000005U
                                       name:@"state"]));
}

struct Draw {
  Numbers values;
  Words state;
};

Draw draw(const Words& state, std::int64_t count) {
  Lab lab;
  NSArray<MPSGraphTensor*>* results =
      [lab.graph() randomUniformTensorWithShape:list({count})
                                    stateTensor:lab.int_input(state)
                                           name:@"uniform"];
  const Numbers values = lab.run([results objectAtIndex:0]);
  return {values, lab.run_ints([results objectAtIndex:1])};
}

/// Counter and key zero.
const Words kZeroState = {1, 0, 0, 0, 0, 0, 0};

std::string state_after_drawing() {
  std::string answer;
  for (std::int64_t count : {1, 4, 5, 1000}) {
    if (!answer.empty()) answer += ", ";
    answer += std::to_string(count) + " numbers " +
              text_of(draw(kZeroState, count).state);
  }
  return answer;
}

/// Philox4x32-10 of counter 0 and key 0, as its authors publish it.
constexpr std::uint32_t kKnownWords[] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c,
                                         0x9b00dbd8};

std::string floats_of_words() {
  Numbers high_bits, low_bits, all_bits, reversed;
  for (std::uint32_t word : kKnownWords) {
    high_bits.push_back(static_cast<float>(word >> 8) * 0x1p-24F);
    low_bits.push_back(static_cast<float>(word & 0xffffff) * 0x1p-24F);
    all_bits.push_back(static_cast<float>(word) * 0x1p-32F);
    reversed.insert(reversed.begin(), high_bits.back());
  }
  const Numbers measured = draw(kZeroState, 4).values;
  if (are_near(measured, high_bits, 1e-6F)) {
    return "Philox4x32-10, upper 24 bits or all";
  }
  return explain(measured, {{"Philox4x32-10, lower 24 bits", low_bits},
                            {"Philox4x32-10, backwards", reversed}});
}

std::string reproducible() {
  const Numbers first = draw(kZeroState, 1000).values;
  return first == draw(kZeroState, 1000).values ? "yes" : "no";
}

/// Numbers 4 to 7 of one draw of 8, and those of a draw from the new state.
std::string continues() {
  const Numbers all = draw(kZeroState, 8).values;
  const Words next = draw(kZeroState, 4).state;
  const Numbers second = draw(next, 4).values;
  return second == Numbers(all.begin() + 4, all.end()) ? "yes" : "no";
}

std::string first_numbers() {
  std::string answer;
  for (float value : draw(kZeroState, 4).values) {
    char buffer[32];
    std::snprintf(buffer, sizeof(buffer), "%s%a", answer.empty() ? "" : " ",
                  static_cast<double>(value));
    answer += buffer;
  }
  return answer;
}

}  // namespace

std::vector<Probe> random_probes() {
  // Random numbers are drawn by kernels of our own.
  return {
      {.name = "state_of_seed",
       .question = "Philox state of seed 12345",
       .answer = state_of_seed,
       .expected = {"[1, "}},
      {.name = "state_of_parts",
       .question = "Philox state of counter (1, 2, 3, 4) and key (5, 6)",
       .answer = state_of_parts,
       .expected = {"[1, 1, 2, 3, 4, 5, 6]"}},
      {.name = "state_after_drawing",
       .question = "Philox state after drawing",
       .answer = state_after_drawing,
       .may_abort = true},
      {.name = "floats_of_words",
       .question = "uniform numbers are",
       .answer = floats_of_words,
       .expected = {"Philox4x32-10"},
       .may_abort = true},
      {.name = "reproducible",
       .question = "equal states give equal numbers",
       .answer = reproducible,
       .expected = {"yes"},
       .may_abort = true},
      {.name = "continues",
       .question = "a new state continues the stream",
       .answer = continues,
       .expected = {"yes"},
       .may_abort = true},
      {.name = "first_numbers",
       .question = "first numbers of counter 0 and key 0",
       .answer = first_numbers,
       .may_abort = true},
  };
}

}  // namespace traingraph::metal::probes
