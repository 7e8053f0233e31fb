// SPDX-License-Identifier: MIT
#include "support/run_program.h"

#include <algorithm>
#include <numeric>

#include "graph/tensor_state.h"
#include "runtime/device/backend.h"
#include "traingraph/error.h"

namespace traingraph::testing {
namespace {

constexpr std::size_t kGuardBytes = 64;
constexpr std::byte kGuard{0xA5};
constexpr std::byte kPoison{0xFF};  // a NaN in every float type

struct Work : Submission {
  std::exception_ptr blocked() noexcept override { return nullptr; }
  bool is_waiting() noexcept override { return false; }
  void finished(std::exception_ptr e, double) noexcept override { error = e; }
  std::exception_ptr error;
};

std::shared_ptr<DeviceContext> require_context(DeviceType type) {
  auto device = find_device_context(type);
  if (device == nullptr) throw DeviceError(unavailable_reason(type));
  return device;
}

}  // namespace

ProgramRun::ProgramRun(const Program& program, std::vector<ValueId> kept,
                       DeviceType device)
    : ProgramRun(program, std::move(kept), require_context(device)) {}

ProgramRun::ProgramRun(const Program& program, std::vector<ValueId> kept,
                       std::shared_ptr<DeviceContext> device)
    : program_(program), kept_(std::move(kept)), device_(std::move(device)) {
  lowered_ = device_->target().lower(program, {.kept = kept_});
  const std::size_t before =
      std::max(kGuardBytes, device_->target().alignment());
  for (const Storage& storage : lowered_.storages) {
    const auto& buffer = buffers_.emplace_back(
        device_->allocate(before + storage.bytes + kGuardBytes, storage.name));
    own_.push_back({buffer.get(), before});
    std::vector<std::byte> start(buffer->size_bytes(), kGuard);
    std::fill_n(start.begin() + before, storage.bytes, kPoison);
    device_->upload(start, {buffer.get(), 0});
  }
  place_ = own_;
}

void ProgramRun::set_bytes(ValueId value, std::span<const std::byte> contents) {
  const StorageId storage = lowered_.storage_of.at(value);
  if (storage < 0) return;  // no unit reads it
  if (contents.size() != lowered_.storages.at(storage).bytes) {
    throw ShapeError(
        {.op = "set",
         .node = program_.value(value).name,
         .what = "wrong number of bytes",
         .expected = std::to_string(lowered_.storages[storage].bytes),
         .got = std::to_string(contents.size())});
  }
  device_->upload(contents, own_[storage]);
}

void ProgramRun::run(bool in_place) {
  place_storages(in_place);
  std::vector<UnitId> units(lowered_.units.size());
  std::iota(units.begin(), units.end(), 0);
  const auto bound = device_->bind(lowered_, units, place_, {}, {});
  Work work;
  work.work = bound.get();
  device_->submit(work);
  device_->drain();
  if (work.error) std::rethrow_exception(work.error);
}

bool ProgramRun::is_free_after(StorageId storage, std::size_t unit) const {
  for (std::size_t i = unit + 1; i < lowered_.units.size(); ++i) {
    const auto& reads = lowered_.units[i].reads;
    if (std::ranges::count(reads, storage) > 0) return false;
  }
  return std::ranges::none_of(kept_, [&](ValueId value) {
    return lowered_.storage_of[value] == storage;
  });
}

void ProgramRun::place_storages(bool in_place) {
  place_ = own_;
  if (!in_place) return;
  for (std::size_t u = 0; u < lowered_.units.size(); ++u) {
    for (const InPlace& pair : lowered_.units[u].in_place) {
      const bool fits = lowered_.storages[pair.output].bytes ==
                        lowered_.storages[pair.input].bytes;
      if (fits && is_free_after(pair.input, u)) {
        place_[pair.output] = place_[pair.input];
        break;
      }
    }
  }
}

std::vector<std::byte> ProgramRun::contents(ValueId value) const {
  const StorageId storage = lowered_.storage_of.at(value);
  if (storage < 0) {
    throw InternalError(ErrorInfo{.op = "get",
                                  .node = program_.value(value).name,
                                  .what = "the value has no plain storage"});
  }
  std::vector<std::byte> bytes(lowered_.storages[storage].bytes);
  device_->download(place_[storage], bytes);
  return bytes;
}

bool ProgramRun::has_intact_guards() const {
  const auto is_guard = [&](Location at, std::size_t size) {
    std::vector<std::byte> bytes(size);
    device_->download(at, bytes);
    return std::ranges::all_of(bytes, [](std::byte b) { return b == kGuard; });
  };
  for (std::size_t s = 0; s < own_.size(); ++s) {
    const auto& [buffer, before] = own_[s];
    const std::size_t end = before + lowered_.storages[s].bytes;
    if (!is_guard({buffer, 0}, before)) return false;
    if (!is_guard({buffer, end}, kGuardBytes)) return false;
  }
  return true;
}

bool ProgramRun::is_unwritten(ValueId value) const {
  return std::ranges::all_of(contents(value),
                             [](std::byte b) { return b == kPoison; });
}

int ProgramRun::num_reorders() const {
  return static_cast<int>(
      std::count_if(lowered_.units.begin(), lowered_.units.end(),
                    [](const Unit& unit) { return unit.is_reorder; }));
}

}  // namespace traingraph::testing
