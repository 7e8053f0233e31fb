// SPDX-License-Identifier: MIT
// Kernels of our own: does Metal compile them, and do they give what the same
// source gives as C++?
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "formulas/random.h"
#import "metal/compile_kernels.h"
#include "metal/kernels/dropout.h"
#include "metal/kernels/sources.h"
#include "tests/metal_probes/kernel_reference.h"
#import "tests/metal_probes/lab.h"
#include "tests/metal_probes/probe.h"

namespace traingraph::metal::probes {
namespace {

using Pipeline = ObjcPtr<id<MTLComputePipelineState>>;

constexpr int kFirstUpdate = static_cast<int>(kFirstUpdateKernel);

/// As gpu_device.mm compiles them.
std::string source_of(int kernel) {
  if (kernel >= kFirstUpdate) return kUpdateSource;
  return std::string(kDropoutSource) + kStatisticsSource;
}

std::string problem_of(int first, int last) {
  std::vector<Pipeline> pipelines(static_cast<std::size_t>(last - first));
  return compile_kernels(machine().metal.get(), source_of(first),
                         std::span(kKernelNames).subspan(first, last - first),
                         pipelines);
}

std::string answer_of(const std::string& problem) {
  return problem.empty() ? "yes" : "no: " + problem;
}

std::string compiles_others() { return answer_of(problem_of(0, kFirstUpdate)); }
std::string compiles_updates() {
  return answer_of(problem_of(kFirstUpdate, kNumKernels));
}

Pipeline pipeline_of(Kernel kernel) {
  const int index = static_cast<int>(kernel);
  Pipeline pipeline;
  const std::string problem = compile_kernels(
      machine().metal.get(), source_of(index),
      std::span(kKernelNames).subspan(index, 1), std::span(&pipeline, 1));
  if (!problem.empty()) {
    [NSException raise:@"Metal" format:@"%s", problem.c_str()];
  }
  return pipeline;
}

ObjcPtr<id<MTLBuffer>> buffer_of(const void* bytes, std::size_t count) {
  // Metal makes none of nothing.
  auto buffer = make_buffer(std::max<std::size_t>(count, 16));
  if (count > 0) std::memcpy([buffer.get() contents], bytes, count);
  return buffer;
}

/// setBytes: `tables`, behind the buffers.
struct Bytes {
  const void* data;
  std::size_t count;
};

void launch(Kernel kernel, const std::vector<ObjcPtr<id<MTLBuffer>>>& buffers,
            const std::vector<Bytes>& tables, std::size_t num_threads) {
  const Pipeline pipeline = pipeline_of(kernel);
  MPSCommandBuffer* commands =
      [MPSCommandBuffer commandBufferFromCommandQueue:machine().queue.get()];
  id<MTLComputeCommandEncoder> compute = [commands computeCommandEncoder];
  [compute setComputePipelineState:pipeline.get()];
  NSUInteger index = 0;
  for (const auto& buffer : buffers) {
    [compute setBuffer:buffer.get() offset:0 atIndex:index++];
  }
  for (const Bytes& table : tables) {
    [compute setBytes:table.data length:table.count atIndex:index++];
  }
  const std::size_t threads = std::min<std::size_t>(
      256, [pipeline.get() maxTotalThreadsPerThreadgroup]);
  [compute dispatchThreadgroups:MTLSizeMake(
                                    (num_threads + threads - 1) / threads, 1, 1)
          threadsPerThreadgroup:MTLSizeMake(threads, 1, 1)];
  [compute endEncoding];
  commit_and_wait(commands);
}

void run_on_gpu(UpdateRun& run) {
  std::vector<ObjcPtr<id<MTLBuffer>>> buffers;
  for (const Numbers& memory : run.memory) {
    buffers.push_back(buffer_of(memory.data(), memory.size() * sizeof(float)));
  }
  launch(run.kernel, buffers,
         {{&run.call, sizeof(run.call)},
          {run.tensors.data(),
           run.tensors.size() * sizeof(formulas::UpdateTensor)}},
         run.num_threads);
  for (int b = 0; b < kNumUpdateBuffers; ++b) {
    run.memory[b] = numbers_in(buffers[b].get(), run.memory[b].size());
  }
}

/// Numbers from -1 to 1 that look like any others.
Numbers mixed(std::size_t count, std::uint64_t seed) {
  Numbers numbers;
  for (std::size_t i = 0; i < count; ++i) {
    numbers.push_back(
        2 * formulas::to_unit_float(
                formulas::dropout_block({.seed = seed}, i).words[0]) -
        1);
  }
  return numbers;
}

Numbers magnitudes(std::size_t count, std::uint64_t seed) {
  Numbers numbers = mixed(count, seed);
  for (float& number : numbers) number = std::abs(number);
  return numbers;
}

/// Two tensors in one launch, the first of which ends within a chunk.
UpdateRun prepared_run(Kernel kernel, std::uint32_t options) {
  constexpr std::uint32_t kCounts[] = {1500, 700};
  constexpr std::size_t kGap = 5, kAll = kCounts[0] + kGap + kCounts[1];
  UpdateRun run;
  run.kernel = kernel;
  run.call = {.params = {.options = options,
                         .lr_scale = 0.75F,
                         .rescale = 1.25F,
                         .clip_min = -0.6F,
                         .clip_max = 0.7F,
                         .strength = 0.01F,
                         .momentum = 0.9F,
                         .beta1 = 0.9F,
                         .beta2 = 0.999F,
                         .epsilon = 1e-8F},
              .num_tensors = 2};
  const std::size_t second = kCounts[0] + kGap;
  run.tensors = {{.count = kCounts[0]},
                 {.parameter = second,
                  .gradient = second,
                  .slots = {second, second, second},
                  .first_chunk = 2,
                  .count = kCounts[1]}};
  run.num_threads = 3 * formulas::kThreadsPerChunk;
  run.memory[kUpdatedParameter] = mixed(kAll, 1);
  run.memory[kUpdateGradient] = mixed(kAll, 2);
  const bool is_adam = kernel == Kernel::AdamUpdate;
  run.memory[kUpdateSlots] = is_adam ? mixed(kAll, 3) : magnitudes(kAll, 3);
  if (kernel == Kernel::RmspropUpdate) {
    // More than the square of an average: the difference of the two, where
    // these cancel out, would make much of rounding.
    for (float& square : run.memory[kUpdateSlots]) square += 1.5F;
  }
  run.memory[kUpdateSlots + 1] = magnitudes(kAll, 4);
  run.memory[kUpdateSlots + 2] = magnitudes(kAll, 5);
  run.memory[kUpdateHyperparameters] = {0.05F, 0.03F, 1, 0};
  run.memory[kUpdateScale] = {0.5F};
  // Where fast math goes other ways.
  run.memory[kUpdateGradient][7] = std::numeric_limits<float>::quiet_NaN();
  run.memory[kUpdateGradient][8] = -std::numeric_limits<float>::infinity();
  run.memory[kUpdateGradient][9] = -0.0F;
  run.memory[kUpdatedParameter][10] = 0;
  run.memory[kUpdateSlots][11] = 0;  // a variance below 0, where there is one
  run.memory[kUpdateSlots + 2][11] = 1;
  return run;
}

/// All numbers here are of the size of 1: what rounding explains.
constexpr float kTolerance = 1e-5F;

struct Difference {
  float largest = 0;
  bool has_bits = true;
  std::string wrong;  // the first
};

void compare(const UpdateRun& got, const UpdateRun& expected,
             const std::string& what, Difference& difference) {
  static constexpr const char* kNames[] = {
      "parameter", "gradient",        "slot 1", "slot 2",
      "slot 3",    "hyperparameters", "scale"};
  for (int b = 0; b < kNumUpdateBuffers; ++b) {
    for (std::size_t i = 0; i < expected.memory[b].size(); ++i) {
      const float x = got.memory[b][i], y = expected.memory[b][i];
      if (std::isnan(x) && std::isnan(y)) continue;
      if (std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y)) {
        continue;
      }
      difference.has_bits = false;
      const float distance = std::abs(x - y);
      if (distance <= kTolerance * std::max(1.0F, std::abs(y))) {
        difference.largest = std::max(difference.largest, distance);
      } else if (difference.wrong.empty()) {
        difference.wrong = what + ", " + kNames[b] + '[' + std::to_string(i) +
                           "] is " + text(x) + ", not " + text(y);
      }
    }
  }
}

using Variants = std::vector<std::pair<const char*, std::uint32_t>>;

std::string like_host(Kernel kernel, const Variants& variants) {
  Difference difference;
  for (const auto& [name, options] : variants) {
    UpdateRun got = prepared_run(kernel, options), expected = got;
    run_on_gpu(got);
    run_on_host(expected);
    compare(got, expected, name, difference);
  }
  if (!difference.wrong.empty()) return "wrong: " + difference.wrong;
  if (difference.has_bits) return "the same bits";
  return "rounded otherwise, by " + text(difference.largest) + " at most";
}

std::string sgd() {
  return like_host(
      Kernel::SgdUpdate,
      {{"plain", 0},
       {"clipped, L1",
        formulas::kHasScale | formulas::kClipsByValue | formulas::kL1},
       {"momentum, L2", formulas::kL2 | formulas::kMomentum},
       {"Nesterov", formulas::kMomentum | formulas::kNesterov}});
}

std::string adam() {
  return like_host(
      Kernel::AdamUpdate,
      {{"plain", 0},
       {"clipped, L2",
        formulas::kHasScale | formulas::kClipsByValue | formulas::kL2},
       {"AMSGrad, L1", formulas::kL1 | formulas::kAmsgrad},
       {"AdamW", formulas::kDecoupledDecay}});
}

std::string rmsprop() {
  return like_host(
      Kernel::RmspropUpdate,
      {{"plain", 0},
       {"clipped, L1",
        formulas::kHasScale | formulas::kClipsByValue | formulas::kL1},
       {"momentum, L2", formulas::kL2 | formulas::kMomentum},
       {"centered, momentum", formulas::kMomentum | formulas::kCentered}});
}

/// Hyperparameters are factors: of what is there, and of what is added.
std::string sums() {
  Difference difference;
  for (const float keep : {0.0F, 1.0F}) {
    UpdateRun got = prepared_run(Kernel::AccumulateGradient, 0);
    got.memory[kUpdateHyperparameters] = {keep, 0.3F};
    got.memory[kUpdatedParameter][20] = std::numeric_limits<float>::quiet_NaN();
    UpdateRun expected = got;
    run_on_gpu(got);
    run_on_host(expected);
    compare(got, expected, keep == 0 ? "a new sum" : "a sum", difference);
  }
  if (!difference.wrong.empty()) return "wrong: " + difference.wrong;
  return difference.has_bits
             ? "the same bits"
             : "rounded otherwise, by " + text(difference.largest) + " at most";
}

/// A velocity of 1e-42 is a step of the whole rate, or of none.
std::string tiny_gradients() {
  UpdateRun run = prepared_run(Kernel::AdamUpdate, 0);
  run.memory[kUpdateSlots + 1][3] = 0;
  run.memory[kUpdateGradient][3] = 1e-20F;
  run_on_gpu(run);
  return run.memory[kUpdateSlots + 1][3] == 0 ? "0" : "kept";
}

std::string dropout_bits() {
  constexpr std::uint64_t kSeed = 0x123456789abcdef0, kStep = 77;
  constexpr std::uint32_t kStream = 3;
  constexpr std::size_t kCount = 4001;
  constexpr float kRate = 0.3F;
  const formulas::RandomState state{.seed = kSeed, .step = kStep};
  const formulas::DropoutCall call{
      .stream = kStream, .rate = kRate, .scale = 2, .count = kCount};
  const auto words = buffer_of(&state, sizeof(state));
  const auto mask = make_buffer(kCount);
  launch(Kernel::DropoutMask, {words, mask}, {{&call, sizeof(call)}},
         (kCount + 3) / 4);
  const auto* got = static_cast<const std::uint8_t*>([mask.get() contents]);
  for (std::size_t i = 0; i < kCount; ++i) {
    const auto block = formulas::dropout_block({kSeed, kStep, kStream}, i / 4);
    const bool is_kept = formulas::is_kept(block.words[i % 4], kRate);
    if (got[i] != (is_kept ? 1 : 0)) {
      return "wrong from element " + std::to_string(i);
    }
  }
  return "the same bits";
}

}  // namespace

std::vector<Probe> kernel_probes() {
  const Remedy by_mps_graph = {
      .constant = "uses_update_kernels",
      .value = "false, by limits_of(), for this system",
      .text = "then updates are MPSGraph's, with copies of variables"};
  const Beginnings like_host = {"the same bits", "rounded otherwise"};
  return {
      {.name = "kernels_compile",
       .question = "Metal compiles the kernels of dropout and statistics",
       .answer = compiles_others,
       .weight = Weight::Reliance,
       .expected = {"yes"},
       .remedy = {.text = "without them there is no GPU: metal/kernels/"
                          "dropout.metal or metal/kernels/statistics.metal "
                          "has to be what this compiler takes"}},
      {.name = "update_kernels_compile",
       .question = "Metal compiles the update kernels",
       .answer = compiles_updates,
       .weight = Weight::Chance,
       .expected = {"yes"},
       .remedy = {.text = "updates are MPSGraph's here, with copies of "
                          "variables: metal/kernels/update.metal has to be "
                          "what this compiler takes"}},
      {.name = "dropout_kernel",
       .question = "the dropout kernel against the CPU's mask",
       .answer = dropout_bits,
       .weight = Weight::Reliance,
       .expected = {"the same bits"},
       .remedy = {.text = "metal/kernels/dropout.metal has to give the words "
                          "of src/formulas/random.h"}},
      {.name = "update_sgd",
       .question = "the SGD kernel against its source as C++",
       .answer = sgd,
       .weight = Weight::Reliance,
       .expected = like_host,
       .remedy = by_mps_graph},
      {.name = "update_adam",
       .question = "the Adam kernel against its source as C++",
       .answer = adam,
       .weight = Weight::Reliance,
       .expected = like_host,
       .remedy = by_mps_graph},
      {.name = "update_rmsprop",
       .question = "the RMSProp kernel against its source as C++",
       .answer = rmsprop,
       .weight = Weight::Reliance,
       .expected = like_host,
       .remedy = by_mps_graph},
      {.name = "update_sums",
       .question = "the kernel that adds up gradients against its source as "
                   "C++",
       .answer = sums,
       .weight = Weight::Reliance,
       .expected = like_host,
       .remedy = by_mps_graph},
      {.name = "update_tiny",
       .question = "Adam's velocity of a gradient of 1e-20 is",
       .answer = tiny_gradients,
       .expected = {"0", "kept"}},
  };
}

}  // namespace traingraph::metal::probes
