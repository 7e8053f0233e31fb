// SPDX-License-Identifier: MIT
#include "traingraph/device.h"

#include <algorithm>
#include <utility>

#include "runtime/device/backend.h"
#include "runtime/device/device_context.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

DeviceType resolve(DeviceType type) {
  if (type != DeviceType::Any) return type;
  const bool has_gpu = unavailable_reason(DeviceType::GPU).empty();
  return has_gpu ? DeviceType::GPU : DeviceType::CPU;
}

void require_thread_count(const char* call, int count) {
  constexpr int kMax = 1024;
  if (count >= 1 && count <= kMax) return;
  throw InvalidArgument(
      ErrorInfo{.op = call,
                .what = "the number of threads is out of range",
                .expected = "1 to " + std::to_string(kMax),
                .got = std::to_string(count)});
}

std::string quoted(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    text += (text.empty() ? "\"" : ", \"") + name + "\"";
  }
  return text;
}

ErrorInfo gpus_error(const std::vector<std::string>& gpus, const char* what,
                     std::string expected, const char* hint) {
  return {.op = "with_gpu_devices",
          .node = {},
          .what = what,
          .expected = std::move(expected),
          .got = gpus.empty() ? "none" : quoted(gpus),
          .hint = hint};
}

}  // namespace

Device::Device(std::shared_ptr<DeviceContext> context)
    : type_(context->type()), context_(std::move(context)) {}

Device Device::cpu(int threads) {
  require_thread_count("device", threads);
  return Device(make_cpu_context(threads));
}

Device Device::with_gpu_devices(const std::vector<std::string>& gpus) {
  if (gpus.size() > 1) {
    throw UnsupportedError(
        gpus_error(gpus, "one graph does not run on several GPUs", "one GPU",
                   "Give one of them. To share work, compile a graph for each "
                   "device and mix their gradients: gradient_data(), "
                   "set_gradient_data()."));
  }
  const std::vector<std::string> names = gpu().gpu_devices();
  const auto found =
      gpus.empty() ? names.end() : std::ranges::find(names, gpus[0]);
  if (found == names.end()) {
    throw InvalidArgument(gpus_error(gpus, "there is no such GPU to use",
                                     names.empty() ? "a GPU" : quoted(names),
                                     "gpu_devices() lists what there is."));
  }
  return gpu(static_cast<int>(found - names.begin()));
}

Device Device::gpu(int index) {
  const Device first(DeviceType::GPU);  // throws where there is none
  if (index == 0) return first;
  const auto context =
      index < 0 ? nullptr : find_gpu_context(static_cast<std::size_t>(index));
  if (context) return Device(context);
  const auto count = first.gpu_devices().size();
  throw InvalidArgument(ErrorInfo{
      .op = "device",
      .node = "gpu",
      .what = "there is no GPU of this number",
      .expected = count == 1 ? "0" : "0 to " + std::to_string(count - 1),
      .got = std::to_string(index),
      .hint = "gpu_devices() lists what there is."});
}

Device::Device(DeviceType type, bool /*selects_multiple_compute_devices*/)
    : type_(type), context_(find_device_context(resolve(type))) {
  if (context_) return;
  throw DeviceError(ErrorInfo{
      .op = "device",
      .node = std::string(to_string(type)),
      .what = "the device is not available: " + reason_unavailable(type),
      .hint = "Use the device \"cpu\" or \"any\"."});
}

DeviceType Device::actual_device_type() const { return context_->type(); }

std::string Device::name() const { return context_->description(); }

std::vector<std::string> Device::gpu_devices() const {
  return context_->gpu_names();
}

bool Device::computes_in(DataType type) const {
  return context_->target().computes_in(type);
}

void Device::synchronize() const {
  drain_with_watchers(*context_);
  context_->require_not_lost("synchronize");
}

void Device::synchronize_all() { drain_all(); }

std::string Device::reason_unavailable(DeviceType type) {
  return unavailable_reason(resolve(type));
}

int num_threads() { return num_cpu_threads(); }

void set_num_threads(int count) {
  require_thread_count("set_num_threads", count);
  set_num_cpu_threads(count);
}

}  // namespace traingraph
