// SPDX-License-Identifier: MIT
// Optimizer updates in place: what kernels are launched, and on what. Tensors
// that take the same update from the same buffers share a launch, whose table
// says where each of them is. Plain C++, tested everywhere.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "graph/program.h"
#include "metal/kernels/kernels.h"

namespace traingraph::metal {

/// The kernels declare the same structs.
struct UpdateParams {
  std::uint32_t num_tensors = 0;
  std::uint32_t options = 0;
  float lr_scale = 1, rescale = 1, clip_min = 0, clip_max = 0;
  float strength = 0, momentum = 0, beta1 = 0, beta2 = 0, epsilon = 0;
  bool operator==(const UpdateParams&) const = default;
};
struct UpdateTensor {
  std::uint64_t parameter = 0, gradient = 0, slots[3] = {}, hyperparameters = 0,
                scale = 0;
  std::uint32_t first_chunk = 0, count = 0;
};

/// What an update reads and writes, in the order of the kernels' buffers; then
/// come UpdateParams and the table of UpdateTensors. An accumulator is a
/// parameter; its factors are in the place of the hyperparameters.
enum UpdateBuffer {
  kParameter,
  kGradient,
  kSlot1,
  kSlot2,
  kSlot3,
  kHyperparameters,
  kScale,
  kNumUpdateBuffers
};

/// Elements that 256 threads take.
inline constexpr std::int64_t kUpdateChunk = 1024;
inline constexpr std::size_t kUpdateChunkThreads = 256;
/// What setBytes takes.
inline constexpr std::size_t kMaxTableBytes = 4096;
inline constexpr std::size_t kMaxUpdateTensors =
    kMaxTableBytes / sizeof(UpdateTensor);
/// Positions of threads are 32 bits.
inline constexpr std::int64_t kMaxUpdateChunks = std::int64_t{1} << 23;

/// Does a kernel here compute the node? Updates by float32 gradients, and sums
/// of these.
bool has_update_kernel(const Program& program, const Node& node);

/// A node that has one. `inputs` are the node's, by UpdateBuffer; -1: none.
struct UpdateRule {
  Kernel kernel = Kernel::SgdUpdate;
  UpdateParams params;  // but for num_tensors
  std::array<int, kNumUpdateBuffers> inputs;
  std::int64_t count = 0;  // of elements
};
UpdateRule update_rule(const Program& program, const Node& node);

/// A rule with memory. Buffers are numbers, whatever they stand for; -1: none.
struct UpdateTask {
  struct Place {
    int buffer = -1;
    std::size_t offset = 0;  // in bytes
  };
  UpdateRule rule;
  std::array<Place, kNumUpdateBuffers> places;
};

struct UpdateLaunch {
  Kernel kernel = Kernel::SgdUpdate;
  UpdateParams params;
  std::vector<UpdateTensor> tensors;
  std::array<int, kNumUpdateBuffers> buffers;
  std::int64_t num_chunks = 0;
};

/// Plans few launches: accumulators, which updates may read, come first.
/// Updates are independent of each other, as are accumulators.
std::vector<UpdateLaunch> plan_updates(std::span<const UpdateTask> tasks);

#define TRAINGRAPH_MSL(...) #__VA_ARGS__
/// Contracted to fused multiply-adds, which compile options do not prevent,
/// formulas would round otherwise than on the CPU.
inline constexpr char kUpdateSource[] =
    "#include <metal_stdlib>\n"
    "using namespace metal;\n"
    "#pragma METAL fp contract(off)\n"
#include "metal/kernels/update.metal"
    "\n";
#undef TRAINGRAPH_MSL

}  // namespace traingraph::metal
