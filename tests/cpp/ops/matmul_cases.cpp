// SPDX-License-Identifier: MIT
// Cases of the matrix product: every orientation, bias, scale, and the forms
// of broadcasting leading axes.
#include <algorithm>

#include "ops/cases.h"

namespace traingraph::testing {
namespace {

struct Sizes {
  Shape x_batch, y_batch;
  std::int64_t rows, inner, columns;
};

void add(OpCases& cases, const Sizes& sizes, const MatMulAttrs& attrs,
         bool has_bias) {
  Shape x = sizes.x_batch, y = sizes.y_batch;
  x.push_back(attrs.transposes_x ? sizes.inner : sizes.rows);
  x.push_back(attrs.transposes_x ? sizes.rows : sizes.inner);
  y.push_back(attrs.transposes_y ? sizes.columns : sizes.inner);
  y.push_back(attrs.transposes_y ? sizes.inner : sizes.columns);
  OpCase op_case{.op = OpKind::MatMul,
                 .attrs = attrs,
                 .inputs = {{x}, {y}},
                 .gradients = {0, 1},
                 .max_differences = sizes.inner > 50 ? 2 : 12};
  if (has_bias) {
    op_case.inputs.push_back({{sizes.columns}});
    op_case.gradients.push_back(2);
  }
  cases.push_back(op_case);
}

}  // namespace

void add_matmul_cases(OpCases& cases, Random& random) {
  const Sizes sizes[] = {{{}, {}, 3, 5, 7},
                         {{}, {}, 1, 1, 1},
                         {{}, {}, 1, 17, 1},
                         {{}, {}, 5, 1, 3},
                         {{2}, {}, 3, 4, 5},
                         {{}, {2}, 3, 4, 5},
                         {{2}, {2}, 3, 4, 5},
                         {{2, 1}, {3}, 2, 3, 4},
                         {{1}, {6}, 3, 4, 2},
                         {{2, 3}, {2, 3}, 2, 3, 4},
                         {{2, 3}, {}, 4, 5, 6},
                         {{2, 3}, {3}, 4, 5, 6},
                         {{2, 3}, {2, 1}, 1, 5, 1},
                         {{2, 1, 2}, {1, 3, 1}, 2, 3, 2},
                         // Leading axes that join the rows of one column.
                         {{3, 3}, {1}, 2, 1, 6},
                         {{1}, {3}, 1, 5, 5},
                         {{3}, {1}, 9, 1, 1}};
  for (const Sizes& s : sizes) {
    for (int bits = 0; bits < 4; ++bits) {
      const MatMulAttrs attrs{1, (bits & 1) != 0, (bits & 2) != 0};
      add(cases, s, attrs, false);
      add(cases, s, {-0.7f, attrs.transposes_x, attrs.transposes_y}, true);
    }
  }
  for (int bits = 0; bits < 4; ++bits) {
    add(cases, {{}, {}, 33, 65, 47}, {1, (bits & 1) != 0, (bits & 2) != 0},
        bits < 2);
  }
  // More multiplications than the loops for small products take.
  for (int bits = 0; bits < 4; ++bits) {
    add(cases, {{}, {}, 70, 64, 66},
        {bits == 1 ? -0.7f : 1, (bits & 1) != 0, (bits & 2) != 0}, bits < 2);
  }
  for (int i = 0; i < 32; ++i) {
    const Shape batch = random_shape(random, 1 + i % 3, 3);
    Sizes s{random_broadcastable(random, batch), batch, pick(random, 1, 9),
            pick(random, 1, 9), pick(random, 1, 9)};
    if (i % 2 == 0) std::swap(s.x_batch, s.y_batch);
    add(cases, s, {i % 3 == 0 ? 2.5f : 1, i % 4 < 2, i % 5 < 2}, i % 2 == 1);
  }
}

}  // namespace traingraph::testing
