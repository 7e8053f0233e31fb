// SPDX-License-Identifier: MIT
#include "cpu/ops/update_table.h"

namespace traingraph::cpu {

std::shared_ptr<Table> make_table(const EmbeddingPlan& plan,
                                  const SgdUpdateAttrs& attrs,
                                  const TableMemory& memory) {
  return make_table_with(plan, attrs, /*has_momentum=*/!memory.slots.empty(),
                         memory);
}

}  // namespace traingraph::cpu
