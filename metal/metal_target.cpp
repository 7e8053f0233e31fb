// SPDX-License-Identifier: MIT
#include "metal/metal_target.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "graph/op_def.h"
#include "metal/assumptions.h"
#include "metal/compile_unit.h"
#include "metal/convolution_tiles.h"
#include "metal/deferred_writes.h"
#include "metal/mpsnn/image_graph_plan.h"

namespace traingraph::metal {
namespace {

std::string reason_of(const Target& target, const GpuLimits& limits,
                      const TensorDescriptor& desc) {
  if (!target.computes_in(desc.data_type)) {
    return "MPSGraph computes in " + std::string(to_string(desc.data_type)) +
           " from macOS 14 on";
  }
  if (desc.shape.num_elements() > limits.max_elements) {
    return "MPSGraph takes tensors of at most " +
           std::to_string(limits.max_elements) + " elements, not " +
           desc.to_string();
  }
  if (desc.size_bytes() > limits.max_tensor_bytes) {
    return "MPSGraph takes tensors of at most " +
           std::to_string(limits.max_tensor_bytes) +
           " bytes on this system, not " + desc.to_string();
  }
  return {};
}

/// `image` and `weights` are NCHW and OIHW.
std::string reason_of_convolution(const GpuLimits& limits, const Shape& image,
                                  const Shape& weights,
                                  const Padding& padding) {
  const std::int64_t channels = std::max(image[1], weights[0]);
  if (channels > limits.max_convolution_channels) {
    return "convolutions of more than " +
           std::to_string(limits.max_convolution_channels) +
           " channels fail on some systems; got " + std::to_string(channels);
  }
  const std::int64_t kernel = std::max(weights[2], weights[3]);
  if (kernel > limits.max_convolution_kernel) {
    return "convolution kernels longer than " +
           std::to_string(limits.max_convolution_kernel) +
           " are wrong on some systems; got " + std::to_string(kernel);
  }
  const std::int64_t extent = std::max(image[2] + padding[0] + padding[1],
                                       image[3] + padding[2] + padding[3]);
  if (extent > limits.max_elements) {
    return "MPSGraph takes images of at most " +
           std::to_string(limits.max_elements) +
           " rows and columns, padding included, not " + std::to_string(extent);
  }
  return {};
}

/// Gradients are tiled; what the kernel sees has to fit a tile.
std::string reason_of_gradient(const GpuLimits& limits, const Shape& image,
                               const Shape& weights, const Shape& result,
                               const Convolution2dGradientAttrs& attrs) {
  for (int i = 0; i < 2; ++i) {
    const ConvolutionAxis axis{.image = image[2 + i],
                               .kernel = weights[2 + i],
                               .stride = attrs.strides[i],
                               .dilation = attrs.dilation_rates[i],
                               .before = attrs.padding[2 * i],
                               .after = attrs.padding[2 * i + 1],
                               .result = result[2 + i]};
    if (can_tile_image(axis, limits.max_gradient_extent)) continue;
    return "gradients of convolutions whose kernel reaches over " +
           std::to_string(axis.reach()) + " of " + std::to_string(axis.image) +
           " rows or columns are wrong on some systems";
  }
  return {};
}

std::string reason_of_convolution(const GpuLimits& limits,
                                  const Program& program, const Node& node) {
  const auto reason = [&](ValueId image, ValueId weights,
                          const Padding& padding) {
    return reason_of_convolution(limits, program.shape(image),
                                 program.shape(weights), padding);
  };
  const auto* attrs = std::get_if<Convolution2dGradientAttrs>(&node.attrs);
  ValueId image = node.inputs.empty() ? kNoValue : node.inputs[0];
  ValueId weights = kNoValue;
  switch (node.op->kind) {
    case OpKind::Convolution2d:
      return reason(image, node.inputs[1],
                    std::get<Convolution2dAttrs>(node.attrs).padding);
    case OpKind::Convolution2dInputGradient:
      image = node.outputs[0];
      weights = node.inputs[1];
      break;
    case OpKind::Convolution2dWeightsGradient:
      image = node.inputs[1];
      weights = node.outputs[0];
      break;
    default:
      return {};
  }
  std::string text = reason(image, weights, attrs->padding);
  if (!text.empty()) return text;
  return reason_of_gradient(limits, program.shape(image),
                            program.shape(weights),
                            program.shape(node.inputs[0]), *attrs);
}

/// The scores of all heads are one tensor inside an executable.
std::string reason_of_attention(const Target& target, const GpuLimits& limits,
                                const Program& program, const Node& node) {
  const auto* attrs = std::get_if<AttentionAttrs>(&node.attrs);
  if (!attrs) return {};
  const int query = node.op->kind == OpKind::Attention ? 0 : 1;
  const Shape& queries = program.shape(node.inputs[query]);
  const Shape& keys = program.shape(node.inputs[query + 1]);
  const Shape scores{queries[0] * attrs->head_count, queries[1], keys[1]};
  return reason_of(target, limits, {.shape = scores});
}

/// Gives storage to everything that crosses a unit's border.
class Lowering {
 public:
  Lowering(const GpuDevice& device, const GpuLimits& limits,
           const Program& program)
      : device_(device), limits_(limits), program_(program) {
    lowered_.storage_of.assign(program.values().size(), -1);
  }

  LoweredProgram run(const LowerOptions& options) {
    const std::vector<GpuUnit> units = partition(program_, options, limits_);
    const DeferredWrites deferred(program_, options, units);
    for (std::size_t i = 0; i < units.size(); ++i) {
      add(units[i], deferred.of(static_cast<int>(i)));
    }
    // The host may read an input that no unit needs.
    for (ValueId value : options.kept) storage_of(value);
    return std::move(lowered_);
  }

 private:
  void add(const GpuUnit& gpu_unit, const AreDeferred& are_deferred) {
    if (gpu_unit.engine == Engine::Host) return add_host(gpu_unit);
    Unit unit;
    unit.phase = gpu_unit.phase;
    unit.nodes = gpu_unit.nodes;
    UnitArgs args = args_of(gpu_unit, are_deferred, unit);
    for (const GpuUnit& update : gpu_unit.updates) {
      unit.nodes.insert(unit.nodes.end(), update.nodes.begin(),
                        update.nodes.end());
      args.updates.push_back(args_of(update, gpu_unit, args, unit));
    }
    unit.image_copies = num_image_copies(program_, gpu_unit);
    unit.code = compile_unit(device_, program_, gpu_unit, args);
    lowered_.units.push_back(std::move(unit));
  }

  /// Results have the bytes of the operands.
  void add_host(const GpuUnit& gpu_unit) {
    const Node& node = program_.node(gpu_unit.nodes.front());
    Unit unit;
    unit.phase = gpu_unit.phase;
    unit.nodes = gpu_unit.nodes;
    unit.is_host = true;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const StorageId storage = storage_of(node.inputs[i]);
      for (auto* list : {&unit.args, &unit.reads, &unit.writes}) {
        list->push_back(storage);
      }
      if (i < node.outputs.size()) {
        lowered_.storage_of[node.outputs[i]] = storage;
      }
    }
    lowered_.units.push_back(std::move(unit));
  }

  UnitArgs args_of(const GpuUnit& gpu_unit, const AreDeferred& are_deferred,
                   Unit& unit) {
    UnitArgs args;
    for (ValueId value : gpu_unit.feeds) {
      args.feeds.push_back(add_arg(unit, unit.reads, storage_of(value)));
    }
    for (const Mask& mask : gpu_unit.masks) {
      args.states.push_back(
          add_arg(unit, unit.reads, storage_of(mask.random_state)));
      args.masks.push_back(
          add_arg(unit, unit.scratch,
                  add_scratch(mask.desc.size_bytes(), "dropout mask")));
    }
    for (ValueId value : gpu_unit.targets) {
      args.targets.push_back(add_arg(unit, unit.writes, storage_of(value)));
    }
    for (std::size_t i = 0; i < gpu_unit.updated.size(); ++i) {
      add_updated(unit, args, gpu_unit.updated[i], are_deferred.updated[i]);
    }
    args.are_in_place_deferred = are_deferred.in_place;
    if (!gpu_unit.in_place.empty()) add_in_place(gpu_unit, unit, args);
    return args;
  }

  /// Variables are read and written; what the executable has stored before is
  /// read again, by a deferred update when the run is over.
  void add_in_place(const GpuUnit& gpu_unit, Unit& unit, UnitArgs& args) {
    std::unordered_map<StorageId, int> arg_of;
    for (std::size_t i = 0; i < unit.args.size(); ++i) {
      arg_of.emplace(unit.args[i], static_cast<int>(i));
    }
    std::unordered_set<StorageId> reads(unit.reads.begin(), unit.reads.end());
    std::unordered_set<StorageId> writes(unit.writes.begin(),
                                         unit.writes.end());
    const auto add = [&](ValueId value, bool is_mutated, bool is_deferred) {
      const StorageId id = storage_of(value);
      Storage& storage = lowered_.storages[id];
      storage.is_read_at_end |=
          is_deferred && program_.value(value).role == Role::Result;
      if (writes.contains(id)) {
        storage.is_read_back |= !is_mutated;
      } else if (reads.insert(id).second) {
        unit.reads.push_back(id);
      }
      if (is_mutated && writes.insert(id).second) unit.writes.push_back(id);
      const int next = static_cast<int>(unit.args.size());
      const auto [arg, is_new] = arg_of.emplace(id, next);
      if (is_new) unit.args.push_back(id);
      return arg->second;
    };
    for (std::size_t u = 0; u < gpu_unit.in_place.size(); ++u) {
      const InPlaceUpdate& update = gpu_unit.in_place[u];
      const Node& node = program_.node(update.node);
      const bool is_deferred = args.are_in_place_deferred[u];
      std::vector<int>& inputs = args.in_place.emplace_back();
      for (int i = 0; i < static_cast<int>(update.inputs.size()); ++i) {
        const ValueId value = update.inputs[i].value;
        inputs.push_back(
            value == kNoValue ? -1 : add(value, mutates(node, i), is_deferred));
      }
    }
  }

  /// The arguments of an update inside an image graph, which has some of its
  /// feeds already.
  UnitArgs args_of(const GpuUnit& update, const GpuUnit& outer,
                   const UnitArgs& outer_args, Unit& unit) {
    UnitArgs args;
    for (ValueId value : update.feeds) {
      int arg = find(outer.targets, outer_args.targets, value);
      if (arg < 0) arg = find(outer.feeds, outer_args.feeds, value);
      if (arg < 0) arg = find_read(unit, storage_of(value));
      if (arg < 0) arg = add_arg(unit, unit.reads, storage_of(value));
      args.feeds.push_back(arg);
    }
    for (ValueId value : update.updated) {
      add_updated(unit, args, value, /*is_deferred=*/false);
    }
    return args;
  }

  /// Returns -1 when the value is not among them.
  static int find(const std::vector<ValueId>& values,
                  const std::vector<int>& args, ValueId value) {
    const auto found = std::ranges::find(values, value);
    return found == values.end() ? -1 : args[found - values.begin()];
  }

  /// What other updates read as well: hyperparameters.
  static int find_read(const Unit& unit, StorageId storage) {
    if (std::ranges::find(unit.reads, storage) == unit.reads.end()) return -1;
    const auto arg = std::ranges::find(unit.args, storage);
    return static_cast<int>(arg - unit.args.begin());
  }

  /// `is_deferred`: the variable is written when the run is over, so that a run
  /// that fails half way has changed nothing.
  void add_updated(Unit& unit, UnitArgs& args, ValueId value,
                   bool is_deferred) {
    args.are_deferred.push_back(is_deferred);
    const int variable = add_arg(unit, unit.writes, storage_of(value));
    args.variables.push_back(variable);
    if (kFeedAndTargetMayAlias) {
      args.news.push_back(variable);
      return;
    }
    const StorageId scratch = add_scratch(program_.desc(value).size_bytes(),
                                          "new " + program_.value(value).name);
    lowered_.storages[scratch].is_read_at_end = is_deferred;
    args.news.push_back(add_arg(unit, unit.scratch, scratch));
  }

  static int add_arg(Unit& unit, std::vector<StorageId>& list,
                     StorageId storage) {
    list.push_back(storage);
    unit.args.push_back(storage);
    return static_cast<int>(unit.args.size()) - 1;
  }

  StorageId storage_of(ValueId value) {
    StorageId& storage = lowered_.storage_of[value];
    if (storage < 0) {
      storage = add_storage(program_.desc(value).size_bytes(),
                            program_.value(value).name);
      lowered_.storages.back().value = value;
    }
    return storage;
  }

  /// What one part of a unit leaves for another.
  StorageId add_scratch(std::size_t bytes, std::string name) {
    const StorageId storage = add_storage(bytes, std::move(name));
    lowered_.storages[storage].is_read_back = true;
    return storage;
  }

  StorageId add_storage(std::size_t bytes, std::string name) {
    lowered_.storages.push_back(
        {.bytes = bytes, .value = kNoValue, .name = std::move(name)});
    return static_cast<StorageId>(lowered_.storages.size()) - 1;
  }

  const GpuDevice& device_;
  const GpuLimits& limits_;
  const Program& program_;
  LoweredProgram lowered_;
};

}  // namespace

std::size_t MetalTarget::alignment_of(std::size_t bytes) const {
  return heap_alignment(device_, bytes);
}

bool MetalTarget::computes_in(DataType type) const {
  return type != DataType::BFloat16 || limits_.has_bfloat16;
}

std::string MetalTarget::reason_unsupported(const Program& program,
                                            const Node& node) const {
  for (const auto* list : {&node.inputs, &node.outputs}) {
    for (ValueId value : *list) {
      if (value == kNoValue || program.value(value).is_opaque) continue;
      std::string reason = reason_of(*this, limits_, program.desc(value));
      if (!reason.empty()) return reason;
    }
  }
  std::string reason = reason_of_convolution(limits_, program, node);
  if (!reason.empty()) return reason;
  return reason_of_attention(*this, limits_, program, node);
}

LoweredProgram MetalTarget::lower(const Program& program,
                                  const LowerOptions& options) const {
  return Lowering(device_, limits_, program).run(options);
}

}  // namespace traingraph::metal
