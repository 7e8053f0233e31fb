// SPDX-License-Identifier: MIT
#include "cuda/stream/letter.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string>

#include "cuda/cuda_memory.h"

namespace traingraph::cuda {
namespace {

constexpr std::size_t kDataAlignment = 8;

std::size_t rounded_up(std::size_t bytes) {
  return (bytes + kDataAlignment - 1) / kDataAlignment * kDataAlignment;
}

/// Such an upload is faster by the copy engine.
constexpr std::size_t kMaxSupplyBytes = 16384;

std::string deliver_text(std::size_t bytes) {
  const std::string size = std::to_string(bytes);
  return "struct alignas(16) Letter" + size + " { unsigned char bytes[" + size +
         "]; };\n"
         "extern \"C\" __global__ void __launch_bounds__(256) KERNEL(const "
         "__grid_constant__ Letter" +
         size +
         " letter, Outbox* outbox) {\n"
         "  begin_after_previous();\n"
         "  deliver(letter.bytes, outbox);\n}\n";
}

constexpr const char* kCollectText =
    "extern \"C\" __global__ void __launch_bounds__(256) KERNEL(const Outbox* "
    "outbox) {\n"
    "  begin_after_previous();\n"
    "  collect(outbox);\n}\n";

}  // namespace

std::vector<KernelText> mailbox_texts() {
  std::vector<KernelText> texts;
  for (const std::size_t bytes : kLetterSizes) {
    texts.push_back({{"mailbox.cuh"}, deliver_text(bytes)});
  }
  texts.push_back({{"mailbox.cuh"}, kCollectText});
  return texts;
}

Letter::Letter(std::span<const Upload> uploads,
               std::span<const Download> downloads) {
  std::size_t result_bytes = 0;
  for (const Download& each : downloads) result_bytes += each.bytes;
  holds_downloads_ =
      result_bytes <= kMaxCollectedBytes && downloads.size() <= kMaxResults;
  const std::size_t num_results = holds_downloads_ ? downloads.size() : 0;

  bytes_ += num_results * sizeof(ResultCopy);
  for (const Upload& each : uploads) {
    const std::size_t more = sizeof(Supply) + rounded_up(each.bytes);
    if (each.bytes > kMaxSupplyBytes || bytes_ + more > sizeof data_) break;
    bytes_ += more;
    ++num_uploads_;
  }

  header() = {};
  header().num_supplies = static_cast<std::uint32_t>(num_uploads_);
  header().num_results = static_cast<std::uint32_t>(num_results);
  auto* supply = reinterpret_cast<Supply*>(data_ + sizeof(LetterHeader));
  auto* result = reinterpret_cast<ResultCopy*>(supply + num_uploads_);
  auto* data = reinterpret_cast<std::byte*>(result + num_results);
  for (const Upload& each : uploads.first(num_uploads_)) {
    *supply++ = {.to = address_of(each.to),
                 .offset = static_cast<std::uint32_t>(data - data_),
                 .bytes = static_cast<std::uint32_t>(each.bytes)};
    std::memcpy(data, each.from.data(), each.bytes);
    data += rounded_up(each.bytes);
  }
  for (const Download& each : downloads.first(num_results)) {
    *result++ = {.from = address_of(each.from),
                 .to = address_of(each.to),
                 .bytes = each.bytes};
  }
}

void Letter::set_receipt(DeviceAddress slot, std::uint64_t ticket) {
  header().slot = slot;
  header().ticket = ticket;
}

bool Letter::holds_upload(std::size_t index) const {
  return index < num_uploads_;
}

int Letter::size_class() const {
  return static_cast<int>(std::ranges::lower_bound(kLetterSizes, bytes_) -
                          kLetterSizes);
}

}  // namespace traingraph::cuda
