// SPDX-License-Identifier: MIT
#include "runtime/device/null_backend.h"

#include <mutex>

#include "graph/op_def.h"
#include "runtime/device/host_memory.h"
#include "runtime/device/queue_thread.h"

namespace traingraph {
namespace {

constexpr std::size_t kOpaqueBytes = 64;

std::mutex& hook_mutex() {
  static auto* mutex = new std::mutex;
  return *mutex;
}

NullHook& hook() {
  static auto* hook = new NullHook;
  return *hook;
}

struct NullCode : UnitCode {
  std::string op, node;
};

class NullUnits : public BoundUnits {
 public:
  using BoundUnits::BoundUnits;

  std::vector<const NullCode*> units;
};

class NullTarget : public Target {
 public:
  std::string_view name() const override { return "null"; }
  std::string reason_unsupported(const Program&, const Node&) const override {
    return {};
  }
  LoweredProgram lower(const Program& program,
                       const LowerOptions&) const override {
    LoweredProgram lowered;
    const auto num_values = static_cast<ValueId>(program.values().size());
    for (ValueId v = 0; v < num_values; ++v) {
      const Value& value = program.value(v);
      lowered.storage_of.push_back(v);
      lowered.storages.push_back(
          {value.is_opaque ? kOpaqueBytes : value.desc.size_bytes(),
           value.is_opaque ? kNoValue : v, value.name});
    }
    for (NodeId id = 0; id < static_cast<NodeId>(program.nodes().size());
         ++id) {
      const Node& node = program.node(id);
      lowered.units.push_back(node.op->is_host ? lower_host(node, id, lowered)
                                               : lower_node(node, id, lowered));
    }
    return lowered;
  }

 private:
  /// Results are the operands.
  static Unit lower_host(const Node& node, NodeId id, LoweredProgram& lowered) {
    Unit unit;
    unit.phase = node.phase;
    unit.nodes = {id};
    unit.is_host = true;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const StorageId storage = lowered.storage_of[node.inputs[i]];
      unit.reads.push_back(storage);
      if (i < node.outputs.size()) {
        lowered.storage_of[node.outputs[i]] = storage;
      }
    }
    unit.args = unit.writes = unit.reads;
    return unit;
  }

  static Unit lower_node(const Node& node, NodeId id,
                         const LoweredProgram& lowered) {
    Unit unit;
    unit.phase = node.phase;
    unit.nodes = {id};
    for (int i = 0; i < static_cast<int>(node.inputs.size()); ++i) {
      if (node.inputs[i] == kNoValue) continue;
      const StorageId storage = lowered.storage_of[node.inputs[i]];
      unit.reads.push_back(storage);
      if (mutates(node, i)) unit.writes.push_back(storage);
    }
    for (ValueId output : node.outputs) unit.writes.push_back(output);
    unit.args = unit.reads;
    unit.args.insert(unit.args.end(), node.outputs.begin(), node.outputs.end());
    auto code = std::make_unique<NullCode>();
    code->op = node.op->name;
    code->node = node.name;
    unit.code = std::move(code);
    return unit;
  }
};

void run(Submission& submission) {
  NullHook call;
  {
    std::scoped_lock lock(hook_mutex());
    call = hook();
  }
  const auto& units = static_cast<NullUnits&>(*submission.work).units;
  Marks marks(submission);
  for (std::size_t i = 0; i < units.size(); ++i) {
    marks.before(i);
    if (call) call(units[i]->op, units[i]->node);
  }
  marks.before(units.size());
}

class NullContext final : public HostMemoryContext {
 public:
  NullContext() : queue_([](Submission& s) { run_on_host(s, run); }) {}
  DeviceType type() const override { return DeviceType::Null; }
  std::string description() const override { return "null"; }
  const Target& target() const override { return target_; }
  std::unique_ptr<BoundUnits> bind(const LoweredProgram& program,
                                   std::span<const UnitId> units,
                                   std::span<const Location>,
                                   std::span<const std::vector<PoisonRange>>,
                                   std::span<const Mark> marks) override {
    auto bound = std::make_unique<NullUnits>(units.size(), marks);
    for (UnitId id : units) {
      bound->units.push_back(
          static_cast<const NullCode*>(program.units[id].code.get()));
    }
    return bound;
  }
  void submit(Submission& submission) override {
    queue_.submit(submission, submission.is_awaited);
  }
  void help(Submission& submission) override { queue_.help(submission); }
  void drain() override { queue_.drain(); }
  void close() override { queue_.close(); }

 private:
  NullTarget target_;
  QueueThread queue_;
};

}  // namespace

std::shared_ptr<DeviceContext> make_null_context() {
  return std::make_shared<NullContext>();
}

void set_null_hook(NullHook new_hook) {
  std::scoped_lock lock(hook_mutex());
  hook() = std::move(new_hook);
}

}  // namespace traingraph
