// SPDX-License-Identifier: MIT
#include "cpu/engine/engine.h"

#include "traingraph/error.h"

namespace traingraph::cpu {

void fail_out_of_memory(const char* op, const std::string& node) {
  throw OutOfMemoryError(ErrorInfo{.op = op,
                                   .node = node,
                                   .what = "out of host memory",
                                   .hint = "Use a smaller batch."});
}

}  // namespace traingraph::cpu
