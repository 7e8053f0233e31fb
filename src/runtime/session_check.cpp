// SPDX-License-Identifier: MIT
// Everything that can be wrong with the arguments of an execution, found
// before anything is enqueued.
#include <algorithm>

#include "runtime/session.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

std::string names_of(const TensorMap& tensors) {
  std::string names;
  for (const auto& [name, tensor] : tensors) {
    names += (names.empty() ? "\"" : ", \"") + name + "\"";
  }
  return names.empty() ? "no names" : names;
}

const Tensor* find(const TensorMap& tensors, std::string_view name) {
  for (const auto& [known, tensor] : tensors) {
    if (known == name) return &tensor;
  }
  return nullptr;
}

}  // namespace

std::int64_t Session::check_batch(const char* call, std::int64_t batch) const {
  if (batch == 0) return batch_;
  if (batch > 0 && batch <= batch_) return batch;
  throw InvalidArgument(ErrorInfo{
      .op = call,
      .what = "batch_size is out of range",
      .expected = "1 to " + std::to_string(batch_) + ", or 0 for all",
      .got = std::to_string(batch),
      .hint = "Declare inputs with the largest batch size you need."});
}

std::size_t Session::bytes_of(const Tensor& tensor, std::int64_t batch) const {
  TensorDescriptor desc = tensor.descriptor();
  if (!desc.shape.empty() && desc.shape[0] == batch_) desc.shape[0] = batch;
  return desc.size_bytes();
}

void Session::check_list(const char* call, DataList data,
                         const TensorMap& declared, std::int64_t batch) const {
  for (const NamedData& item : data) {
    const Tensor* tensor = find(declared, item.name);
    const auto name = [&] { return std::string(item.name); };
    if (!tensor) {
      throw InvalidArgument(
          ErrorInfo{.op = call,
                    .node = name(),
                    .what = "the name is not declared",
                    .expected = "one of " + names_of(declared),
                    .got = "\"" + name() + "\""});
    }
    if (std::ranges::count(data, item.name, &NamedData::name) > 1) {
      throw InvalidArgument(ErrorInfo{
          .op = call, .node = name(), .what = "the name is given twice"});
    }
    if (const Tensor* constant = find(declaration_.constants, item.name);
        constant && *constant == *tensor) {
      throw InvalidArgument(
          ErrorInfo{.op = call,
                    .node = name(),
                    .what = "the tensor was compiled as a constant",
                    .hint = "Leave it out, or compile without it."});
    }
    const TensorDescriptor& want = tensor->descriptor();
    if (!item.data.bytes) {
      throw InvalidArgument(
          ErrorInfo{.op = call, .node = name(), .what = "there is no data"});
    }
    if (item.data.descriptor) {
      const TensorDescriptor& got = *item.data.descriptor;
      if (got.data_type != want.data_type) {
        throw DTypeError(
            ErrorInfo{.op = call,
                      .node = name(),
                      .what = "the data has the wrong type",
                      .expected = std::string(to_string(want.data_type)),
                      .got = std::string(to_string(got.data_type)),
                      .hint = "Convert it first."});
      }
      Shape smaller = want.shape;
      const bool is_batched = !want.shape.empty() && want.shape[0] == batch_;
      if (is_batched) smaller[0] = batch;
      if (got.shape != smaller && got.shape != want.shape) {
        throw ShapeError(ErrorInfo{
            .op = call,
            .node = name(),
            .what = "the data has the wrong shape",
            .expected = smaller.to_string(),
            .got = got.shape.to_string(),
            .hint = is_batched ? "For fewer samples pass batch_size." : ""});
      }
    }
    const std::size_t bytes = bytes_of(*tensor, batch);
    if (item.data.length >= bytes) continue;
    throw ShapeError(ErrorInfo{.op = call,
                               .node = name(),
                               .what = "the data is too short",
                               .expected = std::to_string(bytes) + " bytes",
                               .got = std::to_string(item.data.length)});
  }
}

void Session::check_outputs(const char* call, const ExecuteOptions& options,
                            const OutputPlan& plan) const {
  for (const NamedData& item : options.outputs_data) {
    const auto name = [&] { return std::string(item.name); };
    const auto it =
        std::ranges::find(plan.outputs, item.name, &OutputPlan::Entry::name);
    if (it == plan.outputs.end()) {
      throw InvalidArgument(
          ErrorInfo{.op = call,
                    .node = name(),
                    .what = "this call computes no such output",
                    .expected = "one of " + names_of(declaration_.outputs),
                    .got = "\"" + name() + "\"",
                    .hint = "Declare it with add_outputs."});
    }
    if (item.data.is_immutable) {
      throw InvalidArgument(ErrorInfo{.op = call,
                                      .node = name(),
                                      .what = "the output buffer is read-only",
                                      .expected = "writable memory"});
    }
    const bool has_other_type =
        item.data.descriptor &&
        item.data.descriptor->data_type != it->desc.data_type;
    if (has_other_type) {
      throw DTypeError(ErrorInfo{
          .op = call,
          .node = name(),
          .what = "the output buffer has the wrong type",
          .expected = std::string(to_string(it->desc.data_type)),
          .got = std::string(to_string(item.data.descriptor->data_type))});
    }
    if (item.data.descriptor && item.data.descriptor->shape != it->desc.shape) {
      throw ShapeError(
          ErrorInfo{.op = call,
                    .node = name(),
                    .what = "the output buffer has the wrong shape",
                    .expected = it->desc.shape.to_string(),
                    .got = item.data.descriptor->shape.to_string()});
    }
    if (item.data.bytes && item.data.length >= it->desc.size_bytes()) continue;
    throw ShapeError(
        ErrorInfo{.op = call,
                  .node = name(),
                  .what = "the output buffer is too small",
                  .expected = std::to_string(it->desc.size_bytes()) +
                              " bytes, " + it->desc.to_string(),
                  .got = std::to_string(item.data.length)});
  }
}

void Session::require_inputs(const Call& call, bool skips_writing,
                             std::int64_t batch) const {
  const bool is_gradient_or_update =
      call.segment == Segment::Gradient || call.segment == Segment::Update;
  if (is_gradient_or_update) return;
  const auto is_given = [&](std::string_view name) {
    if (skips_writing) return false;
    for (DataList list :
         {call.data.inputs, call.data.labels, call.data.label_weights}) {
      if (std::ranges::find(list, name, &NamedData::name) != list.end()) {
        return true;
      }
    }
    return false;
  };
  for (const auto& [name, input] : declared_) {
    if (call.segment == Segment::InferenceWithoutLabels && input.is_label) {
      continue;
    }
    if (input.written_batch >= batch || is_given(name)) continue;
    if (declaration_.constants.contains(name)) continue;
    throw InvalidArgument(ErrorInfo{
        .op = call.name,
        .node = name,
        .what = input.is_label ? "there is no label data" : "there is no data",
        .expected = "data for \"" + name + "\"",
        .got = input.written_batch == 0
                   ? "none, now or before"
                   : "data of an earlier, smaller batch of " +
                         std::to_string(input.written_batch),
        .hint = "Pass it in this call, or call bind_and_write_data()."});
  }
}

}  // namespace traingraph
