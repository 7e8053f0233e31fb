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

InvalidArgument undeclared(const char* call, std::string_view name,
                           const TensorMap& declared) {
  return InvalidArgument(ErrorInfo{.op = call,
                                   .node = std::string(name),
                                   .what = "the name is not declared",
                                   .expected = "one of " + names_of(declared),
                                   .got = "\"" + std::string(name) + "\""});
}

InvalidArgument given_twice(const char* call, std::string_view name) {
  return InvalidArgument(ErrorInfo{.op = call,
                                   .node = std::string(name),
                                   .what = "the name is given twice"});
}

}  // namespace

/// Everything but what depends on the plan; returns the batch size.
std::int64_t Session::check_call(const Call& call,
                                 const ExecuteOptions& options) {
  const std::int64_t batch = check_batch(call.name, options.batch_size);
  require_link(call, batch);
  ++calls_;
  const Data& data = call.data;
  check_list(call.name, data.inputs, Input::Kind::Input, batch);
  check_list(call.name, data.labels, Input::Kind::Label, batch);
  check_list(call.name, data.label_weights, Input::Kind::LabelWeight, batch);
  require_settings(call);
  notice_host_data();
  require_data(call, options.skip_writing_input_data_to_device, batch);
  return batch;
}

std::int64_t Session::check_batch(const char* call, std::int64_t batch) const {
  if (batch == 0) return batch_;
  if (batch > 0 && batch <= batch_) return batch;
  const std::string expected =
      batch_ > 0 ? "1 to " + std::to_string(batch_) + ", or 0 for all"
                 : "0, since no declared tensor has a batch axis";
  throw InvalidArgument(ErrorInfo{
      .op = call,
      .what = "batch_size is out of range",
      .expected = expected,
      .got = std::to_string(batch),
      .hint = "Declare inputs with the largest batch size you need."});
}

std::size_t Session::bytes_of(const Tensor& tensor, std::int64_t batch) const {
  TensorDescriptor desc = tensor.descriptor();
  if (!desc.shape.empty() && desc.shape[0] == batch_) desc.shape[0] = batch;
  return desc.size_bytes();
}

Input* Session::find_input(std::string_view name, Input::Kind kind) {
  const auto it = declared_.find(name);
  return it != declared_.end() && it->second.kind == kind ? &it->second
                                                          : nullptr;
}

void Session::check_list(const char* call, DataList data, Input::Kind kind,
                         std::int64_t batch) {
  for (const NamedData& item : data) {
    Input* input = find_input(item.name, kind);
    if (!input) {
      const TensorMap* maps[] = {&declaration_.inputs, &declaration_.labels,
                                 &declaration_.label_weights};
      throw undeclared(call, item.name, *maps[static_cast<int>(kind)]);
    }
    check_input(call, item, *input, batch);
  }
}

void Session::check_input(const char* call, const NamedData& item, Input& input,
                          std::int64_t batch) {
  if (input.last_call == calls_) throw given_twice(call, item.name);
  input.last_call = calls_;
  if (input.is_constant) {
    throw InvalidArgument(
        ErrorInfo{.op = call,
                  .node = std::string(item.name),
                  .what = "the tensor was compiled as a constant",
                  .hint = "Leave it out, or compile without it."});
  }
  if (input.is_variable) {
    throw InvalidArgument(
        ErrorInfo{.op = call,
                  .node = std::string(item.name),
                  .what = "the tensor is a parameter, which keeps its value "
                          "from call to call",
                  .hint = "Leave it out; Tensor::set_data() changes it."});
  }
  if (input.source || input.is_fed) {
    throw InvalidArgument(
        ErrorInfo{.op = call,
                  .node = std::string(item.name),
                  .what = "a linked graph computes the tensor",
                  .hint = "Leave it out, or do not link the graphs."});
  }
  check_data(call, item, input.tensor, batch);
}

/// Names of bind_and_write_data are those of `named`, or else the declared.
Input* Session::find_bound(std::string_view name, const TensorMap& named) {
  if (named.empty()) {
    const auto it = declared_.find(name);
    return it == declared_.end() ? nullptr : &it->second;
  }
  const auto it = named.find(std::string(name));
  if (it == named.end()) return nullptr;
  const auto input = input_of_.find(it->second.state().get());
  return input == input_of_.end() ? nullptr : input->second;
}

Input& Session::check_bound(const NamedData& item, const TensorMap& named,
                            std::int64_t batch) {
  const char* call = "bind_and_write_data";
  if (Input* const input = find_bound(item.name, named)) {
    check_input(call, item, *input, batch);
    return *input;
  }
  const auto it = named.find(std::string(item.name));
  if (it != named.end()) {
    throw InvalidArgument(ErrorInfo{
        .op = call,
        .node = std::string(item.name),
        .what = "the graph reads no such tensor",
        .expected = "an input, a label or a user gradient",
        .got = it->second ? "\"" + it->second.label() + "\"" : "no tensor"});
  }
  TensorMap known = named;
  for (const auto& [name, input] : declared_) {
    if (named.empty()) known.emplace(name, input.tensor);
  }
  throw undeclared(call, item.name, known);
}

void Session::check_data(const char* call, const NamedData& item,
                         const Tensor& tensor, std::int64_t batch) const {
  const auto name = [&] { return std::string(item.name); };
  const TensorDescriptor& want = tensor.descriptor();
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
  const std::size_t bytes = bytes_of(tensor, batch);
  if (item.data.length >= bytes) return;
  throw ShapeError(ErrorInfo{.op = call,
                             .node = name(),
                             .what = "the data is too short",
                             .expected = std::to_string(bytes) + " bytes",
                             .got = std::to_string(item.data.length)});
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

}  // namespace traingraph
