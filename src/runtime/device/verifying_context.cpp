// SPDX-License-Identifier: MIT
#include "runtime/device/verifying_context.h"

#include <algorithm>
#include <array>

#include "graph/op_def.h"
#include "runtime/device/blocking_submission.h"
#include "runtime/device/compare_tensors.h"
#include "runtime/device/queue_thread.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

/// The same program on the reference device, every storage with bytes of its
/// own that stay from one phase to the next.
class Reference final : public TargetData {
 public:
  Reference(const Program& program, LoweredProgram lowered)
      : lowered(std::move(lowered)) {
    for (const Node& node : program.nodes()) {
      for (ValueId value : node.outputs) add(program, value, node);
      for (int i = 0; i < static_cast<int>(node.inputs.size()); ++i) {
        const bool is_updated = node.inputs[i] != kNoValue && mutates(node, i);
        if (is_updated) add(program, node.inputs[i], node);
      }
    }
  }

  const LoweredProgram lowered;
  /// What can be compared, in program order.
  std::vector<ComparedTensor> tensors;
  /// By storage, all or none; allocated by the first execution.
  std::vector<std::shared_ptr<DeviceBuffer>> buffers;

 private:
  void add(const Program& program, ValueId id, const Node& node) {
    const Value& value = program.value(id);
    if (value.is_opaque || value.desc.data_type != DataType::Float32) return;
    if (lowered.storage_of[id] < 0) return;
    tensors.push_back(
        {id, value.desc.shape, value.name, node.name, node.phase});
  }
};

/// One segment, bound on both devices.
struct VerifiedUnits final : BoundUnits {
  std::unique_ptr<BoundUnits> device, reference;
  struct Given {
    Location from, to;  // the device's memory and the reference's
    std::size_t bytes;
  };
  struct Compared {
    const ComparedTensor* tensor;
    Location got, expected;
  };
  std::vector<Given> given;
  std::vector<Compared> compared;
};

class VerifyingTarget final : public Target {
 public:
  VerifyingTarget(const Target& device, const Target& reference)
      : device_(device), reference_(reference) {}
  std::string_view name() const override { return device_.name(); }
  std::size_t alignment() const override { return device_.alignment(); }
  std::size_t alignment_of(std::size_t bytes) const override {
    return device_.alignment_of(bytes);
  }
  bool joins_phases() const override { return device_.joins_phases(); }
  bool computes_in(DataType type) const override {
    return device_.computes_in(type) && reference_.computes_in(type);
  }
  bool computes(const Program& program, const Node& node) const override {
    return device_.computes(program, node) &&
           reference_.computes(program, node);
  }
  std::string reason_unsupported(const Program& program,
                                 const Node& node) const override {
    const std::string reason = device_.reason_unsupported(program, node);
    return reason.empty() ? reference_.reason_unsupported(program, node)
                          : reason;
  }
  LoweredProgram lower(const Program& program,
                       const LowerOptions& options) const override {
    LowerOptions all = options;
    all.fuses = false;
    for (ValueId v = 0; v < static_cast<ValueId>(program.values().size());
         ++v) {
      const Value& value = program.value(v);
      if (value.role == Role::Result && !value.is_opaque) all.kept.push_back(v);
    }
    LoweredProgram lowered = device_.lower(program, all);
    lowered.data =
        std::make_shared<Reference>(program, reference_.lower(program, all));
    return lowered;
  }

 private:
  const Target& device_;
  const Target& reference_;
};

std::vector<float> floats_of(DeviceContext& context,
                             const ComparedTensor& tensor, Location at) {
  std::vector<float> floats(
      static_cast<std::size_t>(tensor.shape.num_elements()));
  context.download(at, std::as_writable_bytes(std::span(floats)));
  return floats;
}

class VerifyingContext final : public DeviceContext {
 public:
  VerifyingContext(std::shared_ptr<DeviceContext> device,
                   std::shared_ptr<DeviceContext> reference, double tolerance)
      : device_(std::move(device)),
        reference_(std::move(reference)),
        tolerance_(tolerance),
        target_(device_->target(), reference_->target()),
        queue_([this](Submission& submission) { process(submission); }) {}

  DeviceType type() const override { return device_->type(); }
  std::string description() const override {
    return device_->description() + " verified by " + reference_->description();
  }
  std::vector<std::string> gpu_names() const override {
    return device_->gpu_names();
  }
  const Target& target() const override { return target_; }
  std::size_t engine_bytes() const override { return device_->engine_bytes(); }
  std::shared_ptr<DeviceBuffer> allocate(std::size_t bytes,
                                         std::string_view label) override {
    return device_->allocate(bytes, label);
  }
  std::shared_ptr<StagingBuffer> allocate_staging(
      std::size_t bytes, std::string_view label) override {
    return device_->allocate_staging(bytes, label);
  }
  std::byte* host_view(Location at) const override {
    return device_->host_view(at);
  }
  void host_wrote(Location at) const override { device_->host_wrote(at); }
  std::unique_ptr<BoundUnits> bind(
      const LoweredProgram& program, std::span<const UnitId> units,
      std::span<const Location> locations,
      std::span<const std::vector<PoisonRange>> poison) override;
  void submit(Submission& submission) override { queue_.submit(submission); }
  void drain() override { queue_.drain(); }
  void close() override { queue_.close(); }
  const DeviceContext& device() const override { return device_->device(); }

 private:
  void process(Submission& submission);
  double run(Submission& submission);
  void give(const VerifiedUnits& units);
  void compare(const VerifiedUnits& units);
  void allocate(Reference& reference);

  std::shared_ptr<DeviceContext> device_, reference_;
  double tolerance_;
  VerifyingTarget target_;
  QueueThread queue_;  // last: its thread uses what is above
};

void VerifyingContext::allocate(Reference& reference) {
  if (!reference.buffers.empty()) return;
  std::vector<std::shared_ptr<DeviceBuffer>> buffers;
  for (const Storage& storage : reference.lowered.storages) {
    buffers.push_back(reference_->allocate(storage.bytes, storage.name));
  }
  reference.buffers = std::move(buffers);
}

/// Units of the reference that compute what `units` of the device do.
std::vector<UnitId> same_units(const LoweredProgram& device,
                               std::span<const UnitId> units,
                               const LoweredProgram& reference) {
  std::vector<NodeId> nodes;
  for (UnitId id : units) {
    const Unit& unit = device.units[id];
    nodes.insert(nodes.end(), unit.nodes.begin(), unit.nodes.end());
  }
  std::ranges::sort(nodes);
  std::vector<UnitId> same;
  for (UnitId id = 0; id < static_cast<UnitId>(reference.units.size()); ++id) {
    const bool is_same = std::ranges::any_of(
        reference.units[id].nodes,
        [&](NodeId node) { return std::ranges::binary_search(nodes, node); });
    if (is_same) same.push_back(id);
  }
  return same;
}

std::unique_ptr<BoundUnits> VerifyingContext::bind(
    const LoweredProgram& program, std::span<const UnitId> units,
    std::span<const Location> locations,
    std::span<const std::vector<PoisonRange>> poison) {
  auto& reference = static_cast<Reference&>(*program.data);
  allocate(reference);
  auto bound = std::make_unique<VerifiedUnits>();
  bound->device = device_->bind(program, units, locations, poison);

  std::vector<Location> places;
  for (const auto& buffer : reference.buffers) {
    places.push_back({buffer.get(), 0});
  }
  const auto same = same_units(program, units, reference.lowered);
  bound->reference = reference_->bind(reference.lowered, same, places, {});

  const auto on_device = [&](ValueId value) {
    const StorageId storage = program.storage_of[value];
    return storage < 0 ? Location{} : locations[storage];
  };
  // Values may share a storage of the reference (a reshape and its source);
  // the last one is what the host may have edited.
  std::vector<Location> source(reference.lowered.storages.size());
  for (std::size_t v = 0; v < program.storage_of.size(); ++v) {
    const auto value = static_cast<ValueId>(v);
    const StorageId storage = reference.lowered.storage_of[value];
    const Location from = on_device(value);
    if (storage >= 0 && from.buffer) source[storage] = from;
  }
  std::vector<bool> is_written(reference.lowered.storages.size(), false);
  std::vector<bool> is_given = is_written;
  for (UnitId id : same) {
    const Unit& unit = reference.lowered.units[id];
    for (StorageId storage : unit.reads) {
      const Location& from = source[storage];
      if (is_written[storage] || is_given[storage] || !from.buffer) continue;
      bound->given.push_back(
          {from, places[storage], reference.lowered.storages[storage].bytes});
      is_given[storage] = true;
    }
    for (StorageId storage : unit.writes) is_written[storage] = true;
  }
  for (const ComparedTensor& tensor : reference.tensors) {
    const StorageId storage = reference.lowered.storage_of[tensor.value];
    const Location got = on_device(tensor.value);
    if (!got.buffer || !is_written[storage]) continue;
    bound->compared.push_back({&tensor, got, places[storage]});
  }
  return bound;
}

void VerifyingContext::process(Submission& submission) {
  std::exception_ptr error;
  double seconds = 0;
  try {
    seconds = run(submission);
  } catch (...) {
    error = std::current_exception();
  }
  submission.finished(std::move(error), seconds);
}

double VerifyingContext::run(Submission& submission) {
  submission.begin();
  BlockingSubmission supply;
  supply.uploads = submission.uploads;
  supply.run(*device_);
  if (auto error = submission.blocked()) std::rethrow_exception(error);
  const auto* units = static_cast<const VerifiedUnits*>(submission.work);
  if (units) give(*units);
  BlockingSubmission work;
  work.work = units ? units->device.get() : nullptr;
  work.downloads = submission.downloads;
  work.unit_seconds = submission.unit_seconds;
  const double seconds = work.run(*device_);
  if (!units) return seconds;
  BlockingSubmission check;
  check.work = units->reference.get();
  check.run(*reference_);
  compare(*units);
  return seconds;
}

void VerifyingContext::give(const VerifiedUnits& units) {
  std::vector<std::byte> bytes;
  for (const auto& given : units.given) {
    bytes.resize(given.bytes);
    device_->download(given.from, bytes);
    reference_->upload(bytes, given.to);
  }
}

void VerifyingContext::compare(const VerifiedUnits& units) {
  // Terms that cancel leave noise whose size has to do with them, not with the
  // sum: a tensor of noise is measured by the others of its phase.
  constexpr double kNoise = 0.03;
  std::array<double, 3> largest_of_phase{};
  std::vector<double> largest;
  for (const auto& [tensor, got, at] : units.compared) {
    largest.push_back(largest_magnitude(floats_of(*reference_, *tensor, at)));
    double& of_phase = largest_of_phase[static_cast<int>(tensor->phase)];
    of_phase = std::max(of_phase, largest.back());
  }
  const DeviceNames names{device_->target().name(),
                          reference_->target().name()};
  for (std::size_t i = 0; i < units.compared.size(); ++i) {
    const auto& [tensor, got, expected] = units.compared[i];
    const double scale = std::max(
        largest[i], kNoise * largest_of_phase[static_cast<int>(tensor->phase)]);
    require_close(*tensor, floats_of(*device_, *tensor, got),
                  floats_of(*reference_, *tensor, expected), tolerance_ * scale,
                  names);
  }
}

}  // namespace

std::shared_ptr<DeviceContext> make_verifying_context(
    std::shared_ptr<DeviceContext> device,
    std::shared_ptr<DeviceContext> reference, double tolerance) {
  return std::make_shared<VerifyingContext>(std::move(device),
                                            std::move(reference), tolerance);
}

}  // namespace traingraph
