// SPDX-License-Identifier: MIT
#import "metal/bound_graphs.h"

#import "metal/guard.h"
#include "traingraph/error.h"

namespace traingraph::metal {
namespace {

ObjcPtr<id<MTLBuffer>> part_at(const Location& location, std::size_t bytes) {
  return heap_of(location).part(location.offset, bytes);
}

class Binder {
 public:
  Binder(const Unit& unit, std::span<const Location> locations)
      : unit_(unit),
        code_(static_cast<const MetalUnitCode&>(*unit.code)),
        locations_(locations) {}

  /// False when there is no buffer to be had.
  bool bind(BoundGraph& graph) const {
    graph.code = &code_;
    graph.inputs = tensor_data(code_.inputs);
    graph.results = tensor_data(code_.results);
    if (!graph.inputs.get() || !graph.results.get()) return false;
    for (const auto& mask : code_.masks) {
      const std::size_t bytes = mask.params.count * sizeof(float);
      graph.masks.push_back({part_at(at(mask.state_arg), 4 * sizeof(int)),
                             part_at(at(mask.mask_arg), bytes), mask.params});
      const auto& made = graph.masks.back();
      if (!made.state.get() || !made.mask.get()) return false;
    }
    for (const auto& write : code_.write_backs) {
      graph.write_backs.push_back(
          buffer_copy({at(write.from_arg), at(write.to_arg), write.bytes}));
    }
    return true;
  }

 private:
  const Location& at(int arg) const { return locations_[unit_.args[arg]]; }

  /// Nil when there is no buffer to be had.
  ObjcPtr<NSArray<MPSGraphTensorData*>*> tensor_data(
      const std::vector<MetalUnitCode::Tensor>& tensors) const {
    const auto list =
        adopt([[NSMutableArray alloc] initWithCapacity:tensors.size()]);
    for (const auto& tensor : tensors) {
      const auto buffer = part_at(at(tensor.arg), tensor.bytes);
      if (!buffer.get()) return {};
      const auto data =
          adopt([[MPSGraphTensorData alloc] initWithMTLBuffer:buffer.get()
                                                        shape:tensor.shape.get()
                                                     dataType:tensor.type]);
      [list.get() addObject:data.get()];
    }
    return adopt<NSArray<MPSGraphTensorData*>*>([list.get() copy]);
  }

  const Unit& unit_;
  const MetalUnitCode& code_;
  std::span<const Location> locations_;
};

/// Blits work on whole words; storage has room for the last one.
std::size_t whole_words(std::size_t bytes) { return (bytes + 3) / 4 * 4; }

BoundGraph::Fill fill_of(const PoisonRange& range) {
  return {retain(heap_of(range.at).whole()), range.at.offset,
          whole_words(range.bytes)};
}

void bind_graph(const Binder& binder, BoundGraph& graph,
                const std::string& label) {
  const Binder* from = &binder;
  BoundGraph* to = &graph;
  bool is_bound = false;
  bool* result = &is_bound;
  const auto exception = run_guarded(^{
    *result = from->bind(*to);
  });
  if (exception) {
    throw DeviceError(
        ErrorInfo{.op = "execute",
                  .node = label,
                  .what = "Metal refused the memory of these layers",
                  .expected = {},
                  .got = *exception,
                  .hint = {}});
  }
  if (is_bound) return;
  throw OutOfMemoryError(
      ErrorInfo{.op = "execute",
                .node = label,
                .what = "Metal has no more buffers for these layers",
                .expected = {},
                .got = {},
                .hint = "Use a smaller batch, or free other graphs."});
}

}  // namespace

BufferCopy buffer_copy(const Copy& copy) {
  return {retain(heap_of(copy.from).whole()), retain(heap_of(copy.to).whole()),
          copy.from.offset, copy.to.offset, whole_words(copy.bytes)};
}

std::unique_ptr<BoundGraphs> bind_graphs(
    const LoweredProgram& program, std::span<const UnitId> units,
    std::span<const Location> locations,
    std::span<const std::vector<PoisonRange>> poison) {
  auto bound = std::make_unique<BoundGraphs>();
  for (UnitId id : units) {
    const Unit& unit = program.units[id];
    BoundGraph& graph = bound->graphs.emplace_back();
    bind_graph(Binder(unit, locations), graph,
               static_cast<const MetalUnitCode&>(*unit.code).label);
    if (poison.empty()) continue;
    for (const PoisonRange& range : poison[bound->graphs.size() - 1]) {
      graph.poison.push_back(fill_of(range));
    }
  }
  return bound;
}

}  // namespace traingraph::metal
