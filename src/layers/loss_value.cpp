// SPDX-License-Identifier: MIT
#include "layers/loss_value.h"

#include <utility>

#include "graph/op_def.h"
#include "traingraph/error.h"
#include "traingraph/losses.h"

namespace traingraph {
namespace {

/// Results have been compared with labels, and weighed, by the user's ops.
void require_one_source(const LayerBuilder& builder) {
  if (builder.num_sources() == 1) return;
  throw InvalidArgument(
      {.op = "node",
       .node = builder.name(),
       .what = "wrong number of sources",
       .expected = "1: the loss of each element or sample",
       .got = std::to_string(builder.num_sources()),
       .hint = "Ops compute it from predictions, labels and weights; each "
               "further loss is a node of its own."});
}

void require_float(const LayerBuilder& builder, ValueId losses) {
  const DataType type = builder.desc(losses).data_type;
  if (is_float(type)) return;
  throw DTypeError({.op = "node",
                    .node = builder.name(),
                    .what = "a loss is a number with a gradient",
                    .expected = names_of(kFloat),
                    .got = std::string(to_string(type)),
                    .hint = "Booleans and integers are cast by an op."});
}

}  // namespace

void add_loss_result(LayerBuilder& builder, ValueId losses,
                     ReductionType reduction, float weight) {
  if (builder.desc(losses).data_type != DataType::Float32) {
    losses =
        builder.append(OpKind::Cast, CastAttrs{DataType::Float32}, {losses});
  }
  if (reduction != ReductionType::None) {
    losses = builder.append(
        OpKind::Reduce, ReduceAttrs{.type = reduction, .axes = {}}, {losses});
    losses = builder.append(OpKind::Reshape, ShapeAttrs{{1}}, {losses});
  }
  if (weight != 1) {
    const ActivationAttrs scaled{
        .type = ActivationType::Linear, .a = weight, .b = 0};
    losses = builder.append(OpKind::Activation, scaled, {losses});
  }
  builder.add_result(losses);
}

namespace losses {

Value::Value(LossDescriptor options)
    : Loss(LossType::MeanSquaredError, options, {}, {}, "Loss") {}

void Value::lower(LayerBuilder& builder) const {
  require_one_source(builder);
  require_float(builder, builder.source(0));
  add_loss_result(builder, builder.source(0), descriptor().reduction_type,
                  descriptor().weight);
}

}  // namespace losses
}  // namespace traingraph
