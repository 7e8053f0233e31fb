// SPDX-License-Identifier: MIT
#include "cpu/ops/update_table.h"

namespace traingraph::cpu {

std::shared_ptr<Table> make_table(const EmbeddingPlan& plan,
                                  const AdamUpdateAttrs& attrs,
                                  const TableMemory& memory) {
  return make_table_with(plan, attrs, /*has_momentum=*/true, memory);
}

}  // namespace traingraph::cpu
