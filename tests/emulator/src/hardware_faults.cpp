// SPDX-License-Identifier: MIT
#include "hardware_faults.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string_view>

#include "element_types.h"

namespace emulator {
namespace {

std::mutex& mutex() {
  static std::mutex mutex;
  return mutex;
}

HardwareFaults& current() {
  static HardwareFaults faults;
  return faults;
}

void set(const HardwareFaults& faults) {
  std::lock_guard lock(mutex());
  current() = faults;
}

[[noreturn]] void end_process(const Node& node, const char* reason) {
  std::fprintf(stderr, "emulator: %s: %s\n", node.op.c_str(), reason);
  std::abort();
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool is_weight_gradient(const Node& node) {
  return contains(node.op, "WeightsGradient");
}

std::int64_t bytes_of(const Type& type) {
  return type.num_elements() *
         static_cast<std::int64_t>(element_size(type.data_type));
}

bool has_axes_of_1(const Type& type) {
  return std::ranges::count(type.shape, 1) > 1;
}

/// All axes but one are 1, as is the last.
bool is_column(const Type& type) {
  const Dims& dims = type.shape;
  const auto num_ones = static_cast<std::size_t>(std::ranges::count(dims, 1));
  return dims.size() > 1 && dims.back() == 1 && num_ones + 1 >= dims.size();
}

std::int64_t longest(const Dims& dims, std::size_t first = 0) {
  return *std::max_element(dims.begin() + static_cast<long>(first), dims.end());
}

}  // namespace

Imitation::Imitation(const HardwareFaults& faults) { set(faults); }
Imitation::~Imitation() { set({}); }

HardwareFaults hardware_faults() {
  std::lock_guard lock(mutex());
  return current();
}

std::size_t bytes_that_arrive(std::size_t bytes) {
  return std::min(bytes,
                  static_cast<std::size_t>(hardware_faults().max_blit_bytes));
}

Misbehaviour::Misbehaviour(const Plan& plan)
    : plan_(plan),
      faults_(hardware_faults()),
      producers_(plan.values.size(), nullptr) {
  for (const Node& node : plan.nodes) {
    if (node.is_placeholder()) continue;
    for (std::size_t value : node.results) producers_[value] = &node;
  }
}

void Misbehaviour::before(const Node& node) const {
  for (std::size_t value : node.results) {
    if (bytes_of(plan_.values[value]) > faults_.max_tensor_bytes) {
      end_process(node, "total bytes of the array");
    }
  }
  if (node.op == "matrixMultiplication") {
    for (std::size_t value : node.inputs) {
      if (faults_.ends_at_products_of_reshapes && is_reshape_of_ones(value)) {
        end_process(node, "pass manager failed");
      }
      if (faults_.ends_at_turned_bfloat16 && is_turned_bfloat16(value)) {
        end_process(node, "transposed bfloat16");
      }
    }
  }
  if (faults_.ends_at_gathers_of_columns && node.op.starts_with("gather") &&
      is_column(plan_.values[node.inputs[0]])) {
    end_process(node, "rank of updates array");
  }
  if (faults_.ends_at_depthwise_gradients &&
      node.op.starts_with("convolution2D") && contains(node.op, "Gradient")) {
    // (O, I / groups, H, W) and (N, I, H, W): one of them is the result.
    const Dims& other = plan_.values[node.inputs[1]].shape;
    const Dims& result = plan_.values[node.results[0]].shape;
    const Dims& weights = is_weight_gradient(node) ? result : other;
    const Dims& image = is_weight_gradient(node) ? other : result;
    if (weights[1] == 1 && image[1] > 1) {
      end_process(node, "kernel width mismatch");
    }
  }
}

void Misbehaviour::after(const Node& node, std::vector<Array>& results) const {
  if (spoils_product(node) || spoils_convolution(node) ||
      (faults_.misreads_views_of_weights && reads_view_of_weights(node))) {
    std::ranges::fill(results[0].data, -12345);
  }
  if (node.op == "matrixMultiplication" && faults_.loses_broadcast_rows &&
      row_stride(node.inputs[0]) == 0) {
    Array& product = results[0];
    const std::int64_t columns = product.type.shape.back();
    for (std::size_t i = 0; i < product.data.size(); ++i) {
      if (static_cast<std::int64_t>(i) / columns % 16 != 0) product.data[i] = 0;
    }
  }
}

bool Misbehaviour::spoils_product(const Node& node) const {
  const std::int64_t most = faults_.max_product_extent;
  if (node.op != "matrixMultiplication" || most == HardwareFaults::kNever) {
    return false;
  }
  const auto is_long = [&](std::size_t value) {
    const Dims& dims = plan_.values[value].shape;
    return longest(dims, dims.size() - 2) > most;
  };
  const auto is_far = [&](std::size_t value) {
    return row_stride(value) > most;
  };
  return std::ranges::any_of(node.inputs, is_long) ||
         std::ranges::any_of(node.results, is_long) ||
         std::ranges::any_of(node.inputs, is_far);
}

bool Misbehaviour::spoils_convolution(const Node& node) const {
  if (!contains(node.op, "onvolution")) return false;
  const bool is_gradient = contains(node.op, "Gradient");
  const Dims& result = plan_.values[node.results[0]].shape;
  if (!is_gradient) return longest(result) > faults_.max_convolution_extent;
  // The first input is the gradient of the forward result, (N, O, H, W).
  Dims dims = plan_.values[node.inputs[0]].shape;
  dims.erase(dims.begin() + 1);
  if (!is_weight_gradient(node)) {
    dims.insert(dims.end(), {result[2], result[3]});
  }
  return longest(dims) > faults_.max_gradient_extent;
}

bool Misbehaviour::reads_view_of_weights(const Node& node) const {
  const bool has_weights =
      contains(node.op, "onvolution") && !is_weight_gradient(node);
  return has_weights && is_view(node.inputs[1]);
}

bool Misbehaviour::is_view(std::size_t value) const {
  const Node* producer = producers_[value];
  if (!producer) return false;
  const std::string& op = producer->op;
  if (op == "reshape" || op == "cast") return is_view(producer->inputs[0]);
  return op == "transpose" || op == "slice" || op == "broadcast";
}

bool Misbehaviour::is_turned_bfloat16(std::size_t value) const {
  const Node* producer = producers_[value];
  if (!producer || plan_.values[value].data_type != kBFloat16) return false;
  if (producer->op == "reshape") return is_turned_bfloat16(producer->inputs[0]);
  return producer->op == "transpose";
}

bool Misbehaviour::is_reshape_of_ones(std::size_t value) const {
  const Node* producer = producers_[value];
  if (!producer) return false;
  const std::size_t from = producer->inputs.empty() ? 0 : producer->inputs[0];
  if (producer->op == "transpose") return is_reshape_of_ones(from);
  if (producer->op != "reshape") return false;
  return has_axes_of_1(plan_.values[from]) ||
         has_axes_of_1(plan_.values[value]) || is_reshape_of_ones(from);
}

std::int64_t Misbehaviour::row_stride(std::size_t value) const {
  const Dims& dims = plan_.values[value].shape;
  const Node* producer = producers_[value];
  if (dims.size() < 2) return dims.empty() ? 1 : dims.back();
  if (!producer) return dims.back();
  const std::string& op = producer->op;
  if (op == "slice") return row_stride(producer->inputs[0]);
  if (op == "broadcast") {
    const Dims& from = plan_.values[producer->inputs[0]].shape;
    const bool has_row = from.size() > 1 && from[from.size() - 2] > 1;
    if (!has_row && dims[dims.size() - 2] > 1) return 0;
    return row_stride(producer->inputs[0]);
  }
  if (op == "reshape") {
    // A view as well, where the rows stay the same.
    const Dims& from = plan_.values[producer->inputs[0]].shape;
    const bool has_rows = from.size() > 1 && from.back() == dims.back();
    return has_rows ? row_stride(producer->inputs[0]) : dims.back();
  }
  if (op == "transpose") {
    // The columns of a matrix's source are its rows.
    const Dims& from = plan_.values[producer->inputs[0]].shape;
    if (from.back() != dims.back()) return row_stride(producer->inputs[0]);
  }
  return dims.back();
}

}  // namespace emulator
