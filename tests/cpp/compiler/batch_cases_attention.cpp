// SPDX-License-Identifier: MIT
#include "compiler/batch_cases.h"

namespace traingraph::testing {
namespace {

constexpr AttentionAttrs kTwoHeads{.head_count = 2};

/// Queries, keys and values of `n` samples.
std::vector<ValueId> sources(Case& c) {
  return {c.in({c.n, 5, 4}), c.in({c.n, 7, 4}), c.in({c.n, 7, 6})};
}

void attend(Case& c, ValueId key_mask, ValueId attention_mask) {
  std::vector<ValueId> inputs = sources(c);
  inputs.push_back(key_mask);
  inputs.push_back(attention_mask);
  c.add(OpKind::Attention, kTwoHeads, inputs);
}

}  // namespace

std::vector<Row> attention_rows() {
  using enum OpKind;
  return {
      {"attention", [](Case& c) { c.add(Attention, kTwoHeads, sources(c)); },
       on(0)},
      {"attention_masked",
       [](Case& c) {
         attend(c, c.flags({c.n, 7}), c.fixed({1, 5, 7}, DataType::Boolean));
       },
       on(0)},
      {"attention_masked_by_head",
       [](Case& c) { attend(c, kNoValue, c.in({2 * c.n, 5, 7})); }, on(0)},
      {"attention_of_fixed_sources",
       [](Case& c) {
         c.add(Attention, kTwoHeads,
               {c.fixed({3, 5, 4}), c.fixed({3, 7, 4}), c.fixed({3, 7, 6})});
       },
       kNone},
      refuses(
          "attention_with_fixed_masks",
          [](Case& c) { attend(c, kNoValue, c.fixed({2 * c.n, 5, 7})); },
          "does not vary with the batch as the queries do"),
      refuses(
          "attention_over_samples",
          [](Case& c) {
            c.add(
                Attention, kTwoHeads,
                {c.in({3, c.n, 4}, 1), c.fixed({3, 7, 4}), c.fixed({3, 7, 6})});
          },
          "has no samples on axis 1"),
      refuses(
          "attention_to_fixed_keys",
          [](Case& c) {
            c.add(Attention, kTwoHeads,
                  {c.in({c.n, 5, 4}), c.fixed({c.n, 7, 4}),
                   c.fixed({c.n, 7, 6})});
          },
          "does not vary with the batch"),
      {"attention_gradient",
       [](Case& c) {
         c.add(AttentionGradient, kTwoHeads,
               {c.in({c.n, 5, 6}), c.in({c.n, 5, 4}), c.in({c.n, 7, 4}),
                c.in({c.n, 7, 6}), c.in({c.n, 5, 6}), c.in({c.n, 2, 5})});
       },
       on(0)},
  };
}

}  // namespace traingraph::testing
