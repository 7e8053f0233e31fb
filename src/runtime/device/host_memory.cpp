// SPDX-License-Identifier: MIT
#include "runtime/device/host_memory.h"

#include <chrono>
#include <cstring>
#include <new>

#include "runtime/device/huge_pages.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

std::align_val_t alignment_of(std::size_t bytes) {
  return std::align_val_t{bytes < kHugePage ? 64 : kHugePage};
}

}  // namespace

HostBuffer::HostBuffer(std::size_t bytes, std::string_view label)
    : bytes_(bytes) {
  const std::align_val_t alignment = alignment_of(bytes);
  auto* const data = static_cast<std::byte*>(
      ::operator new(bytes ? bytes : 1, alignment, std::nothrow));
  if (!data) {
    throw OutOfMemoryError(
        ErrorInfo{.op = "allocate",
                  .node = std::string(label),
                  .what = "out of memory",
                  .expected = std::to_string(bytes) + " bytes",
                  .hint = "Use a smaller batch."});
  }
  data_ = {data, [alignment](std::byte* memory) {
             ::operator delete(memory, alignment);
           }};
  ask_for_huge_pages(data, bytes);
  std::memset(data, 0, bytes);
}

HostBuffer::HostBuffer(const DeviceSource& source)
    : bytes_(source.bytes),
      data_(std::const_pointer_cast<void>(source.owner),
            static_cast<std::byte*>(const_cast<void*>(source.address))) {}

void run_on_host(Submission& submission, RunUnits run) {
  const auto start = std::chrono::steady_clock::now();
  submission.begin();
  for (const Upload& copy : submission.uploads) {
    HostMemoryContext::buffer_of(copy.to).count_write();
    std::memcpy(HostMemoryContext::address_of(copy.to), copy.from.data(),
                copy.bytes);
  }
  for (const Copy& copy : submission.copies) {
    HostMemoryContext::buffer_of(copy.to).count_write();
    std::memmove(HostMemoryContext::address_of(copy.to),
                 HostMemoryContext::address_of(copy.from), copy.bytes);
  }
  std::exception_ptr error = submission.blocked();
  if (!error) {
    try {
      if (submission.work) run(submission);
      for (const Download& copy : submission.downloads) {
        std::memcpy(copy.to.data(), HostMemoryContext::address_of(copy.from),
                    copy.bytes);
      }
    } catch (...) {
      error = std::current_exception();
    }
  }
  const std::chrono::duration<double> seconds =
      std::chrono::steady_clock::now() - start;
  // The submission may be gone after this call.
  submission.finished(std::move(error), seconds.count());
}

}  // namespace traingraph
