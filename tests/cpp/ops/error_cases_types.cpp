// SPDX-License-Identifier: MIT
#include "ops/error_cases.h"

namespace traingraph::testing {
std::vector<ErrorCase> type_errors() {
  using enum OpKind;
  const ErrorInput x{{2, 3}};
  return {
      {Compare, CompareAttrs{}, {x, int32({2, 3})}},
      {Compare, CompareAttrs{}, {int32({2}), int64({2})}},
      {Compare, CompareAttrs{ComparisonOperation::LogicalAND}, {x, x}},
      {Reduce, ReduceAttrs{ReductionType::Mean, {}}, {int32({2})}},
      {Reduce, ReduceAttrs{ReductionType::Sum, {}}, {boolean({2})}},
      {CumulativeSum, CumulativeSumAttrs{}, {boolean({2, 3})}},
      {Binary, ArithmeticAttrs{}, {x, int32({2, 3})}},
      {Binary, ArithmeticAttrs{}, {boolean({2}), boolean({2})}},
      {Binary,
       ArithmeticAttrs{ArithmeticOperation::Pow},
       {int32({2}), int32({2})}},
      {Select, NoAttrs{}, {boolean({2}), int32({2}), int64({2})}},
      {Scatter,
       ScatterAttrs{0, ReductionType::Sum},
       {boolean({2}), int32({2}), boolean({3})}},
      {Reduce, ReduceAttrs{ReductionType::Any, {}}, {x}},
      {Reduce, ReduceAttrs{ReductionType::Max, {}}, {boolean({2})}},
      {Concatenate, AxisAttrs{0}, {x, int32({2, 3})}},
      {Upsample, UpsampleAttrs{{4}}, {int32({2, 3, 4})}},
      {UpsampleGradient, UpsampleAttrs{{4}}, {boolean({2, 3, 4})}},
      {Gather, AxisAttrs{0}, {x, x}},
      {Gather, AxisAttrs{0}, {x, boolean({2, 3})}},
      {Embedding, EmbeddingAttrs{}, {x, x}},
      {LogicalNot, NoAttrs{}, {x}},
      {Attention,
       AttentionAttrs{},
       {{{2, 5, 4}}, {{2, 7, 4}}, {{2, 7, 6}}, {{2, 7}}}},
      {Attention,
       AttentionAttrs{},
       {{{2, 5, 4}},
        {{2, 7, 4}},
        {{2, 7, 6}},
        {.is_absent = true},
        int32({1, 5, 7})}},
      {SquaredNorm, NoAttrs{}, {int32({2})}},
  };
}

}  // namespace traingraph::testing
