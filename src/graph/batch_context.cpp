// SPDX-License-Identifier: MIT
#include "graph/batch_context.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "graph/op_def.h"
#include "traingraph/error.h"

namespace traingraph {

std::string BatchContext::describe(int input) const {
  return "input \"" + std::string(input_def(*node_.op, input).name) + "\" " +
         shape(input).to_string();
}

const Node* BatchContext::sole_producer(int input) const {
  const ValueId id = node_.inputs[input];
  std::ptrdiff_t num_readers = 0;
  for (const Node& node : program_.nodes()) {
    num_readers += std::ranges::count(node.inputs, id);
  }
  const NodeId producer = program_.value(id).producer;
  return producer < 0 || num_readers != 1 ? nullptr : &program_.node(producer);
}

void BatchContext::refuse(const std::string& reason, std::string hint) const {
  throw UnsupportedError(
      ErrorInfo{.op = node_.op->name,
                .node = node_.name,
                .what = "cannot run with another batch size: " + reason,
                .expected = "batch size " + std::to_string(batch_),
                .got = {},
                .hint = hint.empty() ? "Pass batch_size=0." : std::move(hint)});
}

}  // namespace traingraph
