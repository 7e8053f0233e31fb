// SPDX-License-Identifier: MIT
// An emulated cuBLASLt: products in double precision, from the descriptors,
// rounded once. It refuses what the real one refuses, and algorithms that would
// not add in a fixed order. Workspaces are overwritten with NaN.
#include <cstring>
#include <optional>
#include <vector>

#include "cublaslt/matrix.h"
#include "driver/library_work.h"

// The declarations of what libcublasLt exports.
namespace traingraph::cuda {
#define FUNCTION(member, symbol, parameters) \
  extern "C" CUDA_EMULATOR_EXPORT LtStatus symbol parameters;
TRAINGRAPH_CUDA_CUBLASLT(FUNCTION)
#undef FUNCTION
}  // namespace traingraph::cuda

namespace cuda_emulator {
namespace {

using namespace traingraph::cuda;

constexpr std::size_t kWorkspaceBytes = 4096;

struct Product {
  LtCompute compute = LtCompute::Float32;
  std::int32_t transposes_a = 0, transposes_b = 0;
  std::uint32_t epilogue = 1;
  DeviceAddress bias = 0;

  bool has_bias() const { return (epilogue & 4u) != 0; }
  bool has_relu() const { return (epilogue & 2u) != 0; }
};

struct Preference {
  std::size_t workspace_bytes = 0;
  std::uint32_t schemes = 7;
};

Product& of(LtProduct handle) { return *reinterpret_cast<Product*>(handle); }
Matrix& of(LtMatrix handle) { return *reinterpret_cast<Matrix*>(handle); }
Preference& of(LtPreference handle) {
  return *reinterpret_cast<Preference*>(handle);
}

template <class T>
LtStatus set(T& member, const void* value, std::size_t bytes) {
  if (bytes != sizeof member) return LtStatus::InvalidValue;
  std::memcpy(&member, value, bytes);
  return LtStatus::Success;
}

/// d = alpha a b, with a bias for each row of d.
struct Work {
  Product product;
  Matrix a, b, d;
  float alpha = 1;
  const unsigned char *a_data = nullptr, *b_data = nullptr;
  unsigned char* d_data = nullptr;
  unsigned char* workspace = nullptr;

  std::uint64_t depth() const {
    return product.transposes_a != 0 ? a.rows : a.columns;
  }
  bool is_valid() const {
    const auto rows = product.transposes_a != 0 ? a.columns : a.rows;
    const auto columns = product.transposes_b != 0 ? b.rows : b.columns;
    const auto b_depth = product.transposes_b != 0 ? b.columns : b.rows;
    const bool is_same_batch =
        a.batch_count == d.batch_count && b.batch_count == d.batch_count;
    return a.is_valid() && b.is_valid() && d.is_valid() && is_same_batch &&
           rows == d.rows && columns == d.columns && b_depth == depth() &&
           a.type == b.type && (d.type == a.type || d.type == LtType::Float32);
  }

  double operand(const unsigned char* data, const Matrix& matrix, bool swaps,
                 std::uint64_t row, std::uint64_t column, int batch) const {
    const double value =
        load(data + (swaps ? matrix.offset(column, row, batch)
                           : matrix.offset(row, column, batch)),
             matrix.type);
    if (product.compute != LtCompute::Float32OfTf32) return value;
    return static_cast<double>(without_bits(static_cast<float>(value), 13));
  }

  void run() const {
    if (workspace != nullptr) std::memset(workspace, 0xff, kWorkspaceBytes);
    const std::size_t step = depth();
    std::vector<double> rows(d.rows * step), column(step);
    for (int batch = 0; batch < d.batch_count; ++batch) {
      for (std::uint64_t i = 0; i < d.rows; ++i) {
        for (std::uint64_t q = 0; q < step; ++q) {
          rows[i * step + q] =
              operand(a_data, a, product.transposes_a != 0, i, q, batch);
        }
      }
      for (std::uint64_t j = 0; j < d.columns; ++j) {
        for (std::uint64_t q = 0; q < step; ++q) {
          column[q] =
              operand(b_data, b, product.transposes_b != 0, q, j, batch);
        }
        for (std::uint64_t i = 0; i < d.rows; ++i) {
          double sum = 0;
          for (std::size_t q = 0; q < step; ++q) {
            sum += rows[i * step + q] * column[q];
          }
          sum *= static_cast<double>(alpha);
          if (product.has_bias()) {
            sum += load(reinterpret_cast<const unsigned char*>(product.bias) +
                            i * bytes_of(d.type),
                        d.type);
          }
          if (product.has_relu() && sum < 0) sum = 0;
          store(d_data + d.offset(i, j, batch), d.type, sum);
        }
      }
    }
  }
};

}  // namespace
}  // namespace cuda_emulator

namespace traingraph::cuda {
using namespace cuda_emulator;

LtStatus cublasLtCreate(LtHandle* handle) {
  *handle = reinterpret_cast<LtHandle>(new int);
  return LtStatus::Success;
}

LtStatus cublasLtMatmulDescCreate(LtProduct* handle, LtCompute compute,
                                  LtType scale) {
  if (scale != LtType::Float32) return LtStatus::NotSupported;
  *handle = reinterpret_cast<LtProduct>(new Product{.compute = compute});
  return LtStatus::Success;
}

LtStatus cublasLtMatmulDescDestroy(LtProduct handle) {
  delete &of(handle);
  return LtStatus::Success;
}

LtStatus cublasLtMatmulDescSetAttribute(LtProduct handle,
                                        LtProductAttribute attribute,
                                        const void* value, std::size_t bytes) {
  Product& product = of(handle);
  switch (attribute) {
    case LtProductAttribute::TransposesA:
      return set(product.transposes_a, value, bytes);
    case LtProductAttribute::TransposesB:
      return set(product.transposes_b, value, bytes);
    case LtProductAttribute::Epilogue:
      return set(product.epilogue, value, bytes);
    case LtProductAttribute::BiasPointer:
      return set(product.bias, value, bytes);
  }
  return LtStatus::InvalidValue;
}

LtStatus cublasLtMatrixLayoutCreate(LtMatrix* handle, LtType type,
                                    std::uint64_t rows, std::uint64_t columns,
                                    std::int64_t stride) {
  *handle = reinterpret_cast<LtMatrix>(new Matrix{
      .type = type, .rows = rows, .columns = columns, .stride = stride});
  return LtStatus::Success;
}

LtStatus cublasLtMatrixLayoutDestroy(LtMatrix handle) {
  delete &of(handle);
  return LtStatus::Success;
}

LtStatus cublasLtMatrixLayoutSetAttribute(LtMatrix handle,
                                          LtMatrixAttribute attribute,
                                          const void* value,
                                          std::size_t bytes) {
  Matrix& matrix = of(handle);
  return attribute == LtMatrixAttribute::BatchCount
             ? set(matrix.batch_count, value, bytes)
             : set(matrix.batch_stride, value, bytes);
}

LtStatus cublasLtMatmulPreferenceCreate(LtPreference* handle) {
  *handle = reinterpret_cast<LtPreference>(new Preference);
  return LtStatus::Success;
}

LtStatus cublasLtMatmulPreferenceDestroy(LtPreference handle) {
  delete &of(handle);
  return LtStatus::Success;
}

LtStatus cublasLtMatmulPreferenceSetAttribute(LtPreference handle,
                                              LtPreferenceAttribute attribute,
                                              const void* value,
                                              std::size_t bytes) {
  Preference& preference = of(handle);
  return attribute == LtPreferenceAttribute::MaxWorkspaceBytes
             ? set(preference.workspace_bytes, value, bytes)
             : set(preference.schemes, value, bytes);
}

LtStatus cublasLtMatmulAlgoGetHeuristic(LtHandle, LtProduct product, LtMatrix a,
                                        LtMatrix b, LtMatrix c, LtMatrix d,
                                        LtPreference handle, int most,
                                        LtChoice* choices, int* count) {
  const Work work{.product = of(product), .a = of(a), .b = of(b), .d = of(d)};
  const Preference& preference = of(handle);
  *count = 0;
  if (!work.is_valid() || c != d || most < 1) return LtStatus::InvalidValue;
  if ((preference.schemes & 1u) != 0) return LtStatus::NotSupported;
  const bool has_room = preference.workspace_bytes >= kWorkspaceBytes;
  choices[0] = {.algorithm = {},
                .workspace_bytes = has_room ? kWorkspaceBytes : 0,
                .status = LtStatus::Success,
                .waves = 1,
                .reserved = {}};
  *count = 1;
  return LtStatus::Success;
}

LtStatus cublasLtMatmul(LtHandle, LtProduct product, const float* alpha,
                        DeviceAddress a, LtMatrix a_layout, DeviceAddress b,
                        LtMatrix b_layout, const float* beta, DeviceAddress c,
                        LtMatrix, DeviceAddress d, LtMatrix d_layout,
                        const LtAlgorithm*, DeviceAddress workspace,
                        std::size_t workspace_bytes, StreamHandle stream) {
  Work work{.product = of(product),
            .a = of(a_layout),
            .b = of(b_layout),
            .d = of(d_layout),
            .alpha = *alpha,
            .a_data = reinterpret_cast<const unsigned char*>(a),
            .b_data = reinterpret_cast<const unsigned char*>(b),
            .d_data = reinterpret_cast<unsigned char*>(d)};
  if (!work.is_valid() || *beta != 0 || c != d) return LtStatus::InvalidValue;
  std::vector<Access> accesses = {
      {a, work.a.bytes()}, {b, work.b.bytes()}, {d, work.d.bytes()}};
  if (work.product.has_bias()) {
    accesses.push_back(
        {work.product.bias, work.d.rows * bytes_of(work.d.type)});
  }
  if (workspace_bytes >= kWorkspaceBytes) {
    accesses.push_back({workspace, workspace_bytes});
    work.workspace = reinterpret_cast<unsigned char*>(workspace);
  }
  return enqueue_library_work(stream, accesses, [work] { work.run(); }) ==
                 Result::Success
             ? LtStatus::Success
             : LtStatus::InvalidValue;
}

}  // namespace traingraph::cuda
