// SPDX-License-Identifier: MIT
#include "runtime/device/host_memory.h"

#include <chrono>
#include <cstring>
#include <new>

#include "traingraph/error.h"

namespace traingraph {
namespace {

constexpr std::align_val_t kAlignment{64};

}  // namespace

HostBuffer::HostBuffer(std::size_t bytes, std::string_view label)
    : bytes_(bytes),
      data_(static_cast<std::byte*>(
          ::operator new(bytes ? bytes : 1, kAlignment, std::nothrow))) {
  if (!data_) {
    throw OutOfMemoryError(
        ErrorInfo{.op = "allocate",
                  .node = std::string(label),
                  .what = "out of memory",
                  .expected = std::to_string(bytes) + " bytes",
                  .hint = "Use a smaller batch."});
  }
  std::memset(data_, 0, bytes);
}

HostBuffer::~HostBuffer() { ::operator delete(data_, kAlignment); }

void run_on_host(Submission& submission, RunUnits run) {
  const auto start = std::chrono::steady_clock::now();
  for (const Upload& copy : submission.uploads) {
    std::memcpy(HostMemoryContext::address_of(copy.to), copy.from.data(),
                copy.bytes);
  }
  std::exception_ptr error = submission.blocked();
  if (!error) {
    try {
      if (submission.work) run(*submission.work, submission.unit_seconds);
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
