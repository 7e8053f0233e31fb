// SPDX-License-Identifier: MIT
#include "support/run_program.h"

#include <algorithm>

#include "cpu/cpu_target.h"
#include "graph/tensor_state.h"
#include "traingraph/error.h"

namespace traingraph::testing {
namespace {

constexpr std::size_t kGuardBytes = 64;
constexpr std::byte kGuard{0xA5};
constexpr std::byte kPoison{0xFF};  // a NaN in every float type

std::byte* align(std::byte* address) {
  const auto value = reinterpret_cast<std::uintptr_t>(address);
  return address + (kGuardBytes - value % kGuardBytes) % kGuardBytes;
}

}  // namespace

ProgramRun::ProgramRun(const Program& program, std::vector<ValueId> kept)
    : program_(program), kept_(std::move(kept)) {
  lowered_ = cpu::CpuTarget().lower(program, {.kept = kept_});
  for (const Storage& storage : lowered_.storages) {
    auto& memory =
        memory_.emplace_back(storage.bytes + 3 * kGuardBytes, kGuard);
    std::byte* address = align(memory.data()) + kGuardBytes;
    std::fill_n(address, storage.bytes, kPoison);
    address_.push_back(address);
  }
  for (std::size_t id = 0; id < program.values().size(); ++id) {
    const Value& value = program.values()[id];
    if (value.role == Role::Constant && value.tensor != nullptr) {
      const HostData& data = value.tensor->data;
      set_bytes(static_cast<ValueId>(id), {data.bytes, data.size});
    }
  }
}

void ProgramRun::set_bytes(ValueId value, std::span<const std::byte> contents) {
  const StorageId storage = lowered_.storage_of.at(value);
  if (contents.size() != lowered_.storages.at(storage).bytes) {
    throw ShapeError(
        {.op = "set",
         .node = program_.value(value).name,
         .what = "wrong number of bytes",
         .expected = std::to_string(lowered_.storages[storage].bytes),
         .got = std::to_string(contents.size())});
  }
  std::copy(contents.begin(), contents.end(), address_[storage]);
}

void ProgramRun::run(bool in_place) {
  std::vector<std::byte*> place = address_;
  const auto is_read_after = [&](StorageId storage, std::size_t unit) {
    for (std::size_t i = unit + 1; i < lowered_.units.size(); ++i) {
      const auto& reads = lowered_.units[i].reads;
      if (std::count(reads.begin(), reads.end(), storage) > 0) return true;
    }
    return std::any_of(kept_.begin(), kept_.end(), [&](ValueId value) {
      return lowered_.storage_of[value] == storage;
    });
  };
  for (std::size_t u = 0; u < lowered_.units.size(); ++u) {
    const Unit& unit = lowered_.units[u];
    for (const InPlace& pair : unit.in_place) {
      const bool fits = lowered_.storages[pair.output].bytes ==
                        lowered_.storages[pair.input].bytes;
      if (in_place && fits && !is_read_after(pair.input, u)) {
        place[pair.output] = place[pair.input];
        break;
      }
    }
    std::vector<std::byte*> args;
    for (StorageId storage : unit.args) args.push_back(place[storage]);
    static_cast<const cpu::CpuUnitCode&>(*unit.code).bind(args)();
  }
  for (std::size_t s = 0; s < place.size(); ++s) {
    if (place[s] == address_[s]) continue;
    std::copy_n(place[s], lowered_.storages[s].bytes, address_[s]);
  }
}

std::span<const std::byte> ProgramRun::contents(ValueId value) const {
  const StorageId storage = lowered_.storage_of.at(value);
  if (storage < 0) {
    throw InternalError({.op = "get",
                         .node = program_.value(value).name,
                         .what = "the value has no plain storage"});
  }
  return {address_[storage], lowered_.storages[storage].bytes};
}

bool ProgramRun::has_intact_guards() const {
  for (std::size_t s = 0; s < memory_.size(); ++s) {
    const std::byte* begin = address_[s];
    const std::byte* end = begin + lowered_.storages[s].bytes;
    const auto is_guard = [](std::byte b) { return b == kGuard; };
    if (!std::all_of(begin - kGuardBytes, begin, is_guard) ||
        !std::all_of(end, end + kGuardBytes, is_guard)) {
      return false;
    }
  }
  return true;
}

int ProgramRun::num_reorders() const {
  return static_cast<int>(
      std::count_if(lowered_.units.begin(), lowered_.units.end(),
                    [](const Unit& unit) { return unit.is_reorder; }));
}

}  // namespace traingraph::testing
