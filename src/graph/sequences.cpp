// SPDX-License-Identifier: MIT
// Sequences of several lengths in one tensor.
#include <algorithm>
#include <functional>

#include "base/format.h"
#include "graph/tensor_state.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

std::string text_of(const std::vector<std::int64_t>& lengths) {
  std::string text;
  for (std::int64_t length : lengths) {
    if (!text.empty()) text += ", ";
    text += std::to_string(length);
  }
  return "(" + text + ")";
}

template <class ErrorType>
[[noreturn]] void fail(const char* what, std::string expected,
                       std::string got) {
  throw ErrorType(ErrorInfo{.op = "SequenceDescriptor",
                            .node = {},
                            .what = what,
                            .expected = std::move(expected),
                            .got = std::move(got),
                            .hint = {}});
}

Tensor with_lengths(Tensor tensor, const SequenceDescriptor& descriptor) {
  tensor.state()->sequences = descriptor;
  return tensor;
}

}  // namespace

SequenceDescriptor::SequenceDescriptor(Shape shape,
                                       std::vector<std::int64_t> lengths,
                                       bool sorted, DataType data_type)
    : TensorDescriptor{shape, data_type},
      sequence_lengths(std::move(lengths)),
      sorted_sequences(sorted) {
  const std::string got = text_of(sequence_lengths);
  if (shape.rank() != 3) {
    fail<ShapeError>("sequences have the wrong rank", "(batch, time, features)",
                     shape.to_string());
  }
  if (static_cast<std::int64_t>(sequence_lengths.size()) != shape[0]) {
    fail<ShapeError>("there are not as many lengths as sequences",
                     std::to_string(shape[0]),
                     std::to_string(sequence_lengths.size()));
  }
  if (sequence_lengths.empty()) {
    fail<InvalidArgument>("there are no sequences", "at least one length", got);
  }
  const auto [least, most] = std::ranges::minmax(sequence_lengths);
  if (least < 1) {
    fail<InvalidArgument>("sequence_lengths are out of range", "at least 1",
                          got);
  }
  if (most > shape[1]) {
    fail<ShapeError>("a sequence is longer than the tensor",
                     "at most " + std::to_string(shape[1]), got);
  }
  if (sorted &&
      !std::ranges::is_sorted(sequence_lengths, std::ranges::greater())) {
    fail<InvalidArgument>("sequence_lengths are not sorted",
                          "none above the one before", got);
  }
}

SequenceDescriptor SequenceDescriptor::of_lengths(
    std::vector<std::int64_t> lengths, bool sorted,
    std::int64_t feature_channel_count) {
  const auto count = static_cast<std::int64_t>(lengths.size());
  const std::int64_t longest = lengths.empty() ? 0 : std::ranges::max(lengths);
  return {Shape{count, longest, feature_channel_count}, std::move(lengths),
          sorted};
}

SequenceDescriptor SequenceDescriptor::of_length(
    std::int64_t length, std::int64_t feature_channel_count,
    std::int64_t batch_size) {
  const auto count =
      static_cast<std::size_t>(std::max<std::int64_t>(batch_size, 0));
  return {Shape{batch_size, length, feature_channel_count},
          std::vector<std::int64_t>(count, length)};
}

std::vector<std::int64_t> SequenceDescriptor::batch_size_per_sequence_step()
    const {
  std::vector<std::int64_t> running(
      static_cast<std::size_t>(std::ranges::max(sequence_lengths)));
  for (std::int64_t length : sequence_lengths) {
    for (std::int64_t step = 0; step < length; ++step) {
      ++running[static_cast<std::size_t>(step)];
    }
  }
  return running;
}

Tensor Tensor::sequences(const SequenceDescriptor& descriptor,
                         std::string label) {
  return with_lengths(Tensor(descriptor, std::move(label)), descriptor);
}

Tensor Tensor::sequences(const SequenceDescriptor& descriptor,
                         const TensorData& data, std::string label) {
  return with_lengths(Tensor(descriptor, data, std::move(label)), descriptor);
}

Tensor Tensor::sequences(const SequenceDescriptor& descriptor,
                         RandomInitializerType type, std::string label) {
  return with_lengths(random(descriptor, type, 0, 0, std::move(label)),
                      descriptor);
}

std::optional<SequenceDescriptor> Tensor::sequence_descriptor() const {
  return state_ ? state_->sequences : std::nullopt;
}

}  // namespace traingraph
