// SPDX-License-Identifier: MIT
// Large matrix products, by cuBLASLt: z = alpha x y, perhaps with a bias, and
// ReLU behind it. The algorithm is the library's first choice among those that
// add in a fixed order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "cuda/abi/cublaslt.h"
#include "cuda/card.h"
#include "traingraph/types.h"

namespace traingraph::cuda {

/// An operand: its lines are rows of x or columns of y, and deep ones have
/// their depth side by side in memory.
struct LibraryLines {
  std::int64_t count = 0;
  std::int64_t stride = 0;  // from line to line; of others from depth to depth
  std::int64_t batch_stride = 0;
  bool is_deep = true;
};

struct ProductRequest {
  DataType operand_type = DataType::Float32, result_type = DataType::Float32;
  LibraryLines x, y;
  std::int64_t depth = 0, num_batches = 1;
  float alpha = 1;
  bool rounds_operands = false;
  bool has_bias = false, has_relu = false;
};

struct ProductAlgorithm {
  LtAlgorithm algorithm;
  std::size_t workspace_bytes = 0;
};

struct ProductAddresses {
  DeviceAddress x = 0, y = 0, bias = 0, z = 0, workspace = 0;
};

/// Is cuBLASLt installed? Loads it.
bool has_library_products();

/// cuBLASLt on a card.
class ProductLibrary {
 public:
  explicit ProductLibrary(std::shared_ptr<const Card> card)
      : card_(std::move(card)) {}

  /// Throws InternalError when the library has none.
  ProductAlgorithm find(const ProductRequest& request);
  /// Enqueues it.
  void multiply(const ProductRequest& request,
                const ProductAlgorithm& algorithm, const ProductAddresses& at,
                StreamHandle stream);

 private:
  LtHandle handle();

  const std::shared_ptr<const Card> card_;
  std::mutex mutex_;
  LtHandle handle_ = nullptr;  // lives as long as the process
};

}  // namespace traingraph::cuda
