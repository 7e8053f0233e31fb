// SPDX-License-Identifier: MIT
// What travels with a launch: small inputs in the parameters of its first
// kernel, and where its last kernel stores results (kernels/mailbox.cuh).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cuda/abi/driver.h"
#include "cuda/code/kernel.h"
#include "runtime/device/device_context.h"

namespace traingraph::cuda {

// As in mailbox.cuh, which the tests hold them to.
struct LetterHeader {
  std::uint32_t num_supplies = 0, num_results = 0;
  DeviceAddress slot = 0;
  std::uint64_t ticket = 0;
};
struct Supply {
  DeviceAddress to = 0;
  std::uint32_t offset = 0, bytes = 0;
};
struct ResultCopy {
  DeviceAddress from = 0, to = 0;
  std::uint64_t bytes = 0;
};
struct Receipt {
  std::uint64_t ticket = 0, begin = 0, end = 0;
};

/// Parameters are copied with each launch: there are letters of three sizes,
/// the last close to what a kernel may have.
inline constexpr std::size_t kLetterSizes[] = {256, 4096, 32512};
/// Larger results are the copy engine's.
inline constexpr std::size_t kMaxCollectedBytes = 16384;
inline constexpr std::size_t kMaxResults = 512;
/// Of Outbox, for kMaxResults.
inline constexpr std::size_t kOutboxBytes =
    sizeof(LetterHeader) + 8 + kMaxResults * sizeof(ResultCopy);

/// The kernels: one that delivers for each size, and the one that collects.
std::vector<KernelText> mailbox_texts();

/// What a submission supplies and wants, as far as it fits: uploads in their
/// order while there is room, and downloads all or none.
class Letter {
 public:
  /// Allocates nothing.
  Letter(std::span<const Upload> uploads, std::span<const Download> downloads);
  /// Supplies and wants nothing.
  Letter() { header() = {}; }

  /// Asks for a receipt.
  void set_receipt(DeviceAddress slot, std::uint64_t ticket);
  /// Is this one of the submission's uploads in the letter?
  bool holds_upload(std::size_t index) const;
  bool holds_downloads() const { return holds_downloads_; }
  /// By its number among kLetterSizes.
  int size_class() const;
  const std::byte* data() const { return data_; }

 private:
  LetterHeader& header() { return *reinterpret_cast<LetterHeader*>(data_); }

  alignas(16) std::byte data_[kLetterSizes[2]];  // as much as is written
  std::size_t bytes_ = sizeof(LetterHeader);
  std::size_t num_uploads_ = 0;  // the first of them
  bool holds_downloads_ = true;
};

}  // namespace traingraph::cuda
