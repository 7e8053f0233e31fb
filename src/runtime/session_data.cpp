// SPDX-License-Identifier: MIT
// Which data an execution runs on: its own, which counts for that call alone,
// or what is bound. What is bound stays on the host; it is written to the
// device by the next execution that needs it there, and again when one with
// data of its own came between.
#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/device_wait.h"
#include "runtime/session.h"
#include "traingraph/error.h"

namespace traingraph {

/// What executions of a segment read.
template <class Action>
void Session::for_each_read(Segment segment, const Action& action) {
  if (segment == Segment::Update) return;
  for (auto& [name, input] : declared_) {
    if (segment == Segment::Gradient) break;
    const bool may_be_absent = segment == Segment::InferenceWithoutLabels;
    if (!may_be_absent || !input.is_label()) action(input);
  }
  const bool differentiates =
      segment == Segment::Step || segment == Segment::Gradient;
  for (Input& input : undeclared_) {
    const bool is_gradient = input.kind == Input::Kind::UserGradient;
    const bool is_read =
        is_gradient ? differentiates : segment != Segment::Gradient;
    if (is_read) action(input);
  }
}

void Session::collect_inputs(std::int64_t batch_before) {
  // What was bound stays bound, unless samples are counted otherwise now.
  auto before = std::exchange(declared_, {});
  auto undeclared_before = std::exchange(undeclared_, {});
  if (batch_before != batch_) {
    before.clear();
    undeclared_before.clear();
  }
  input_of_.clear();
  const auto add = [&](const TensorMap& map, Input::Kind kind) {
    for (const auto& [name, tensor] : map) {
      Input& input = declared_[name];
      const auto known = before.find(name);
      if (known != before.end() && known->second.tensor == tensor) {
        input = std::move(known->second);
      }
      input.name = name;
      input.tensor = tensor;
      input.kind = kind;
      input.is_on_device = false;
      input.is_constant = is_role(tensor, Role::Constant);
      input.is_variable = is_role(tensor, Role::Variable);
      input_of_.emplace(tensor.state().get(), &input);
    }
  };
  add(declaration_.inputs, Input::Kind::Input);
  add(declaration_.labels, Input::Kind::Label);
  add(declaration_.label_weights, Input::Kind::LabelWeight);
  for (const auto& user : declaration_.user_gradients) {
    if (user.is_boundary) continue;
    const auto known =
        std::ranges::find(undeclared_before, user.gradient, &Input::tensor);
    Input& input = known == undeclared_before.end()
                       ? undeclared_.emplace_back()
                       : undeclared_.emplace_back(std::move(*known));
    input.tensor = user.gradient;
    input.kind = Input::Kind::UserGradient;
    input.is_on_device = false;
  }
  collect_constants();
  for (Input& input : undeclared_) {
    input_of_.emplace(input.tensor.state().get(), &input);
  }
}

/// Their arena takes the host data; what is set later is written again.
void Session::collect_constants() {
  const auto add = [&](const Assembled& assembled) {
    for (const Value& value : assembled.program.values()) {
      if (value.role != Role::Constant || !value.tensor) continue;
      const Tensor tensor(value.tensor);
      if (std::ranges::count(undeclared_, tensor, &Input::tensor)) continue;
      Input& input = undeclared_.emplace_back();
      input.tensor = tensor;
      input.kind = Input::Kind::Constant;
      input.is_constant = true;
      input.version = value.tensor->version;
      input.bound_batch = batch_;
      input.is_on_device = true;
    }
  };
  const Compilation& compilation = main_->compilation;
  if (compilation.training) add(compilation.training->assembled);
  add(compilation.inference.assembled);
}

bool Session::is_role(const Tensor& tensor, Role role) const {
  const Compilation& compilation = main_->compilation;
  const auto is_in = [&](const Assembled& assembled) {
    const ValueId value = assembled.find(tensor);
    return value != kNoValue && assembled.program.value(value).role == role;
  };
  return is_in(compilation.inference.assembled) ||
         (compilation.training && is_in(compilation.training->assembled));
}

/// What Tensor::set_data() has set since the last call is what is bound now.
void Session::notice_host_data() {
  const auto notice = [&](Input& input) {
    const std::uint64_t version = input.tensor.state()->version.load();
    if (version == input.version) return;
    input.version = version;
    input.is_kept = false;
    input.bound_batch = std::max<std::int64_t>(batch_, 1);
    input.is_on_device = false;
  };
  for (auto& [name, input] : declared_) notice(input);
  for (Input& input : undeclared_) notice(input);
}

void Session::bind_and_write(DataList data, const TensorMap& inputs,
                             std::int64_t batch_size) {
  require_device_threads();  // who held the mutex is gone, too
  std::scoped_lock lock(mutex_);
  const char* call = "bind_and_write_data";
  require_compiled(call);
  const std::int64_t batch = check_batch(call, batch_size);
  ++calls_;
  notice_host_data();
  for (const NamedData& item : data) {
    Input& input = check_bound(item, inputs, batch);
    if (input.kept.bytes) continue;
    input.kept = allocate_host(input.tensor.descriptor().size_bytes());
  }
  // Nothing fails from here on.
  for (const NamedData& item : data) {
    Input& input = *find_bound(item.name, inputs);
    std::memcpy(input.kept.bytes, item.data.bytes,
                bytes_of(input.tensor, batch));
    const bool is_batched = input.tensor.shape()[0] == batch_;
    input.is_kept = true;
    input.bound_batch = is_batched ? batch : std::max<std::int64_t>(batch_, 1);
    input.is_on_device = false;
  }
}

bool Session::is_given(const Input& input, bool skips_writing) const {
  return !skips_writing && input.last_call == calls_;
}

void Session::require_data(const Call& call, bool skips_writing,
                           std::int64_t batch) {
  for_each_read(call.segment, [&](const Input& input) {
    const bool is_there = is_given(input, skips_writing) || input.source ||
                          input.is_fed || input.is_constant ||
                          (input.bound_batch >= batch && input.bound_batch > 0);
    if (is_there) return;
    const bool is_gradient = input.kind == Input::Kind::UserGradient;
    const std::string name = is_gradient ? input.tensor.label() : input.name;
    throw InvalidArgument(ErrorInfo{
        .op = call.name,
        .node = name,
        .what =
            input.is_label() ? "there is no label data" : "there is no data",
        .expected = "data for \"" + name + "\"",
        .got = input.bound_batch == 0
                   ? "none in this call, and none that is bound"
                   : "a smaller batch of " + std::to_string(input.bound_batch) +
                         " that is bound",
        .hint = is_gradient || input.is_variable
                    ? "Call bind_and_write_data() or Tensor::set_data() before."
                    : "Pass it in this call, or call bind_and_write_data(). "
                      "Data of an earlier call counted for that one only."});
  });
}

void Session::write_data(ExecutionState& slot, const Call& call,
                         bool skips_writing, std::int64_t batch) {
  if (!skips_writing) {
    write_list(slot, call.data.inputs, Input::Kind::Input, batch);
    write_list(slot, call.data.labels, Input::Kind::Label, batch);
    write_list(slot, call.data.label_weights, Input::Kind::LabelWeight, batch);
  }
  for_each_read(call.segment, [&](Input& input) {
    const bool has_other_data = is_given(input, skips_writing) ||
                                input.source || input.is_fed ||
                                input.is_variable;
    if (has_other_data || input.is_on_device) return;
    write_bound(slot, input);
  });
}

void Session::write_list(ExecutionState& slot, DataList data, Input::Kind kind,
                         std::int64_t batch) {
  for (const NamedData& item : data) {
    Input& input = *find_input(item.name, kind);
    input.is_on_device = false;
    write(slot, input.tensor, item.data.bytes, bytes_of(input.tensor, batch));
  }
}

/// Whatever the batch that runs: a larger one may follow.
void Session::write_bound(ExecutionState& slot, Input& input) {
  input.written_call = calls_;
  const std::size_t size = bytes_of(input.tensor, input.bound_batch);
  if (input.is_kept) {
    return write(slot, input.tensor, input.kept.bytes, size);
  }
  std::byte* const room = room_for(slot, input.tensor, size);
  if (!room) return;
  const TensorState& tensor = *input.tensor.state();
  std::scoped_lock lock(tensor.mutex);
  std::memcpy(room, tensor.data.bytes, std::min(size, tensor.data.size));
}

/// The call will run: what it wrote is on the device.
void Session::mark_written(const Call& call) noexcept {
  for_each_read(call.segment, [&](Input& input) {
    if (input.written_call == calls_) {
      // Graphs of a link may write over each other's user gradients.
      const bool is_gradient = input.kind == Input::Kind::UserGradient;
      input.is_on_device = !(link_ && is_gradient);
    }
    const bool is_forward = call.segment != Segment::Gradient;
    if (is_forward && input.source) input.seen_runs = input.source->runs;
  });
}

}  // namespace traingraph
