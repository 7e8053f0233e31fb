// SPDX-License-Identifier: MIT
#include "runtime/execution/inputs.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "graph/batch_axis.h"
#include "runtime/memory/transfer.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

bool has_role(const Compilation& main, TensorIndex tensor, Role role) {
  const auto is_in = [&](const Assembled& assembled) {
    const ValueId value = assembled.find(tensor);
    return value != kNoValue && assembled.program.value(value).role == role;
  };
  return std::ranges::any_of(main.programs(),
                             [&](const CompiledProgram* program) {
                               return is_in(program->assembled);
                             });
}

/// What was bound under the same name to the same tensor stays bound.
void keep_bound(Input& input, Input& before) {
  if (!(before.tensor == input.tensor)) return;
  input.kept = std::move(before.kept);
  input.is_kept = before.is_kept;
  input.version = before.version;
  input.bound_batch = before.bound_batch;
}

}  // namespace

bool Input::serves(std::int64_t batch) const {
  if (bound_batch == 0) return false;
  return leads_with_batch(tensor) ? bound_batch >= batch : bound_batch == batch;
}

/// What executions of an entry point read.
template <class Action>
void Inputs::for_each_read(EntryPoint entry_point, const Action& action) {
  if (entry_point == EntryPoint::Update) return;
  for (auto& [name, input] : declared_) {
    if (entry_point == EntryPoint::Gradient) break;
    const bool may_be_absent =
        entry_point == EntryPoint::InferenceWithoutLabels;
    if (!may_be_absent || !input.is_label()) action(input);
  }
  for (Input& input : undeclared_) {
    const bool is_gradient = input.kind == Input::Kind::UserGradient;
    const bool is_read = is_gradient ? differentiates(entry_point)
                                     : entry_point != EntryPoint::Gradient;
    if (is_read) action(input);
  }
}

void Inputs::collect(const Compilation& main, const UserObjects& objects) {
  graph_ = main.graph;
  auto declared_before = std::exchange(declared_, {});
  auto undeclared_before = std::exchange(undeclared_, {});
  if (std::exchange(batch_, graph_->batch) != graph_->batch) {
    declared_before.clear();
    undeclared_before.clear();
  }
  add_declared(graph_->inputs, Input::Kind::Input, main, objects);
  add_declared(graph_->labels, Input::Kind::Label, main, objects);
  add_declared(graph_->label_weights, Input::Kind::LabelWeight, main, objects);
  for (const auto& user : graph_->user_gradients) {
    if (user.is_boundary) continue;
    Input& input = undeclared_.emplace_back();
    input.tensor = objects.tensors[user.gradient];
    input.index = user.gradient;
    input.kind = Input::Kind::UserGradient;
  }
  for (auto& [name, input] : declared_) {
    const auto before = declared_before.find(name);
    if (before != declared_before.end()) keep_bound(input, before->second);
  }
  for (Input& input : undeclared_) {
    const auto before =
        std::ranges::find(undeclared_before, input.tensor, &Input::tensor);
    if (before != undeclared_before.end()) keep_bound(input, *before);
  }
  add_constants(main, objects);
  add_positions();
  input_of_.clear();
  for (auto& [name, input] : declared_) {
    input_of_.emplace(input.tensor.state().get(), &input);
  }
  for (Input& input : undeclared_) {
    input_of_.emplace(input.tensor.state().get(), &input);
  }
}

void Inputs::add_declared(const MergedGraph::Names& names, Input::Kind kind,
                          const Compilation& main, const UserObjects& objects) {
  for (const auto& [name, tensor] : names) {
    Input& input = declared_[name];
    input.name = name;
    input.tensor = objects.tensors[tensor];
    input.index = tensor;
    input.kind = kind;
    input.is_constant = has_role(main, tensor, Role::Constant);
    input.is_variable = has_role(main, tensor, Role::Variable);
  }
}

/// Their arena takes the host data; what is set later is written again.
void Inputs::add_constants(const Compilation& main,
                           const UserObjects& objects) {
  std::vector<bool> seen(objects.tensors.size(), false);
  const auto add = [&](const Assembled& assembled) {
    for (const Value& value : assembled.program.values()) {
      if (value.role != Role::Constant || seen[value.tensor]) continue;
      seen[value.tensor] = true;
      Input& input = undeclared_.emplace_back();
      input.tensor = objects.tensors[value.tensor];
      input.index = value.tensor;
      input.kind = Input::Kind::Constant;
      input.is_constant = true;
      input.version = input.tensor.state()->version;
      input.bound_batch = batch_;
      input.is_on_device = true;
    }
  };
  for (const auto* program : main.programs()) add(program->assembled);
}

void Inputs::add_positions() {
  const auto ranges = find_index_inputs(graph_->program);
  const auto add = [&](Input& input) {
    const auto range = ranges.find(input.index);
    if (range != ranges.end()) input.positions = range->second;
  };
  for (auto& [name, input] : declared_) add(input);
  for (Input& input : undeclared_) add(input);
}

void Inputs::notice_host_data() {
  const auto notice = [&](Input& input) {
    const std::uint64_t version = input.tensor.state()->version.load();
    if (version == input.version) return;
    input.version = version;
    input.is_kept = false;
    input.bound_batch = std::max<std::int64_t>(batch_, 1);
    input.is_on_device = false;
    input.is_in_range = false;
  };
  for (auto& [name, input] : declared_) notice(input);
  for (Input& input : undeclared_) notice(input);
}

bool Inputs::has_bound_labels() const {
  return std::ranges::all_of(declared_, [](const auto& entry) {
    const Input& input = entry.second;
    return !input.is_label() || input.bound_batch > 0 || input.source ||
           input.is_constant;
  });
}

void Inputs::bind(DataList data, const TensorMap& named, std::int64_t batch) {
  ++calls_;
  notice_host_data();
  for (const NamedData& item : data) {
    Input& input = check_bound(item, named, batch);
    if (input.kept.bytes) continue;
    input.kept = allocate_host(input.tensor.descriptor().size_bytes());
  }
  // Nothing fails from here on.
  for (const NamedData& item : data) {
    Input& input = *find_bound(item.name, named);
    std::memcpy(input.kept.bytes, item.data.bytes,
                bytes_of(input.tensor, batch));
    const bool is_batched = input.tensor.batch_axis().has_value();
    input.is_kept = true;
    input.is_in_range = true;  // check_bound() has looked
    input.bound_batch = is_batched ? batch : std::max<std::int64_t>(batch_, 1);
    input.is_on_device = false;
  }
}

/// Data of a call and of bind_and_write_data() is looked at when it is given;
/// what Tensor::set_data() has set, once, here.
void Inputs::require_bound_in_range(const char* call, Input& input) {
  const bool is_elsewhere =
      input.source || input.is_upstream || input.is_variable;
  if (input.positions.empty() || input.is_in_range || is_elsewhere) return;
  const TensorDescriptor desc = at_batch(
      input.tensor, std::max<std::int64_t>(input.bound_batch, 1), batch_);
  const std::string name =
      input.name.empty() ? input.tensor.name() : input.name;
  const auto require = [&](const HostData& data) {
    const std::size_t bytes = std::min(data.size, desc.size_bytes());
    require_whole_in_range(call, name, desc, {data.bytes, bytes},
                           input.positions);
  };
  if (input.is_kept) {
    require(input.kept);
  } else {
    const TensorState& tensor = *input.tensor.state();
    std::scoped_lock lock(tensor.mutex);
    require(tensor.data);
  }
  input.is_in_range = true;
}

/// Another graph may train what is a constant or bound here.
void Inputs::take_newest(Input& input) {
  const bool is_hosts = !input.is_kept && !input.source && !input.is_upstream;
  if (!is_hosts || input.is_variable) return;
  if (!input.tensor.state()->is_kept_on_device) return;
  refresh_host(input.tensor, Waiting::Through);
  input.is_on_device = false;
}

bool Inputs::is_given(const Input& input, bool skips_writing) const {
  return !skips_writing && input.last_call == calls_;
}

void Inputs::require_data(const Call& call) {
  for_each_read(call.entry_point, [&](Input& input) {
    const bool is_there = is_given(input, call.skips_writing) || input.source ||
                          input.is_upstream || input.is_constant ||
                          input.serves(call.batch);
    if (is_there) {
      if (!is_given(input, call.skips_writing)) {
        take_newest(input);
        require_bound_in_range(call.name, input);
      }
      require_rows_in_range(call, input);
      return;
    }
    const bool is_gradient = input.kind == Input::Kind::UserGradient;
    const std::string name = is_gradient ? input.tensor.name() : input.name;
    throw InvalidArgument(ErrorInfo{
        .op = call.name,
        .node = name,
        .what =
            input.is_label() ? "there is no label data" : "there is no data",
        .expected = "data for \"" + name + "\"",
        .got = input.bound_batch == 0
                   ? "none in this call, and none that is bound"
                   : "a batch of " + std::to_string(input.bound_batch) +
                         " that is bound",
        .hint = is_gradient || input.is_variable
                    ? "Call bind_and_write_data(), or the tensor's set_data(), "
                      "before."
                    : "Pass it in this call, or call bind_and_write_data(). "
                      "Data of an earlier call counted for that one only."});
  });
}

void Inputs::stage(const Call& call, HostWriter& writer, ExecutionState&) {
  if (!call.skips_writing) {
    const CallData& data = call.data;
    write_list(writer, data.inputs, Input::Kind::Input, call.batch);
    write_list(writer, data.labels, Input::Kind::Label, call.batch);
    write_list(writer, data.label_weights, Input::Kind::LabelWeight,
               call.batch);
  }
  for_each_read(call.entry_point, [&](Input& input) {
    const bool has_other_data = is_given(input, call.skips_writing) ||
                                input.source || input.is_upstream ||
                                input.is_variable;
    if (has_other_data || input.is_on_device) return;
    write_bound(writer, input);
  });
}

void Inputs::write_list(HostWriter& writer, DataList data, Input::Kind kind,
                        std::int64_t batch) {
  for (const NamedData& item : data) {
    Input& input = *find(item.name, kind);
    input.is_on_device = false;
    writer.write(input.index, item.data.bytes, bytes_of(input.tensor, batch));
  }
}

/// Whatever the batch that runs: a larger one may follow.
void Inputs::write_bound(HostWriter& writer, Input& input) {
  input.written_call = calls_;
  const std::size_t size = bytes_of(input.tensor, input.bound_batch);
  if (input.is_kept) return writer.write(input.index, input.kept.bytes, size);
  std::byte* const room = writer.room_for(input.index, size);
  if (!room) return;
  const TensorState& tensor = *input.tensor.state();
  std::scoped_lock lock(tensor.mutex);
  std::memcpy(room, tensor.data.bytes, std::min(size, tensor.data.size));
}

void Inputs::commit(const Call& call,
                    const std::shared_ptr<ExecutionState>&) noexcept {
  for_each_read(call.entry_point, [&](Input& input) {
    if (input.written_call == calls_) {
      const bool is_gradient = input.kind == Input::Kind::UserGradient;
      input.is_on_device = !(is_linked_ && is_gradient);
    }
    const bool is_forward = call.entry_point != EntryPoint::Gradient;
    if (is_forward && input.source) input.seen_runs = input.source->runs;
  });
}

}  // namespace traingraph
