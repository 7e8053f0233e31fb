// SPDX-License-Identifier: MIT
#include "runtime/device/verifying_context.h"

#include <algorithm>
#include <map>

#include "base/visit_type.h"
#include "graph/op_def.h"
#include "graph/stored_floats.h"
#include "runtime/device/blocking_submission.h"
#include "runtime/device/queue_thread.h"
#include "runtime/device/verified_units.h"

namespace traingraph {
namespace {

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
    all.joins_phases = false;  // units are compared one by one
    lowered.data = std::make_shared<ReferenceProgram>(
        program, reference_.lower(program, all));
    return lowered;
  }

 private:
  const Target& device_;
  const Target& reference_;
};

std::vector<float> floats_of(DeviceContext& context,
                             const TensorDescriptor& desc, Location at) {
  std::vector<std::byte> bytes(desc.size_bytes());
  context.download(at, bytes);
  return upcast(bytes, desc.data_type);
}

/// The largest power of two that is lost when it is added to 1.
template <class T>
double rounding() {
  float x = 0.5f;
  while (static_cast<float>(T(1 + x)) != 1) x /= 2;
  return x;
}

/// Tensors of few bits differ by their rounding at least.
double tolerance_of(DataType type, double tolerance) {
  if (!is_half(type)) return tolerance;
  constexpr double kUnits = 8;
  return visit_float_type(type, [&]<class T>(T) {
    return std::max(tolerance, kUnits * rounding<T>());
  });
}

/// Terms that cancel leave noise whose size has to do with them, not with the
/// sum: a tensor of noise is measured by others of its phase and type, those
/// before it. Sums of 16 bits have more of it, beside a tolerance of few
/// roundings, and may overflow until the scale of the loss has found its place.
struct Noise {
  bool has_16_bits = false;
  std::map<std::pair<Phase, DataType>, double> largest = {};

  double scale_of(const ComparedTensor& tensor, std::span<const float> values) {
    const double own = largest_magnitude(values);
    double& others = largest[{tensor.phase, tensor.desc.data_type}];
    others = std::max(others, own);
    return std::max(own, (has_16_bits ? 0.25 : 0.03) * others);
  }
};

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
  std::shared_ptr<DeviceBuffer> wrap(const DeviceSource& source) override {
    return device_->wrap(source);
  }
  std::byte* host_view(Location at) const override {
    return device_->host_view(at);
  }
  std::unique_ptr<BoundUnits> bind(
      const LoweredProgram& program, std::span<const UnitId> units,
      std::span<const Location> locations,
      std::span<const std::vector<PoisonRange>> poison,
      std::span<const Mark> marks) override;
  void submit(Submission& submission) override { queue_.submit(submission); }
  std::exception_ptr loss() const override { return device_->loss(); }
  void drain() override { queue_.drain(); }
  void close() override { queue_.close(); }
  const DeviceContext& device() const override { return device_->device(); }

 private:
  void process(Submission& submission);
  double run(Submission& submission);
  void give(std::span<const GivenTensor> tensors);
  void compare(std::span<const VerifiedTensor> tensors, Noise& noise);
  void allocate(ReferenceProgram& reference);

  std::shared_ptr<DeviceContext> device_, reference_;
  double tolerance_;
  VerifyingTarget target_;
  QueueThread queue_;  // last: its thread uses what is above
};

void VerifyingContext::allocate(ReferenceProgram& reference) {
  if (!reference.buffers.empty()) return;
  std::vector<std::shared_ptr<DeviceBuffer>> buffers;
  for (const Storage& storage : reference.lowered.storages) {
    buffers.push_back(reference_->allocate(storage.bytes, storage.name));
  }
  reference.buffers = std::move(buffers);
}

std::unique_ptr<BoundUnits> VerifyingContext::bind(
    const LoweredProgram& program, std::span<const UnitId> units,
    std::span<const Location> locations,
    std::span<const std::vector<PoisonRange>> poison,
    std::span<const Mark> marks) {
  auto& reference = static_cast<ReferenceProgram&>(*program.data);
  allocate(reference);
  auto verified =
      verify_units(program, units, locations, reference, *reference_);
  verified->device = device_->bind(program, units, locations, poison, marks);
  return verified;
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
  supply.copies = submission.copies;
  supply.run(*device_);
  if (auto error = submission.blocked()) std::rethrow_exception(error);
  const auto* units = static_cast<const VerifiedUnits*>(submission.work);
  if (units) give(units->given);
  BlockingSubmission work;
  work.work = units ? units->device.get() : nullptr;
  work.downloads = submission.downloads;
  work.unit_seconds = submission.unit_seconds;
  const double seconds = work.run(*device_);
  if (!units) return seconds;
  Noise noise{.has_16_bits = units->has_16_bits};
  for (const VerifiedUnit& unit : units->units) {
    give(unit.given);
    if (unit.reference) {
      BlockingSubmission check;
      check.work = unit.reference.get();
      check.run(*reference_);
    }
    compare(unit.compared, noise);
  }
  return seconds;
}

void VerifyingContext::give(std::span<const GivenTensor> tensors) {
  std::vector<std::byte> bytes;
  for (const auto& given : tensors) {
    bytes.resize(given.bytes);
    device_->download(given.from, bytes);
    reference_->upload(bytes, given.to);
  }
}

void VerifyingContext::compare(std::span<const VerifiedTensor> tensors,
                               Noise& noise) {
  const DeviceNames names{device_->target().name(),
                          reference_->target().name()};
  for (const auto& [tensor, got, expected] : tensors) {
    const std::vector<float> right =
        floats_of(*reference_, tensor.desc, expected);
    const double tolerance = tolerance_of(tensor.desc.data_type, tolerance_);
    require_close(tensor, floats_of(*device_, tensor.desc, got), right,
                  {.difference = tolerance * noise.scale_of(tensor, right),
                   .overflows = noise.has_16_bits},
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
