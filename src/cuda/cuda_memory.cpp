// SPDX-License-Identifier: MIT
#include "cuda/cuda_memory.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "cuda/cuda_error.h"
#include "traingraph/error.h"

namespace traingraph::cuda {
namespace {

/// The driver takes no sizes of 0.
std::size_t at_least_one(std::size_t bytes) {
  return std::max<std::size_t>(bytes, 1);
}

std::string free_text(const Card& card) {
  std::size_t free = 0, total = 0;
  if (card.driver().mem_get_info(&free, &total) != Result::Success) return {};
  return std::to_string(free) + " of " + std::to_string(total) +
         " bytes free on " + card.name();
}

}  // namespace

CudaBuffer::CudaBuffer(std::shared_ptr<const Card> card, std::size_t bytes,
                       std::string_view label)
    : card_(std::move(card)), bytes_(bytes) {
  card_->make_current();
  const Result result =
      card_->driver().mem_alloc(&address_, at_least_one(bytes));
  if (result == Result::OutOfMemory) {
    throw OutOfMemoryError(
        ErrorInfo{.op = "allocate",
                  .node = std::string(label),
                  .what = "the card's memory does not suffice",
                  .expected = std::to_string(bytes) + " bytes",
                  .got = free_text(*card_),
                  .hint = "Use a smaller batch; graph.memory lists what is "
                          "needed. Other processes may hold memory, too."});
  }
  card_->check(result, "cuMemAlloc");
  card_->note_allocated(static_cast<std::ptrdiff_t>(bytes_));
}

CudaBuffer::~CudaBuffer() {
  // What runs may still use it: the driver waits. A lost card has lost it.
  const Driver& driver = card_->driver();
  card_->note_allocated(-static_cast<std::ptrdiff_t>(bytes_));
  if (card_->try_make_current()) driver.mem_free(address_);
}

MappedBuffer::MappedBuffer(std::shared_ptr<const Card> card, std::size_t bytes,
                           std::string_view label)
    : card_(std::move(card)), bytes_(bytes) {
  card_->make_current();
  void* data = nullptr;
  const Result result = card_->driver().mem_host_alloc(
      &data, at_least_one(bytes), kHostAllocMapped | kHostAllocPortable);
  if (result == Result::OutOfMemory) {
    throw OutOfMemoryError(
        ErrorInfo{.op = "allocate",
                  .node = std::string(label),
                  .what = "pinned host memory does not suffice",
                  .expected = std::to_string(bytes) + " bytes",
                  .hint = "Use a smaller batch."});
  }
  card_->check(result, "cuMemHostAlloc");
  data_ = static_cast<std::byte*>(data);
  std::memset(data_, 0, bytes);
  card_->check(card_->driver().mem_host_get_device_pointer(&address_, data, 0),
               "cuMemHostGetDevicePointer");
}

MappedBuffer::~MappedBuffer() { card_->driver().mem_free_host(data_); }

}  // namespace traingraph::cuda
