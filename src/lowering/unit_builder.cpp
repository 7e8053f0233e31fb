// SPDX-License-Identifier: MIT
// What a kernel family sees of the lowering: one node's arguments and units.
#include "lowering/unit_builder.h"

#include <algorithm>

#include "lowering/fusion_query.h"
#include "lowering/lowering.h"
#include "lowering/policy.h"

namespace traingraph {

namespace {

void add_once(std::vector<StorageId>& list, StorageId id) {
  if (std::find(list.begin(), list.end(), id) == list.end()) list.push_back(id);
}

}  // namespace

UnitBuilder::UnitBuilder(Lowering& lowering, NodeId id)
    : UnitBuilder(lowering, id, std::make_shared<Draft>()) {}

UnitBuilder::UnitBuilder(Lowering& lowering, NodeId id,
                         std::shared_ptr<Draft> draft)
    : lowering_(&lowering),
      id_(id),
      draft_(std::move(draft)),
      input_arg_(node().inputs.size(), -1),
      result_arg_(node().outputs.size(), -1) {
  draft_->unit.nodes.push_back(id);
}

const Node& UnitBuilder::node() const { return lowering_->program().node(id_); }

bool UnitBuilder::has(int input) const {
  return input < static_cast<int>(node().inputs.size()) &&
         node().inputs[input] != kNoValue;
}

ValueId UnitBuilder::input_value(int input) const {
  return lowering_->forwarded(node().inputs[input]);
}

ValueId UnitBuilder::result_value(int result) const {
  return lowering_->forwarded(node().outputs[result]);
}

bool UnitBuilder::rounds_operands() const {
  return lowering_->rounds_operands();
}

FusionQuery UnitBuilder::fusion() { return FusionQuery(*this); }

const TensorDescriptor& UnitBuilder::input_desc(int input) const {
  return lowering_->program().desc(input_value(input));
}

const std::string& UnitBuilder::input_name(int input) const {
  return lowering_->program().value(node().inputs[input]).name;
}

const TensorDescriptor& UnitBuilder::result_desc(int result) const {
  return lowering_->program().desc(result_value(result));
}

bool UnitBuilder::input_follows_batch(int input, int axis) const {
  return lowering_->follows_batch(input_value(input), axis);
}

bool UnitBuilder::result_follows_batch(int result, int axis) const {
  return lowering_->follows_batch(result_value(result), axis);
}

bool UnitBuilder::is_used(int result) const {
  return lowering_->is_used(result_value(result));
}

Layout UnitBuilder::layout(int input) const {
  return lowering_->layout(input_value(input));
}

const Layout& UnitBuilder::plain(const TensorDescriptor& desc) const {
  return lowering_->plain(desc);
}

int UnitBuilder::add_read(StorageId storage) {
  draft_->unit.args.push_back(storage);
  add_once(draft_->unit.reads, storage);
  return static_cast<int>(draft_->unit.args.size()) - 1;
}

int UnitBuilder::add_write(StorageId storage) {
  draft_->unit.args.push_back(storage);
  draft_->unit.writes.push_back(storage);
  return static_cast<int>(draft_->unit.args.size()) - 1;
}

int UnitBuilder::read(int input) {
  return read(input, plain(input_desc(input)));
}

int UnitBuilder::read(int input, const Layout& layout) {
  // Reorders are of the unit's phase, whichever of its nodes reads.
  const NodeId user = draft_->unit.nodes.front();
  return input_arg_[input] =
             add_read(lowering_->in_layout(input_value(input), layout, user));
}

int UnitBuilder::mutate(int input) {
  const int arg = read(input);
  add_once(draft_->unit.writes, draft_->unit.args[arg]);
  draft_->mutated.push_back(input_value(input));
  return arg;
}

int UnitBuilder::write(int result) {
  return write(result, plain(result_desc(result)));
}

int UnitBuilder::write(int result, const Layout& layout) {
  const ValueId value = result_value(result);
  if (result == 0) draft_->unit.layout = lowering_->layout_text(value, layout);
  return result_arg_[result] = write_value(value, layout);
}

int UnitBuilder::write_value(ValueId value, const Layout& layout) {
  return add_write(lowering_->add_result(value, layout, node().phase));
}

int UnitBuilder::write_opaque(int result, std::size_t bytes,
                              const Layout& layout) {
  return result_arg_[result] = add_write(
             lowering_->add_opaque(result_value(result), bytes, layout));
}

int UnitBuilder::read_opaque(int input, OpKind maker, std::size_t bytes) {
  return input_arg_[input] =
             add_read(lowering_->opaque(input_value(input), maker, bytes));
}

Layout UnitBuilder::opaque_layout(int input) const {
  return lowering_->opaque_layout(input_value(input));
}

std::any& UnitBuilder::shared_slot(std::span<const std::int64_t> key) {
  std::vector<std::int64_t> whole{static_cast<std::int64_t>(node().op->kind),
                                  lowering_->policy().code_variant()};
  whole.insert(whole.end(), key.begin(), key.end());
  return lowering_->shared(std::move(whole));
}

int UnitBuilder::scratch(std::size_t bytes) {
  const StorageId storage =
      lowering_->add_storage(bytes, node().name + " scratchpad");
  draft_->unit.args.push_back(storage);
  draft_->unit.scratch.push_back(storage);
  return static_cast<int>(draft_->unit.args.size()) - 1;
}

void UnitBuilder::may_run_in_place(int result, int input) {
  may_overwrite(result_arg_[result], input_arg_[input]);
}

void UnitBuilder::may_overwrite(int output_arg, int input_arg) {
  const StorageId output = draft_->unit.args[output_arg];
  const StorageId source = draft_->unit.args[input_arg];
  if (lowering_->is_persistent(source)) return;
  draft_->unit.in_place.push_back({output, source});
}

bool UnitBuilder::share_storage(int arg, int other_arg) const {
  return draft_->unit.args[arg] == draft_->unit.args[other_arg];
}

bool UnitBuilder::alias_transposed(int result, int input, const Shape& axes) {
  return lowering_->add_view(result_value(result), input_value(input), axes);
}

void UnitBuilder::alias(int result, int input) {
  const ValueId source = input_value(input);
  if (lowering_->add_view(result_value(result), source)) return;
  const StorageId storage =
      lowering_->in_layout(source, lowering_->plain(source), id_);
  if (!lowering_->is_mutated(storage)) {
    lowering_->add_alias(result_value(result), storage, node().phase);
    return;
  }
  // A view of a variable would change under its readers: copy.
  read(input);
  write(result);
  emit(lowering_->policy().copy_bytes(
      static_cast<std::int64_t>(input_desc(input).size_bytes())));
}

void UnitBuilder::emit(std::unique_ptr<UnitCode> code) {
  Unit& unit = draft_->unit;
  unit.phase = node().phase;
  if (unit.layout.empty()) unit.layout = "plain";  // as variables are
  unit.code = std::move(code);
  lowering_->add_unit(std::move(unit));
  for (ValueId value : draft_->mutated) lowering_->bump_version(value);
  *draft_ = {};
  draft_->unit.nodes = {id_};
}

}  // namespace traingraph
