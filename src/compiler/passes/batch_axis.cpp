// SPDX-License-Identifier: MIT
#include "compiler/passes/batch_axis.h"

#include <string>
#include <utility>

#include "graph/batch_context.h"
#include "graph/op_def.h"
#include "graph/verify.h"

namespace traingraph {
namespace {

void derive_input(Value& value, std::int64_t batch) {
  BatchAxis& axis = value.batch;
  const std::int64_t size = value.desc.shape[axis.axis];
  if (size % batch != 0) {
    throw UnsupportedError(ErrorInfo{
        .node = value.name,
        .what = "cannot run with another batch size: a size on the batch axis "
                "is no multiple of the smallest one that is declared",
        .expected = "a multiple of " + std::to_string(batch) + " on axis " +
                    std::to_string(axis.axis),
        .got = value.desc.shape.to_string(),
        .hint = "Give tensors that do not vary with the batch batch_axis "
                "None."});
  }
  axis.factor = size / batch;
  axis.step = axis.factor == 1 ? 1 : 0;  // the order is the caller's
}

[[noreturn]] void refuse_size(const Error& error, const BatchChange& change) {
  throw UnsupportedError(
      ErrorInfo{.op = error.op(),
                .node = error.node(),
                .what = "cannot run with another batch size",
                .expected = "batch size " + std::to_string(change.from),
                .got = std::to_string(change.to) + " (" + error.what() + ")",
                .hint = "Pass batch_size=0."});
}

}  // namespace

std::optional<ErrorInfo> derive_batch_axes(Program& program,
                                           std::int64_t batch) {
  try {
    for (ValueId v = 0; v < static_cast<ValueId>(program.values().size());
         ++v) {
      Value& value = program.value(v);
      if (value.producer < 0 && value.batch) derive_input(value, batch);
    }
    for (const Node& node : program.nodes()) {
      for (ValueId result : node.outputs) program.value(result).batch = {};
      BatchContext context(program, node, batch);
      node.op->batch_rule(context);
    }
  } catch (const UnsupportedError& error) {
    return error.info();
  }
  return std::nullopt;
}

void resize_batch(Program& program, const BatchChange& change) {
  auto obstacle = derive_batch_axes(program, change.from);
  if (obstacle) throw UnsupportedError(std::move(*obstacle));
  for (ValueId v = 0; v < static_cast<ValueId>(program.values().size()); ++v) {
    Value& value = program.value(v);
    if (!value.batch) continue;
    std::int64_t& size = value.desc.shape[value.batch.axis];
    size = change(size);
  }
  for (NodeId id = 0; id < static_cast<NodeId>(program.nodes().size()); ++id) {
    Node& node = program.node(id);
    if (!node.op->resize || node.outputs.empty()) continue;
    const BatchAxis& axis = program.value(node.outputs[0]).batch;
    if (axis) node.op->resize(node.attrs, axis.axis, change);
  }
  try {
    verify(program);
  } catch (const InternalError&) {
    throw;
  } catch (const Error& error) {
    refuse_size(error, change);
  }
}

}  // namespace traingraph
