// SPDX-License-Identifier: MIT
#import "metal/bound_units.h"

#include <cstring>

#import "metal/blit.h"
#import "metal/guard.h"
#include "traingraph/error.h"

namespace traingraph::metal {
namespace {

/// Blits work on whole words; storage has room for the last one.
std::size_t whole_words(std::size_t bytes) { return (bytes + 3) / 4 * 4; }

template <class From, class To>
BufferCopy copy_between(const From& from, const To& to, std::size_t bytes) {
  return {retain(heap_of(from).whole()),
          retain(heap_of(to).whole()),
          from.offset,
          to.offset,
          whole_words(bytes),
          &heap_of(to)};
}

/// Returns false when there is no buffer to be had. `code` may be null.
bool bind_code(const UnitMemory& memory, const EngineCode* code,
               std::unique_ptr<BoundCode>& bound) {
  if (!code) return true;
  bound = code->bind(memory);
  return bound != nullptr;
}

bool bind(const UnitMemory& memory, BoundUnit& unit) {
  for (const auto& part : unit.code->parts) {
    unit.parts.push_back(part->bind(memory));
    if (!unit.parts.back()) return false;
  }
  for (const auto& write : unit.code->write_backs) {
    auto& list =
        write.is_deferred ? unit.deferred_write_backs : unit.write_backs;
    list.push_back(buffer_copy(memory, write));
  }
  return bind_code(memory, unit.code->in_place.get(), unit.in_place) &&
         bind_code(memory, unit.code->deferred_in_place.get(),
                   unit.deferred_in_place);
}

BoundUnit::Fill fill_of(const PoisonRange& range) {
  return {retain(heap_of(range.at).whole()), range.at.offset,
          whole_words(range.bytes)};
}

void bind_or_throw(const UnitMemory& memory, BoundUnit& unit) {
  const UnitMemory* from = &memory;
  BoundUnit* to = &unit;
  bool is_bound = false;
  bool* result = &is_bound;
  const auto exception = run_guarded(^{
    *result = bind(*from, *to);
  });
  const std::string& label = unit.code->label;
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

void encode_copy(id<MTLBlitCommandEncoder> blit, const GpuLimits& limits,
                 const BufferCopy& copy) {
  copy.written->note_write(copy.to_offset, copy.bytes);
  blit_copy(blit, limits, {copy.from.get(), copy.from_offset},
            {copy.to.get(), copy.to_offset}, copy.bytes);
}

void copy_by_host(const BufferCopy& copy) {
  copy.written->note_write(copy.to_offset, copy.bytes);
  std::memcpy(
      static_cast<std::byte*>([copy.to.get() contents]) + copy.to_offset,
      static_cast<const std::byte*>([copy.from.get() contents]) +
          copy.from_offset,
      copy.bytes);
}

BufferCopy buffer_copy(const UnitMemory& memory,
                       const MetalUnitCode::WriteBack& write) {
  return copy_between(memory.at(write.from_arg), memory.at(write.to_arg),
                      write.bytes);
}

BufferCopy buffer_copy(const Upload& copy) {
  return copy_between(copy.from, copy.to, copy.bytes);
}

BufferCopy buffer_copy(const Copy& copy) {
  return copy_between(copy.from, copy.to, copy.bytes);
}

BufferCopy buffer_copy(const Download& copy) {
  return copy_between(copy.from, copy.to, copy.bytes);
}

void encode_supplies(MPSCommandBuffer* buffer, const GpuLimits& limits,
                     const Submission& submission) {
  encode_copies(buffer, limits, submission.uploads);
  encode_copies(buffer, limits, submission.copies);
}

std::unique_ptr<MetalUnits> bind_units(
    const LoweredProgram& program, std::span<const UnitId> units,
    std::span<const Location> locations,
    std::span<const std::vector<PoisonRange>> poison,
    std::span<const Mark> marks) {
  auto bound = std::make_unique<MetalUnits>(units.size(), marks);
  for (UnitId id : units) {
    const Unit& unit = program.units[id];
    BoundUnit& to = bound->units.emplace_back();
    to.code = static_cast<const MetalUnitCode*>(unit.code.get());
    bind_or_throw(UnitMemory(unit, locations), to);
    if (poison.empty()) continue;
    for (const PoisonRange& range : poison[bound->units.size() - 1]) {
      to.poison.push_back(fill_of(range));
    }
  }
  return bound;
}

}  // namespace traingraph::metal
