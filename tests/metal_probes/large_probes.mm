// SPDX-License-Identifier: MIT
// Sizes at which copies and tensors are reported to break. Most take gigabytes:
// metal_probes leaves those out that the machine has no room for.
#include <cstdint>

#import "tests/metal_probes/lab.h"
#include "tests/metal_probes/probe.h"

namespace traingraph::metal::probes {
namespace {

constexpr std::size_t kMega = std::size_t{1} << 20, kGiga = kMega << 10;
constexpr std::size_t kPage = 4096;

std::uint64_t mark(std::size_t page) { return page * 0x9e3779b97f4a7c15U + 1; }

/// The first page that has another mark; num_pages: none.
std::size_t first_wrong(const std::byte* bytes, std::size_t num_pages) {
  for (std::size_t page = 0; page < num_pages; ++page) {
    const auto* found =
        reinterpret_cast<const std::uint64_t*>(bytes + page * kPage);
    if (*found != mark(page)) return page;
  }
  return num_pages;
}

std::string copy_of(std::size_t bytes) {
  const auto from = make_buffer(bytes), to = make_buffer(bytes);
  auto* source = static_cast<std::byte*>([from.get() contents]);
  const std::size_t num_pages = bytes / kPage;
  for (std::size_t page = 0; page < num_pages; ++page) {
    *reinterpret_cast<std::uint64_t*>(source + page * kPage) = mark(page);
  }
  MPSCommandBuffer* commands =
      [MPSCommandBuffer commandBufferFromCommandQueue:machine().queue.get()];
  id<MTLBlitCommandEncoder> blit = [commands blitCommandEncoder];
  [blit copyFromBuffer:from.get()
           sourceOffset:0
               toBuffer:to.get()
      destinationOffset:0
                   size:bytes];
  [blit endEncoding];
  commit_and_wait(commands);
  const std::size_t wrong = first_wrong(
      static_cast<const std::byte*>([to.get() contents]), num_pages);
  return wrong == num_pages
             ? "right"
             : "wrong from byte " + std::to_string(wrong * kPage);
}

std::string fill_of(std::size_t bytes) {
  const auto buffer = make_buffer(bytes);
  MPSCommandBuffer* commands =
      [MPSCommandBuffer commandBufferFromCommandQueue:machine().queue.get()];
  id<MTLBlitCommandEncoder> blit = [commands blitCommandEncoder];
  [blit fillBuffer:buffer.get() range:NSMakeRange(0, bytes) value:7];
  [blit endEncoding];
  commit_and_wait(commands);
  const auto* filled =
      static_cast<const std::uint8_t*>([buffer.get() contents]);
  for (std::size_t i = 0; i < bytes; i += 1021) {
    if (filled[i] != 7) return "wrong from about byte " + std::to_string(i);
  }
  return filled[bytes - 1] == 7 ? "right" : "wrong at the end";
}

std::string copy_of_1_mb() { return copy_of(kMega); }
std::string copy_below_2_gb() { return copy_of(2 * kGiga - kPage); }
std::string copy_of_2_gb() { return copy_of(2 * kGiga + kPage); }
std::string copy_of_4_gb() { return copy_of(4 * kGiga + kPage); }
std::string fill_of_1_mb() { return fill_of(kMega); }
std::string fill_below_2_gb() { return fill_of(2 * kGiga - kPage); }
std::string fill_of_4_gb() { return fill_of(4 * kGiga + kPage); }

/// x (1, columns) + y (rows, 1): only the result is large.
std::string tensor_of(std::int64_t rows, std::int64_t columns) {
  Numbers x, y;
  for (std::int64_t i = 0; i < columns; ++i) x.push_back(float(i % 1000));
  for (std::int64_t i = 0; i < rows; ++i) y.push_back(float(i % 777));
  Lab lab;
  T sum = [lab.graph() additionWithPrimaryTensor:lab.input(x, {1, columns})
                                 secondaryTensor:lab.input(y, {rows, 1})
                                            name:@"sum"];
  const auto executable = lab.compile({sum});
  MPSCommandBuffer* commands =
      [MPSCommandBuffer commandBufferFromCommandQueue:machine().queue.get()];
  const auto results = lab.encode(executable.get(), commands);
  commit_and_wait(commands);
  const auto* floats =
      static_cast<const float*>([results.front().get() contents]);
  for (std::int64_t i = 0; i < rows * columns; i += 997) {
    if (floats[i] != x[i % columns] + y[i / columns]) {
      return "wrong at element " + std::to_string(i);
    }
  }
  return "right";
}

std::string small_tensor() { return tensor_of(300, 200); }
std::string tensor_below_4_gb() { return tensor_of(32767, 32768); }
std::string tensor_of_4_gb() { return tensor_of(32769, 32768); }

}  // namespace

std::vector<Probe> large_probes() {
  const Remedy smaller_tensors = {
      .constant = "max_tensor_bytes",
      .value = "less, by limits_of(), for this system"};
  const Remedy smaller_pieces = {
      .constant = "max_blit_bytes",
      .value = "less, by limits_of(), for this system"};
  const Remedy larger_pieces = {
      .constant = "max_blit_bytes",
      .value = "more, by limits_of(), for this system"};
  const bool takes_4_gb = limits_here().max_tensor_bytes > 4 * kGiga;
  return {
      {.name = "copy_1_mb",
       .question = "a blit of 1 MB is",
       .answer = copy_of_1_mb,
       .weight = Weight::Reliance,
       .expected = {"right"},
       .remedy = smaller_pieces},
      {.name = "copy_below_2_gb",
       .question = "a blit of 4 KB less than 2 GB is",
       .answer = copy_below_2_gb,
       .weight = Weight::Reliance,
       .expected = {"right"},
       .remedy = smaller_pieces,
       .bytes = 4 * kGiga},
      {.name = "copy_2_gb",
       .question = "a blit of more than 2 GB is",
       .answer = copy_of_2_gb,
       .expected = {"right"},
       .remedy = larger_pieces,
       .may_abort = true,
       .bytes = 5 * kGiga},
      {.name = "copy_4_gb",
       .question = "a blit of more than 4 GB is",
       .answer = copy_of_4_gb,
       .expected = {"wrong", "raised", "aborted"},
       .remedy = larger_pieces,
       .may_abort = true,
       .bytes = 9 * kGiga},
      {.name = "fill_1_mb",
       .question = "fillBuffer of 1 MB is",
       .answer = fill_of_1_mb,
       .weight = Weight::Reliance,
       .expected = {"right"},
       .remedy = smaller_pieces},
      {.name = "fill_below_2_gb",
       .question = "fillBuffer of 4 KB less than 2 GB is",
       .answer = fill_below_2_gb,
       .weight = Weight::Reliance,
       .expected = {"right"},
       .remedy = smaller_pieces,
       .bytes = 2 * kGiga},
      {.name = "fill_4_gb",
       .question = "fillBuffer of more than 4 GB is",
       .answer = fill_of_4_gb,
       .expected = {"wrong", "raised", "aborted"},
       .remedy = larger_pieces,
       .may_abort = true,
       .bytes = 5 * kGiga},
      {.name = "tensor_small",
       .question = "a result of 240 KB is",
       .answer = small_tensor,
       .weight = Weight::Reliance,
       .expected = {"right"},
       .remedy = smaller_tensors},
      {.name = "tensor_below_4_gb",
       .question = "a result of 128 KB less than 4 GB is",
       .answer = tensor_below_4_gb,
       .weight = Weight::Reliance,
       .expected = {"right"},
       .remedy = smaller_tensors,
       .may_abort = true,
       .bytes = 5 * kGiga},
      {.name = "tensor_4_gb",
       .question = "a result of more than 4 GB is",
       .answer = tensor_of_4_gb,
       .weight = takes_4_gb ? Weight::Reliance : Weight::Chance,
       .expected = takes_4_gb ? Beginnings{"right"}
                              : Beginnings{"wrong", "raised", "aborted"},
       .remedy =
           takes_4_gb
               ? smaller_tensors
               : Remedy{.constant = "max_tensor_bytes",
                        .value = "SIZE_MAX, by limits_of(), for this system"},
       .may_abort = true,
       .bytes = 5 * kGiga},
  };
}

}  // namespace traingraph::metal::probes
