// SPDX-License-Identifier: MIT
// Everything that can be wrong with the data of an execution, found before
// anything is enqueued.
#include <algorithm>

#include "graph/batch_axis.h"
#include "graph/require_fits.h"
#include "ops/loss_shapes.h"
#include "runtime/execution/inputs.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

template <class Map>
std::string names_of(const Map& map) {
  std::string names;
  for (const auto& [name, tensor] : map) {
    names += names.empty() ? "\"" : ", \"";
    names += name;
    names += "\"";
  }
  return names.empty() ? "no names" : names;
}

InvalidArgument not_declared(const char* call, std::string_view name,
                             const std::string& declared,
                             std::string hint = {}) {
  return InvalidArgument(ErrorInfo{.op = call,
                                   .node = std::string(name),
                                   .what = "the name is not declared",
                                   .expected = "one of " + declared,
                                   .got = "\"" + std::string(name) + "\"",
                                   .hint = std::move(hint)});
}

/// Of a name that is in the wrong one of a call's three lists.
std::string hint_of_kind(Input::Kind kind) {
  if (kind == Input::Kind::Input) return "It is an input.";
  if (kind == Input::Kind::Label) return "It is a loss label.";
  if (kind == Input::Kind::LabelWeight) return "It is a loss label weight.";
  return {};
}

InvalidArgument given_twice(const char* call, std::string_view name) {
  return InvalidArgument(ErrorInfo{.op = call,
                                   .node = std::string(name),
                                   .what = "the name is given twice"});
}

/// Of two shapes of as many axes.
bool differs_on_axis_alone(int axis, Shape got, const Shape& want) {
  got[axis] = want[axis];
  return got == want;
}

/// Does a loss over classes read these labels, or what is made of them?
bool name_classes(const MergedGraph& graph, std::string_view name) {
  const auto label = graph.labels.find(std::string(name));
  if (label == graph.labels.end()) return false;
  std::vector<bool> follows(graph.program.values().size(), false);
  const ValueId value = graph.find(label->second);
  if (value != kNoValue) follows[value] = true;
  for (const Node& node : graph.program.nodes()) {
    const bool reads = std::ranges::any_of(
        node.inputs, [&](ValueId v) { return v != kNoValue && follows[v]; });
    if (!reads) continue;
    const auto* loss = std::get_if<LossAttrs>(&node.attrs);
    if (loss && sums_over_classes(loss->type)) return true;
    for (const ValueId v : node.outputs) follows[v] = true;
  }
  return false;
}

/// What to do about data of another shape than its tensor was declared with.
std::string shape_hint(const Tensor& tensor, bool are_classes,
                       const TensorDescriptor& got) {
  const TensorDescriptor& want = tensor.descriptor();
  if (are_classes && got.shape.rank() + 1 == want.shape.rank()) {
    return "The labels were declared one-hot: declare class indices as a "
           "tensor of type int32 or int64 without the axis of classes.";
  }
  if (are_classes && got.shape.rank() == want.shape.rank() + 1) {
    return "The labels were declared as class indices: declare one-hot labels "
           "as a float32 tensor with an axis of classes.";
  }
  if (got.shape.rank() != want.shape.rank()) return "Reshape it.";
  const auto batch_axis = tensor.batch_axis();
  if (batch_axis && differs_on_axis_alone(*batch_axis, got.shape, want.shape)) {
    return "Leave batch_size out: the data says it.";
  }
  const int last = got.shape.rank() - 1;
  if (are_classes && got.shape[last] == 1 &&
      differs_on_axis_alone(last, got.shape, want.shape)) {
    return "If these are class indices, declare them as a tensor of type int32 "
           "or int64 without the axis of classes; else pass them one-hot.";
  }
  return "Reshape it, or declare the tensor with this shape.";
}

}  // namespace

void Inputs::check(const Call& call) {
  ++calls_;
  const CallData& data = call.data;
  if (!call.skips_writing) {
    check_list(call.name, data.inputs, Input::Kind::Input, call.batch);
    check_list(call.name, data.labels, Input::Kind::Label, call.batch);
    check_list(call.name, data.label_weights, Input::Kind::LabelWeight,
               call.batch);
  }
  notice_host_data();
  require_data(call);
}

std::size_t Inputs::bytes_of(const Tensor& tensor, std::int64_t batch) const {
  return at_batch(tensor, batch, batch_).size_bytes();
}

Input* Inputs::find(std::string_view name, Input::Kind kind) {
  const auto it = declared_.find(name);
  return it != declared_.end() && it->second.kind == kind ? &it->second
                                                          : nullptr;
}

void Inputs::check_list(const char* call, DataList data, Input::Kind kind,
                        std::int64_t batch) {
  for (const NamedData& item : data) {
    Input* input = find(item.name, kind);
    if (!input) {
      std::map<std::string_view, int> names;
      for (const auto& [name, declared] : declared_) {
        if (declared.kind == kind) names.emplace(name, 0);
      }
      const auto other = declared_.find(item.name);
      throw not_declared(
          call, item.name, names_of(names),
          other == declared_.end() ? "" : hint_of_kind(other->second.kind));
    }
    check_input(call, item, *input, batch);
  }
}

void Inputs::check_input(const char* call, const NamedData& item, Input& input,
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
                  .hint = "Leave it out; its set_data() changes it."});
  }
  if (input.source || input.is_upstream) {
    throw InvalidArgument(
        ErrorInfo{.op = call,
                  .node = std::string(item.name),
                  .what = "a linked graph computes the tensor",
                  .hint = "Leave it out, or do not link the graphs."});
  }
  check_data(call, item, input.tensor, batch);
  if (input.positions.empty()) return;
  const TensorDescriptor desc = at_batch(input.tensor, batch, batch_);
  require_whole_in_range(call, item.name, desc,
                         {item.data.bytes, desc.size_bytes()}, input.positions);
}

/// Names of bind_and_write_data are those of `named`, or else the declared.
Input* Inputs::find_bound(std::string_view name, const TensorMap& named) {
  if (named.empty()) {
    const auto it = declared_.find(name);
    return it == declared_.end() ? nullptr : &it->second;
  }
  const auto it = named.find(std::string(name));
  if (it == named.end()) return nullptr;
  const auto input = input_of_.find(it->second.state().get());
  return input == input_of_.end() ? nullptr : input->second;
}

Input& Inputs::check_bound(const NamedData& item, const TensorMap& named,
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
        .got = it->second ? "\"" + it->second.name() + "\"" : "no tensor"});
  }
  TensorMap known = named;
  for (const auto& [name, input] : declared_) {
    if (named.empty()) known.emplace(name, input.tensor);
  }
  throw not_declared(call, item.name, names_of(known));
}

void Inputs::check_data(const char* call, const NamedData& item,
                        const Tensor& tensor, std::int64_t batch) const {
  if (!item.data.bytes) {
    throw InvalidArgument(ErrorInfo{.op = call,
                                    .node = std::string(item.name),
                                    .what = "there is no data"});
  }
  // Its leading bytes are the smaller batch.
  const bool may_be_longer = leads_with_batch(tensor);
  const WantedData wanted{
      .desc = at_batch(tensor, batch, batch_),
      .whole = may_be_longer ? std::optional(tensor.shape()) : std::nullopt,
      .may_be_longer = may_be_longer};
  const Misfit misfit = misfit_of(item.data, wanted);
  if (misfit == Misfit::None) return;
  std::string hint;
  if (misfit == Misfit::Type) {
    hint = "Convert it first, or declare the tensor with this type.";
  } else if (misfit == Misfit::Shape) {
    hint = shape_hint(tensor, name_classes(*graph_, item.name),
                      *item.data.descriptor);
  } else if (!item.data.descriptor) {
    hint = "For fewer samples pass batch_size, or a descriptor with the data.";
  }
  fail_misfit(call, std::string(item.name), item.data, wanted, misfit, hint);
}

}  // namespace traingraph
