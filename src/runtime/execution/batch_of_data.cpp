// SPDX-License-Identifier: MIT
// The batch size of a call: what it asks for, or what the shapes of its data
// say.
#include "graph/batch_axis.h"
#include "runtime/execution/inputs.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

/// Counts samples on the batch axes of what one call is given.
class SampleCount {
 public:
  SampleCount(const char* call, std::int64_t compiled)
      : call_(call), compiled_(compiled) {}

  /// 0: nothing says how many.
  std::int64_t samples() const { return samples_; }

  bool is_smaller() const { return samples_ != 0 && samples_ != compiled_; }

  /// Where shapes of others say a smaller batch, memory without one must be as
  /// long: its first samples need not be those that are meant.
  void require_length(const NamedData& item, const Input& input) const {
    if (item.data.descriptor) return;
    const std::size_t bytes =
        at_batch(input.tensor, samples_, compiled_).size_bytes();
    if (item.data.length <= bytes) return;  // check() says what is too short
    throw ShapeError(ErrorInfo{
        .op = call_,
        .node = std::string(item.name),
        .what = "the data is longer than that of a batch of " +
                std::to_string(samples_),
        .expected = std::to_string(bytes) + " bytes, as many samples as \"" +
                    std::string(first_) + "\" has",
        .got = std::to_string(item.data.length),
        .hint = "Only with batch_size the first samples of more may be used."});
  }

  /// Data without a shape, or that differs on other axes, says nothing.
  void add(const NamedData& item, const Input& input) {
    if (!item.data.descriptor || input.is_constant || input.is_variable) return;
    const Shape& got = item.data.descriptor->shape;
    const Shape& all = input.tensor.shape();
    const auto axis = input.tensor.batch_axis();
    if (!axis || got.rank() != all.rank()) return;
    const std::int64_t step = all[*axis] / compiled_, size = got[*axis];
    Shape others = got;
    others[*axis] = all[*axis];
    if (others != all || all[*axis] % compiled_ != 0) return;
    if (size < 1 || size > all[*axis] || size % step != 0) {
      fail_size(item, got, all, *axis, step);
    }
    const std::int64_t samples = size / step;
    if (samples_ == 0) {
      samples_ = samples;
      first_ = item.name;
    }
    if (samples != samples_) fail_others(item, samples, got);
  }

 private:
  [[noreturn]] void fail_size(const NamedData& item, const Shape& got,
                              const Shape& all, int axis,
                              std::int64_t step) const {
    const bool is_larger = got[axis] > all[axis];
    std::string expected =
        all.to_string() + ", or fewer samples on axis " + std::to_string(axis);
    if (step > 1) expected += ", each " + std::to_string(step) + " long";
    throw ShapeError(
        ErrorInfo{.op = call_,
                  .node = std::string(item.name),
                  .what = "the data has the wrong shape",
                  .expected = std::move(expected),
                  .got = got.to_string(),
                  .hint = is_larger ? "For more samples declare the tensor "
                                      "with the largest batch."
                                    : ""});
  }

  [[noreturn]] void fail_others(const NamedData& item, std::int64_t samples,
                                const Shape& got) const {
    throw ShapeError(ErrorInfo{
        .op = call_,
        .node = std::string(item.name),
        .what = "data of one call has different numbers of samples",
        .expected = std::to_string(samples_) + ", as \"" + std::string(first_) +
                    "\" has",
        .got = std::to_string(samples) + " in " + got.to_string(),
        .hint = "Only with batch_size the first samples of more may be used."});
  }

  const char* call_;
  std::int64_t compiled_;
  std::int64_t samples_ = 0;
  std::string_view first_;  // data that says so
};

}  // namespace

std::int64_t Inputs::batch_of(const Call& call, bool skips_writing,
                              std::int64_t batch) {
  if (batch != 0 || batch_ == 0 || skips_writing) {
    return check_batch(call.name, batch);
  }
  SampleCount count(call.name, batch_);
  const auto for_each = [&](const auto& action) {
    const auto in = [&](DataList data, Input::Kind kind) {
      for (const NamedData& item : data) {
        if (const Input* input = find(item.name, kind)) action(item, *input);
      }
    };
    in(call.data.inputs, Input::Kind::Input);
    in(call.data.labels, Input::Kind::Label);
    in(call.data.label_weights, Input::Kind::LabelWeight);
  };
  for_each(
      [&](const auto& item, const Input& input) { count.add(item, input); });
  if (count.is_smaller()) {
    for_each([&](const auto& item, const Input& input) {
      count.require_length(item, input);
    });
  }
  return check_batch(call.name, count.samples());
}

std::int64_t Inputs::batch_of_bound(DataList data, const TensorMap& named,
                                    std::int64_t batch) {
  const char* call = "bind_and_write_data";
  if (batch != 0 || batch_ == 0) return check_batch(call, batch);
  SampleCount count(call, batch_);
  for (const NamedData& item : data) {
    const Input* input = find_bound(item.name, named);
    if (input) count.add(item, *input);
  }
  return check_batch(call, count.samples());
}

std::int64_t Inputs::check_batch(const char* call, std::int64_t batch) const {
  if (batch == 0) return batch_;
  if (batch > 0 && batch < batch_ && graph_->batch_obstacle) {
    ErrorInfo obstacle = *graph_->batch_obstacle;
    if (obstacle.got.empty()) obstacle.got = std::to_string(batch);
    throw UnsupportedError(std::move(obstacle));
  }
  if (batch > 0 && batch <= batch_) return batch;
  const std::string expected =
      batch_ > 0
          ? "1 to " + std::to_string(batch_) + ", or 0 for what the data has"
          : "0, since no declared tensor has a batch axis";
  throw InvalidArgument(ErrorInfo{.op = call,
                                  .what = "batch_size is out of range",
                                  .expected = expected,
                                  .got = std::to_string(batch),
                                  .hint = graph_->batch_hint});
}

}  // namespace traingraph
