// SPDX-License-Identifier: MIT
#include "runtime/device/device_context.h"

#include <cstring>

#include "runtime/device/blocking_submission.h"

namespace traingraph {

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

std::string name_beside(const DeviceContext& device,
                        const DeviceContext& other) {
  const std::string name = device.description();
  return name == other.description() ? "another device, " + name : name;
}

}  // namespace traingraph
