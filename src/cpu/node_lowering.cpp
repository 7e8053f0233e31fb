// SPDX-License-Identifier: MIT
// What a kernel family sees of the lowering: one node's arguments and units.
#include <algorithm>
#include <cstring>

#include "cpu/lowering_walk.h"
#include "cpu/parallel.h"
#include "cpu/primitive_threads.h"

namespace traingraph::cpu {

namespace {

void add_once(std::vector<StorageId>& list, StorageId id) {
  if (std::find(list.begin(), list.end(), id) == list.end()) list.push_back(id);
}

}  // namespace

NodeLowering::NodeLowering(Lowering& lowering, NodeId id)
    : NodeLowering(lowering, id, std::make_shared<Draft>()) {}

NodeLowering::NodeLowering(Lowering& lowering, NodeId id,
                           std::shared_ptr<Draft> draft)
    : lowering_(&lowering),
      id_(id),
      draft_(std::move(draft)),
      input_arg_(node().inputs.size(), -1),
      result_arg_(node().outputs.size(), -1) {
  draft_->unit.nodes.push_back(id);
}

const Node& NodeLowering::node() const {
  return lowering_->program().node(id_);
}

bool NodeLowering::has(int input) const {
  return input < static_cast<int>(node().inputs.size()) &&
         node().inputs[input] != kNoValue;
}

ValueId NodeLowering::input_value(int input) const {
  return lowering_->forwarded(node().inputs[input]);
}

ValueId NodeLowering::result_value(int result) const {
  return lowering_->forwarded(node().outputs[result]);
}

NodeId NodeLowering::next_fused() const {
  return lowering_->fused_with(draft_->unit.nodes.back());
}

NodeId NodeLowering::join() {
  const NodeId next = next_fused();
  lowering_->mark_fused(next);
  draft_->unit.nodes.push_back(next);
  return next;
}

std::optional<NodeLowering> NodeLowering::join_next() {
  const NodeId next = lowering_->fused_with(id_);
  if (next < 0) return {};
  lowering_->mark_fused(next);
  return NodeLowering(*lowering_, next, draft_);
}

std::optional<NodeLowering> NodeLowering::join_producer(int input) {
  const NodeId producer =
      lowering_->program().value(input_value(input)).producer;
  if (producer < 0 || !lowering_->joins_update(producer)) return {};
  return NodeLowering(*lowering_, producer, draft_);
}

bool NodeLowering::outlives_unit(int result) const {
  return lowering_->is_needed_beyond(node().outputs[result],
                                     draft_->unit.nodes);
}

const ActivationAttrs* NodeLowering::next_activation() const {
  const NodeId next = next_fused();
  if (next < 0) return nullptr;
  return std::get_if<ActivationAttrs>(&lowering_->program().node(next).attrs);
}

void NodeLowering::fuse_activation() {
  const ValueId activated = lowering_->program().node(join()).outputs[0];
  lowering_->forward(node().outputs[0], activated);
}

bool NodeLowering::has_next_cast() const {
  const NodeId next = next_fused();
  return next >= 0 && lowering_->program().node(next).op->kind == OpKind::Cast;
}

void NodeLowering::fuse_cast() {
  const ValueId cast = lowering_->program().node(join()).outputs[0];
  lowering_->forward(node().outputs[0], cast);
}

bool NodeLowering::defer_cast() {
  return lowering_->defer_cast(result_value(0), input_value(0));
}

bool NodeLowering::rounds_operands() const {
  return lowering_->rounds_operands();
}

std::optional<BiasGradient> NodeLowering::write_bias_gradient() {
  if (next_fused() < 0) return {};
  NodeId last = join();
  while (next_fused() >= 0) last = join();
  const ValueId sum = lowering_->program().node(last).outputs[0];
  return BiasGradient{write_value(sum, lowering_->plain(sum)),
                      lowering_->program().desc(sum).data_type};
}

bool NodeLowering::reads_activated(int input) const {
  return input_value(input) != node().inputs[input];
}

const TensorDescriptor& NodeLowering::input_desc(int input) const {
  return lowering_->program().desc(input_value(input));
}

const std::string& NodeLowering::input_name(int input) const {
  return lowering_->program().value(node().inputs[input]).name;
}

const TensorDescriptor& NodeLowering::result_desc(int result) const {
  return lowering_->program().desc(result_value(result));
}

bool NodeLowering::is_used(int result) const {
  return lowering_->is_used(result_value(result));
}

Layout NodeLowering::layout(int input) const {
  return lowering_->layout(input_value(input));
}

const Layout& NodeLowering::plain(const TensorDescriptor& desc) const {
  return lowering_->plain(desc);
}

int NodeLowering::read(int input) {
  return read(input, plain(input_desc(input)));
}

int NodeLowering::read(int input, const Layout& layout) {
  const StorageId storage =
      lowering_->in_layout(input_value(input), layout, id_);
  draft_->unit.args.push_back(storage);
  add_once(draft_->unit.reads, storage);
  return input_arg_[input] = static_cast<int>(draft_->unit.args.size()) - 1;
}

int NodeLowering::mutate(int input) {
  const int arg = read(input);
  add_once(draft_->unit.writes, draft_->unit.args[arg]);
  draft_->mutated.push_back(input_value(input));
  return arg;
}

int NodeLowering::write(int result) {
  return write(result, plain(result_desc(result)));
}

int NodeLowering::write(int result, const Layout& layout) {
  const ValueId value = result_value(result);
  if (result == 0) draft_->unit.layout = lowering_->layout_text(value, layout);
  return result_arg_[result] = write_value(value, layout);
}

int NodeLowering::write_value(ValueId value, const Layout& layout) {
  const StorageId storage = lowering_->add_result(value, layout, node().phase);
  draft_->unit.args.push_back(storage);
  draft_->unit.writes.push_back(storage);
  return static_cast<int>(draft_->unit.args.size()) - 1;
}

int NodeLowering::write_opaque(int result, std::size_t bytes,
                               const Layout& layout) {
  const StorageId storage =
      lowering_->add_opaque(result_value(result), bytes, layout);
  draft_->unit.args.push_back(storage);
  draft_->unit.writes.push_back(storage);
  return result_arg_[result] = static_cast<int>(draft_->unit.args.size()) - 1;
}

int NodeLowering::read_opaque(int input, OpKind maker, std::size_t bytes) {
  const StorageId storage = lowering_->opaque(input_value(input), maker, bytes);
  draft_->unit.args.push_back(storage);
  add_once(draft_->unit.reads, storage);
  return input_arg_[input] = static_cast<int>(draft_->unit.args.size()) - 1;
}

Layout NodeLowering::opaque_layout(int input) const {
  return lowering_->opaque_layout(input_value(input));
}

std::any& NodeLowering::shared_slot(std::span<const std::int64_t> key) {
  // Primitives are made for a number of threads.
  std::vector<std::int64_t> whole{static_cast<std::int64_t>(node().op->kind),
                                  PrimitiveThreads::count()};
  whole.insert(whole.end(), key.begin(), key.end());
  return lowering_->shared(std::move(whole));
}

int NodeLowering::scratch(std::size_t bytes) {
  const StorageId storage =
      lowering_->add_storage(bytes, node().name + " scratchpad");
  draft_->unit.args.push_back(storage);
  draft_->unit.scratch.push_back(storage);
  return static_cast<int>(draft_->unit.args.size()) - 1;
}

void NodeLowering::may_run_in_place(int result, int input) {
  may_overwrite(result_arg_[result], input_arg_[input]);
}

void NodeLowering::may_overwrite(int output_arg, int input_arg) {
  const StorageId output = draft_->unit.args[output_arg];
  const StorageId source = draft_->unit.args[input_arg];
  if (lowering_->is_persistent(source)) return;
  draft_->unit.in_place.push_back({output, source});
}

bool NodeLowering::share_storage(int arg, int other_arg) const {
  return draft_->unit.args[arg] == draft_->unit.args[other_arg];
}

void NodeLowering::alias(int result, int input) {
  const ValueId source = input_value(input);
  const StorageId storage =
      lowering_->in_layout(source, lowering_->plain(source), id_);
  if (!lowering_->is_mutated(storage)) {
    lowering_->add_alias(result_value(result), storage, node().phase);
    return;
  }
  // A view of a variable would change under its readers: copy.
  const int from = read(input), to = write(result);
  emit([from, to,
        bytes = static_cast<std::int64_t>(input_desc(input).size_bytes())](
           std::span<std::byte* const> args) -> BoundKernel {
    return [x = args[from], y = args[to], bytes] {
      parallel_for(
          bytes, 4 * kCheapGrain,
          [&](auto begin, auto end) {
            std::memcpy(y + begin, x + begin, end - begin);
          },
          /*multiple=*/64);
    };
  });
}

void NodeLowering::emit(KernelFactory bind) {
  auto code = std::make_unique<CpuUnitCode>();
  code->bind = std::move(bind);
  emit_code(std::move(code));
}

void NodeLowering::emit_code(std::unique_ptr<CpuUnitCode> code) {
  Unit& unit = draft_->unit;
  unit.phase = node().phase;
  if (unit.layout.empty()) unit.layout = "plain";  // as variables are
  unit.code = std::move(code);
  lowering_->add_unit(std::move(unit));
  for (ValueId value : draft_->mutated) lowering_->bump_version(value);
  *draft_ = {};
  draft_->unit.nodes = {id_};
}

}  // namespace traingraph::cpu
