// SPDX-License-Identifier: MIT
#include "lowering/fusion_query.h"

#include "lowering/lowering.h"

namespace traingraph {

NodeId FusionQuery::next() const {
  return unit_.lowering_->fused_with(unit_.draft_->unit.nodes.back());
}

NodeId FusionQuery::join() {
  const NodeId id = next();
  unit_.lowering_->mark_fused(id);
  unit_.draft_->unit.nodes.push_back(id);
  return id;
}

void FusionQuery::join_forwarding() {
  Lowering& lowering = *unit_.lowering_;
  const ValueId result = lowering.program().node(join()).outputs[0];
  lowering.forward(unit_.node().outputs[0], result);
}

const ActivationAttrs* FusionQuery::next_activation() const {
  const NodeId id = next();
  if (id < 0) return nullptr;
  return std::get_if<ActivationAttrs>(
      &unit_.lowering_->program().node(id).attrs);
}

void FusionQuery::fuse_activation() { join_forwarding(); }

bool FusionQuery::reads_activated(int input) const {
  return unit_.input_value(input) != unit_.node().inputs[input];
}

bool FusionQuery::has_next_cast() const {
  const NodeId id = next();
  return id >= 0 &&
         unit_.lowering_->program().node(id).op->kind == OpKind::Cast;
}

void FusionQuery::fuse_cast() { join_forwarding(); }

bool FusionQuery::defer_cast() {
  return unit_.lowering_->defer_cast(unit_.result_value(0),
                                     unit_.input_value(0));
}

std::optional<BiasGradient> FusionQuery::write_bias_gradient() {
  if (next() < 0) return {};
  NodeId last = join();
  while (next() >= 0) last = join();
  const Lowering& lowering = *unit_.lowering_;
  const ValueId sum = lowering.program().node(last).outputs[0];
  const TensorDescriptor& desc = lowering.program().desc(sum);
  return BiasGradient{unit_.write_value(sum, unit_.plain(desc)),
                      desc.data_type};
}

std::optional<UnitBuilder> FusionQuery::join_next() {
  const NodeId id = unit_.lowering_->fused_with(unit_.id_);
  if (id < 0) return {};
  unit_.lowering_->mark_fused(id);
  return UnitBuilder(*unit_.lowering_, id, unit_.draft_);
}

bool FusionQuery::computes_input(int input) const {
  if (!unit_.has(input)) return false;
  const Lowering& lowering = *unit_.lowering_;
  const NodeId producer =
      lowering.program().value(unit_.input_value(input)).producer;
  return producer >= 0 && lowering.computed_by(producer) == unit_.id_;
}

std::optional<UnitBuilder> FusionQuery::join_producer(int input) {
  if (!computes_input(input)) return {};
  Lowering& lowering = *unit_.lowering_;
  const ValueId value = unit_.input_value(input);
  return UnitBuilder(lowering, lowering.program().value(value).producer,
                     unit_.draft_);
}

UnitBuilder FusionQuery::made_by(int input) const {
  const Program& program = unit_.lowering_->program();
  UnitBuilder maker = unit_;
  maker.id_ = program.value(unit_.node().inputs[input]).producer;
  maker.input_arg_.assign(maker.node().inputs.size(), -1);
  maker.result_arg_.assign(maker.node().outputs.size(), -1);
  return maker;
}

bool FusionQuery::outlives_unit(int result) const {
  return unit_.lowering_->is_needed_beyond(unit_.node().outputs[result],
                                           unit_.draft_->unit.nodes);
}

}  // namespace traingraph
