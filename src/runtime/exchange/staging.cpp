// SPDX-License-Identifier: MIT
#include "runtime/exchange/staging.h"

#include <algorithm>

namespace traingraph {
namespace {

/// Parts begin at lines of the cache.
constexpr std::size_t kLine = 64;

/// Parts of `memory`, which follow each other; null: it is measured.
class Parts {
 public:
  explicit Parts(std::byte* memory) : memory_(memory) {}

  template <class T>
  void place(std::span<T>& part, std::size_t count) {
    if (memory_) part = {reinterpret_cast<T*>(memory_ + bytes_), count};
    bytes_ += (count * sizeof(T) + kLine - 1) / kLine * kLine;
  }
  std::size_t bytes() const { return bytes_; }

 private:
  std::byte* const memory_;
  std::size_t bytes_ = 0;
};

std::size_t lay_out(Staging& staging, const StagingSizes& sizes) {
  Parts parts(staging.memory.get());
  parts.place(staging.headers, sizes.num_ranks);
  parts.place(staging.losses, sizes.num_losses);
  parts.place(staging.statistics, sizes.num_ranks * sizes.num_statistics);
  for (auto& piece : staging.pieces) {
    parts.place(piece, sizes.num_ranks * sizes.piece_bytes);
  }
  return parts.bytes();
}

std::shared_ptr<std::byte> allocate(std::size_t bytes) {
  constexpr std::align_val_t kAlignment{kLine};
  return {static_cast<std::byte*>(::operator new(bytes, kAlignment)),
          [](std::byte* at) { ::operator delete(at, kAlignment); }};
}

}  // namespace

Staging make_staging(const StagingSizes& sizes) {
  Staging staging;
  staging.bytes = lay_out(staging, sizes);
  staging.memory = allocate(staging.bytes);
  std::fill_n(staging.memory.get(), staging.bytes, std::byte{});
  lay_out(staging, sizes);
  return staging;
}

}  // namespace traingraph
