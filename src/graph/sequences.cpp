// SPDX-License-Identifier: MIT
// Sequences of several lengths in one tensor.
#include <algorithm>
#include <functional>

#include "base/format.h"
#include "graph/tensor_state.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

/// For messages: the first ones of many.
std::string text_of(const std::vector<std::int64_t>& lengths) {
  constexpr std::size_t kMaxShown = 16;
  std::string text;
  for (std::size_t i = 0; i < lengths.size() && i < kMaxShown; ++i) {
    if (!text.empty()) text += ", ";
    text += std::to_string(lengths[i]);
  }
  if (lengths.size() > kMaxShown) {
    text += " ... of " + std::to_string(lengths.size());
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

void require_count(const char* what, std::int64_t count) {
  if (count <= SequenceDescriptor::kMax) return;
  fail<ShapeError>(what, "at most " + std::to_string(SequenceDescriptor::kMax),
                   std::to_string(count));
}

/// The descriptor without the lengths.
const TensorDescriptor& base_of(const SequenceDescriptor& descriptor) {
  return descriptor;
}

void set_lengths(const Tensor& tensor, const SequenceDescriptor& descriptor) {
  if (tensor.batch_axis() != 0) {
    throw InvalidArgument(ErrorInfo{
        .op = "tensor",
        .node = tensor.name(),
        .what = "sequences have another batch axis",
        .expected = "batch_axis 0: (batch, time, features)",
        .got =
            tensor.batch_axis() ? std::to_string(*tensor.batch_axis()) : "none",
        .hint = "Give the shape, without lengths."});
  }
  tensor.state()->sequences = descriptor;
}

}  // namespace

SequenceDescriptor::SequenceDescriptor(Shape shape,
                                       std::vector<std::int64_t> lengths,
                                       bool sorted, DataType data_type)
    : TensorDescriptor{shape, data_type},
      sequence_lengths(std::move(lengths)),
      sorted_sequences(sorted) {
  const auto got = [&] { return text_of(sequence_lengths); };
  if (shape.rank() != 3) {
    fail<ShapeError>("sequences have the wrong rank", "(batch, time, features)",
                     shape.to_string());
  }
  require_count("there are too many sequences", shape[0]);
  require_count("sequences are too long", shape[1]);
  if (static_cast<std::int64_t>(sequence_lengths.size()) != shape[0]) {
    fail<ShapeError>("there are not as many lengths as sequences",
                     std::to_string(shape[0]),
                     std::to_string(sequence_lengths.size()));
  }
  if (sequence_lengths.empty()) {
    fail<InvalidArgument>("there are no sequences", "at least one length",
                          got());
  }
  const auto [least, most] = std::ranges::minmax(sequence_lengths);
  if (least < 1) {
    fail<InvalidArgument>("sequence_lengths are out of range", "at least 1",
                          got());
  }
  if (most > shape[1]) {
    fail<ShapeError>("a sequence is longer than the tensor",
                     "at most " + std::to_string(shape[1]), got());
  }
  if (sorted &&
      !std::ranges::is_sorted(sequence_lengths, std::ranges::greater())) {
    fail<InvalidArgument>("sequence_lengths are not sorted",
                          "none above the one before", got());
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
  require_count("there are too many sequences", batch_size);
  const auto count =
      static_cast<std::size_t>(std::max<std::int64_t>(batch_size, 0));
  return {Shape{batch_size, length, feature_channel_count},
          std::vector<std::int64_t>(count, length)};
}

std::vector<std::int64_t> SequenceDescriptor::batch_size_per_sequence_step()
    const {
  const std::int64_t most = std::ranges::max(sequence_lengths);
  std::vector<std::int64_t> running(static_cast<std::size_t>(most));
  // First how many end after each step, then sums from the last step on.
  for (std::int64_t length : sequence_lengths) {
    ++running[static_cast<std::size_t>(length - 1)];
  }
  for (std::size_t step = running.size() - 1; step > 0; --step) {
    running[step - 1] += running[step];
  }
  return running;
}

Tensor::Tensor(const SequenceDescriptor& descriptor, std::string name,
               std::optional<int> batch_axis)
    : Tensor(base_of(descriptor), std::move(name), batch_axis) {
  set_lengths(*this, descriptor);
}

Tensor::Tensor(const SequenceDescriptor& descriptor, const TensorData& data,
               std::string name, std::optional<int> batch_axis)
    : Tensor(base_of(descriptor), data, std::move(name), batch_axis) {
  set_lengths(*this, descriptor);
}

Tensor Tensor::filled(const SequenceDescriptor& descriptor, double value,
                      std::string name, std::optional<int> batch_axis) {
  const Tensor tensor =
      filled(base_of(descriptor), value, std::move(name), batch_axis);
  set_lengths(tensor, descriptor);
  return tensor;
}

Tensor Tensor::random(const SequenceDescriptor& descriptor,
                      RandomInitializerType initializer, std::int64_t fan_in,
                      std::int64_t fan_out, std::string name,
                      std::optional<int> batch_axis) {
  const Tensor tensor = random(base_of(descriptor), initializer, fan_in,
                               fan_out, std::move(name), batch_axis);
  set_lengths(tensor, descriptor);
  return tensor;
}

Tensor Tensor::sequences(const SequenceDescriptor& descriptor,
                         std::string name) {
  return Tensor(descriptor, std::move(name));
}

Tensor Tensor::sequences(const SequenceDescriptor& descriptor,
                         const TensorData& data, std::string name) {
  return Tensor(descriptor, data, std::move(name));
}

Tensor Tensor::sequences(const SequenceDescriptor& descriptor,
                         RandomInitializerType initializer, std::string name) {
  return random(descriptor, initializer, 0, 0, std::move(name));
}

std::optional<SequenceDescriptor> Tensor::sequence_descriptor() const {
  return state_ ? state_->sequences : std::nullopt;
}

}  // namespace traingraph
