// SPDX-License-Identifier: MIT
// Cases of sums along an axis.
#include "ops/cases.h"

namespace traingraph::testing {

void add_cumulative_sum_cases(OpCases& cases, Random&) {
  for (bool is_exclusive : {false, true}) {
    for (bool reverse : {false, true}) {
      for (const Shape& shape :
           {Shape{1}, Shape{7}, Shape{3, 5}, Shape{2, 1, 3}, Shape{2, 9, 70},
            Shape{2, 700}}) {
        for (int axis = 0; axis < shape.rank(); ++axis) {
          const CumulativeSumAttrs attrs{axis, is_exclusive, reverse};
          cases.push_back({.op = OpKind::CumulativeSum,
                           .attrs = attrs,
                           .inputs = {{shape}},
                           .gradients = {0},
                           .max_differences = 12});
          for (DataType type : {DataType::Int32, DataType::Int64}) {
            cases.push_back({.op = OpKind::CumulativeSum,
                             .attrs = attrs,
                             .inputs = {{shape, integers(-9, 9), type}},
                             .tolerance = 0});
          }
        }
      }
    }
  }
}

}  // namespace traingraph::testing
