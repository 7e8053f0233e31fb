// SPDX-License-Identifier: MIT
#include "lowering/lowering.h"

#include <algorithm>
#include <numeric>

#include "compiler/joined_gradients.h"
#include "lowering/layout_text.h"
#include "lowering/policy.h"
#include "lowering/unit_builder.h"
#include "ops/cost.h"

namespace traingraph {

namespace {

bool has_sizes_of(const Layout& layout, const Layout& other) {
  return layout.sizes() == other.sizes();
}

/// Of the transpose that takes back one by `axes`.
Shape inverse_axes(const Shape& axes) {
  Shape inverse = axes;
  for (int i = 0; i < axes.rank(); ++i) {
    inverse[static_cast<int>(axes[i])] = i;
  }
  return inverse;
}

/// Row-major data of `layout`'s logical shape.
Layout plain_like(const Layout& layout, DataType type) {
  Layout::Sizes strides(layout.sizes().size(), 1);
  for (std::size_t i = strides.size() - 1; i > 0; --i) {
    strides[i - 1] = strides[i] * layout.sizes()[i];
  }
  return Layout::strided(layout.sizes(), std::move(strides), type);
}

}  // namespace

Lowering::Lowering(const Program& program, const LowerOptions& options,
                   const Target& target, const LoweringPolicy& policy)
    : program_(program),
      target_(target),
      policy_(policy),
      rounds_operands_(options.rounds_operands && policy.gains_by_rounding()),
      batch_extents_(options.batch_extents) {
  const std::size_t n = program.values().size();
  states_.assign(n, {});  // an empty layout, too, is one allocation
  lowered_.storage_of.assign(n, -1);
  is_used_.assign(n, false);
  is_kept_.assign(n, false);
  is_mutated_.assign(n, false);
  for (const Node& node : program.nodes()) {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId input = node.inputs[i];
      if (input == kNoValue) continue;
      is_used_[input] = true;
      if (mutates(node, static_cast<int>(i))) is_mutated_[input] = true;
    }
  }
  for (ValueId value : options.kept) is_kept_[value] = is_used_[value] = true;
  is_fused_.assign(program.nodes().size(), false);
  readers_ = find_readers(program);
  FusionSearch search(program, readers_, is_kept_, options.separates_updates);
  fusions_ = options.fuses ? policy.find_fusions(std::move(search))
                           : std::move(search).take();
  if (options.fuses) {
    for (const NodeId gradient :
         find_joined_gradients(program, options.kept, options.joins_phases)) {
      if (!policy.joins_gradient(program.node(gradient))) continue;
      const ValueId result = program.node(gradient).outputs[0];
      fusions_.reader[gradient] = readers_[result].front();
    }
  }
  forwarded_.resize(n);
  std::iota(forwarded_.begin(), forwarded_.end(), 0);
  for (ValueId id = 0; id < static_cast<ValueId>(n); ++id) {
    if (program.value(id).role == Role::Result) continue;
    add_result(id, plain(id), Phase::Forward);
  }
}

LoweredProgram Lowering::run() {
  for (NodeId id = 0; id < static_cast<NodeId>(program_.nodes().size()); ++id) {
    const Node& node = program_.node(id);
    if (node.op->is_host) {
      lower_host(id);
      continue;
    }
    const std::string reason = target_.reason_unsupported(program_, node);
    if (!reason.empty()) {
      throw UnsupportedError(
          ErrorInfo{.op = node.op->name, .node = node.name, .what = reason});
    }
    policy_.make_code(node, estimate_cost(program_, node), [&] {
      if (!is_fused_[id] && computed_by(id) < 0) lower(id);
      for (ValueId output : node.outputs) {
        if (is_kept_[output] && !program_.value(output).is_opaque) {
          in_layout(output, plain(output), id);
        }
      }
    });
  }
  return std::move(lowered_);
}

/// Results have the bytes of the operands.
void Lowering::lower_host(NodeId id) {
  const Node& node = program_.node(id);
  Unit unit;
  unit.phase = node.phase;
  unit.nodes = {id};
  unit.is_host = true;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueId value = forwarded(node.inputs[i]);
    const StorageId storage = in_layout(value, plain(value), id);
    for (auto* list : {&unit.args, &unit.reads, &unit.writes}) {
      list->push_back(storage);
    }
    if (mutates(node, static_cast<int>(i))) bump_version(value);
    if (i < node.outputs.size()) {
      add_alias(node.outputs[i], storage, node.phase);
    }
  }
  add_unit(std::move(unit));
}

void Lowering::lower(NodeId id) {
  UnitBuilder unit(*this, id);
  policy_.lower(program_.node(fusions_.leader[id]).op->kind, unit);
}

bool Lowering::is_needed_beyond(ValueId value,
                                std::span<const NodeId> nodes) const {
  return is_kept_[value] ||
         std::ranges::any_of(readers_[value], [&](NodeId reader) {
           return std::ranges::find(nodes, reader) == nodes.end();
         });
}

std::string Lowering::layout_text(ValueId value, const Layout& layout) const {
  const NodeId producer = program_.value(value).producer;
  const bool is_weights = producer < 0
                              ? program_.value(value).role == Role::Variable
                              : program_.node(producer).op->kind ==
                                    OpKind::Convolution2dWeightsGradient;
  return traingraph::layout_text(layout, is_weights);
}

Layout Lowering::layout(ValueId value) {
  if (const ValueId viewed = states_[value].view_of; viewed != kNoValue) {
    const Layout seen = seen_as_view(value, layout(viewed));
    return seen.empty() ? plain(value) : seen;
  }
  const Layout& produced = states_[value].produced;
  return has_sizes_of(produced, plain(value)) ? produced : plain(value);
}

Layout Lowering::seen_as_view(ValueId value, const Layout& of_viewed) const {
  const TensorDescriptor& desc = program_.desc(value);
  const Shape& axes = states_[value].view_axes;
  if (axes.empty()) return reshaped(of_viewed, desc);
  const Layout seen = transposed(of_viewed, axes);
  // Kernels know the layouts that convolutions choose, and plain ones.
  return seen.empty() ? seen : layout_like(seen, desc);
}

Layout Lowering::seen_as_viewed(ValueId value, const Layout& of_view) const {
  const State& state = states_[value];
  if (state.view_axes.empty()) {
    return reshaped(of_view, program_.desc(state.view_of));
  }
  return transposed(of_view, inverse_axes(state.view_axes));
}

bool Lowering::is_current(ValueId value, const Copy& copy) const {
  // Plain storage of a variable is the variable itself.
  return copy.version == states_[value].version ||
         copy.storage == lowered_.storage_of[value];
}

const Lowering::Copy* Lowering::find(ValueId value, const Layout& layout,
                                     Phase phase) const {
  for (const Copy& copy : states_[value].copies) {
    if (!is_current(value, copy) || copy.phase > phase) continue;
    if (same_layout(copy.layout, layout)) return &copy;
    if (is_plain(copy.layout) && is_plain(layout)) return &copy;
  }
  return nullptr;
}

StorageId Lowering::in_layout(ValueId value, const Layout& layout,
                              NodeId user) {
  const Phase phase = program_.node(user).phase;
  if (const Copy* copy = find(value, layout, phase)) return copy->storage;
  const StorageId viewed = in_layout_of_viewed(value, layout, user);
  if (viewed >= 0) return viewed;
  const State& state = states_[value];
  const bool has_source =
      state.cast_from != kNoValue || state.view_of != kNoValue;
  if (state.copies.empty() && !has_source) {
    throw InternalError(ErrorInfo{.op = program_.node(user).op->name,
                                  .node = program_.node(user).name,
                                  .what = "input was not lowered",
                                  .got = program_.value(value).name});
  }
  const Copy from = source_of(value, layout, user);
  const Copy to = add_copy(value, layout, phase);
  reorder(value, from, to, user);
  return to.storage;
}

StorageId Lowering::in_layout_of_viewed(ValueId value, const Layout& layout,
                                        NodeId user) {
  const ValueId viewed = states_[value].view_of;
  if (viewed == kNoValue) return -1;
  const Layout seen = seen_as_viewed(value, layout);
  if (seen.empty()) return -1;
  const StorageId storage = in_layout(viewed, seen, user);
  if (is_plain(layout)) lowered_.storage_of[value] = storage;
  return storage;
}

Lowering::Copy Lowering::source_of(ValueId value, const Layout& layout,
                                   NodeId user) {
  if (states_[value].view_of != kNoValue) {
    const Phase phase = program_.node(user).phase;
    const bool is_transposed = !states_[value].view_axes.empty();
    const Layout current = is_transposed && has_sizes_of(plain(value), layout)
                               ? this->layout(value)
                               : plain(value);
    return {current, in_layout(value, current, user), 0, phase};
  }
  const ValueId source = states_[value].cast_from;
  if (source != kNoValue) return states_[source].copies.front();
  // Layouts of different axes (grouped weights) meet in plain layout only.
  const Copy& first = states_[value].copies.front();
  if (is_plain(layout) || has_sizes_of(first.layout, layout)) return first;
  in_layout(value, plain(value), user);
  return *find(value, plain(value), program_.node(user).phase);
}

bool Lowering::defer_cast(ValueId value, ValueId source) {
  const auto changes = [&](NodeId id) {
    const Node& node = program_.node(id);
    if (node.phase == Phase::Update) return false;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const bool is_it = node.inputs[i] == source;
      if (is_it && mutates(node, static_cast<int>(i))) return true;
    }
    return false;
  };
  const auto is_late = [&](NodeId id) {
    return program_.node(id).phase == Phase::Update;
  };
  // Variables and inputs are in memory anyway, in plain layout.
  if (program_.value(source).role == Role::Result || is_kept_[value] ||
      std::ranges::any_of(readers_[source], changes) ||
      std::ranges::any_of(readers_[value], is_late)) {
    return false;
  }
  states_[value].cast_from = source;
  return true;
}

const Lowering::Copy& Lowering::add_copy(ValueId value, const Layout& layout,
                                         Phase phase) {
  const StorageId storage =
      add_storage(layout.bytes(), program_.value(value).name);
  if (is_plain(layout) && lowered_.storage_of[value] < 0) {
    lowered_.storages[storage].value = value;
    lowered_.storage_of[value] = storage;
  }
  State& state = states_[value];
  state.copies.push_back({layout, storage, state.version, phase});
  return state.copies.back();
}

void Lowering::reorder(ValueId value, const Copy& from, const Copy& to,
                       NodeId user) {
  const Layout source = is_plain(from.layout)
                            ? plain_like(to.layout, from.layout.data_type())
                            : from.layout;
  const Layout target = is_plain(to.layout)
                            ? plain_like(source, to.layout.data_type())
                            : to.layout;
  CopyCode copy;
  const NodeCost cost{.bytes = 2.0 * static_cast<double>(target.bytes())};
  policy_.make_code(program_.node(user), cost,
                    [&] { copy = policy_.copy(source, target); });
  Unit unit;
  unit.phase = program_.node(user).phase;
  unit.nodes = {user};
  unit.args = {from.storage, to.storage};
  unit.reads = {from.storage};
  unit.writes = {to.storage};
  unit.is_reorder = true;
  unit.layout = layout_text(value, target);
  if (copy.scratch_bytes > 0) {
    unit.scratch = {add_storage(copy.scratch_bytes, "reorder scratchpad")};
    unit.args.push_back(unit.scratch[0]);
  }
  unit.code = std::move(copy.code);
  add_unit(std::move(unit));
}

StorageId Lowering::add_result(ValueId value, const Layout& layout,
                               Phase phase) {
  states_[value].produced = layout;
  return add_copy(value, layout, phase).storage;
}

StorageId Lowering::add_opaque(ValueId value, std::size_t bytes,
                               const Layout& layout) {
  const StorageId storage = add_storage(bytes, program_.value(value).name);
  State& state = states_[value];
  state.produced = layout;
  state.copies.push_back({layout, storage, 0, Phase::Forward});
  return storage;
}

StorageId Lowering::opaque(ValueId value, OpKind maker,
                           std::size_t bytes) const {
  const Value& read = program_.value(value);
  const auto& copies = states_[value].copies;
  const bool is_state = read.is_opaque && !copies.empty() &&
                        program_.node(read.producer).op->kind == maker;
  if (is_state && lowered_.storages[copies.front().storage].bytes == bytes) {
    return copies.front().storage;
  }
  throw InternalError(
      ErrorInfo{.op = op_def(maker).name,
                .node = read.name,
                .what = "the state is not what its reader expects",
                .expected = std::to_string(bytes) + " bytes"});
}

StorageId Lowering::add_storage(std::size_t bytes, std::string name) {
  lowered_.storages.push_back({.bytes = bytes, .name = std::move(name)});
  return static_cast<StorageId>(lowered_.storages.size()) - 1;
}

void Lowering::add_alias(ValueId value, StorageId storage, Phase phase) {
  State& state = states_[value];
  state.produced = plain(value);
  state.copies.push_back({state.produced, storage, 0, phase});
  lowered_.storage_of[value] = storage;
}

bool Lowering::add_view(ValueId value, ValueId source, const Shape& axes) {
  const auto changes = [&](const Copy& copy) {
    return is_mutated(copy.storage);
  };
  const auto is_late = [&](NodeId id) {
    return program_.node(id).phase == Phase::Update;
  };
  if (is_mutated_[value] || is_mutated_[source] ||
      std::ranges::any_of(states_[source].copies, changes) ||
      std::ranges::any_of(readers_[value], is_late)) {
    return false;
  }
  states_[value].view_of = source;
  states_[value].view_axes = axes;
  return true;
}

bool Lowering::is_persistent(StorageId storage) const {
  const ValueId value = lowered_.storages[storage].value;
  return value != kNoValue && program_.value(value).role != Role::Result;
}

bool Lowering::is_mutated(StorageId storage) const {
  const ValueId value = lowered_.storages[storage].value;
  return value != kNoValue && is_mutated_[value];
}

LoweredProgram lower_program(const Program& program,
                             const LowerOptions& options, const Target& target,
                             const LoweringPolicy& policy) {
  return Lowering(program, options, target, policy).run();
}

}  // namespace traingraph
