// SPDX-License-Identifier: MIT
#include "runtime/device/device_context.h"

#include <cstring>

#include "runtime/device/blocking_submission.h"
#include "traingraph/error.h"

namespace traingraph {

BoundUnits::BoundUnits(std::size_t num_units, std::span<const Mark> marks)
    : marks_(marks.begin(), marks.end()) {
  int last = 0;
  for (const Mark& mark : marks_) {
    const bool is_within = mark.before >= last &&
                           static_cast<std::size_t>(mark.before) <= num_units;
    if (!is_within) {
      throw InternalError(ErrorInfo{.op = "bind",
                                    .what = "marks are out of place",
                                    .expected = "a unit from " +
                                                std::to_string(last) + " to " +
                                                std::to_string(num_units),
                                    .got = std::to_string(mark.before)});
    }
    last = mark.before;
  }
}

std::shared_ptr<DeviceBuffer> DeviceContext::wrap(const DeviceSource&) {
  throw UnsupportedError(
      ErrorInfo{.op = "upload",
                .what = "this device copies no memory of others",
                .got = description(),
                .hint = "Copy it to the host first."});
}

void DeviceContext::upload(std::span<const std::byte> from, Location to) {
  if (from.empty()) return;
  if (std::byte* const view = host_view(to)) {
    std::memcpy(view, from.data(), from.size());
    return;
  }
  const auto staging = allocate_staging(from.size(), "upload");
  std::memcpy(staging->bytes().data(), from.data(), from.size());
  const Upload copies[] = {{{staging.get(), 0}, to, from.size()}};
  BlockingSubmission submission;
  submission.uploads = copies;
  submission.run(*this);
}

void DeviceContext::upload(DeviceContext& of, const DeviceSource& from,
                           Location to) {
  if (from.bytes == 0) return;
  const std::shared_ptr<DeviceBuffer> buffer = of.wrap(from);
  const Location source{buffer.get(), 0};
  if (const std::byte* const view = of.host_view(source)) {
    return upload(std::span(view, from.bytes), to);
  }
  if (&of.device() != &device()) {
    throw UnsupportedError(
        ErrorInfo{.op = "upload",
                  .what = "the data is in the memory of another device",
                  .expected = "memory of the host, or of " + description(),
                  .got = name_beside(of, *this),
                  .hint = "Copy it to the host first."});
  }
  const Copy copies[] = {{source, to, from.bytes}};
  BlockingSubmission submission;
  submission.copies = copies;
  submission.run(*this);
}

void DeviceContext::download(Location from, std::span<std::byte> to) {
  if (to.empty()) return;
  if (const std::byte* const view = host_view(from)) {
    std::memcpy(to.data(), view, to.size());
    return;
  }
  const auto staging = allocate_staging(to.size(), "download");
  const Download copies[] = {{from, {staging.get(), 0}, to.size()}};
  BlockingSubmission submission;
  submission.downloads = copies;
  submission.run(*this);
  std::memcpy(to.data(), staging->bytes().data(), to.size());
}

void DeviceContext::require_not_lost(const char* call) const {
  const std::exception_ptr lost = loss();
  if (!lost) return;
  try {
    std::rethrow_exception(lost);
  } catch (const DeviceLostError& error) {
    ErrorInfo info = error.info();
    info.op = call;
    throw DeviceLostError(std::move(info));
  }
}

std::exception_ptr lost_error(const DeviceContext& device, std::string reason) {
  return std::make_exception_ptr(DeviceLostError(
      ErrorInfo{.op = "execute",
                .node = device.description(),
                .what = "the device is lost, and all that was in its memory",
                .expected = {},
                .got = std::move(reason),
                .hint = "Start a new process and load a checkpoint."}));
}

std::string name_beside(const DeviceContext& device,
                        const DeviceContext& other) {
  const std::string name = device.description();
  return name == other.description() ? "another device, " + name : name;
}

}  // namespace traingraph
