// SPDX-License-Identifier: MIT
// What we call of cuBLASLt (libcublasLt.so), for large matrix products:
// declarations of our own, as in driver.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/abi/driver.h"

namespace traingraph::cuda {

using LtHandle = struct LtTag*;
using LtProduct = struct LtProductTag*;        // cublasLtMatmulDesc_t
using LtMatrix = struct LtMatrixTag*;          // cublasLtMatrixLayout_t
using LtPreference = struct LtPreferenceTag*;  // cublasLtMatmulPreference_t

enum class LtStatus : int { Success = 0, InvalidValue = 7, NotSupported = 15 };
/// cudaDataType_t.
enum class LtType : int { Float32 = 0, Float16 = 2, BFloat16 = 14 };
/// cublasComputeType_t: what sums are.
enum class LtCompute : int { Float32 = 68, Float32OfTf32 = 77 };
/// cublasLtMatmulDescAttributes_t.
enum class LtProductAttribute : int {
  TransposesA = 3,  // int32: 0 or 1
  TransposesB = 4,
  Epilogue = 7,
  BiasPointer = 8,
};
/// cublasLtEpilogue_t; they may be added.
enum class LtEpilogue : unsigned { Nothing = 1, Relu = 2, Bias = 4 };
/// cublasLtMatrixLayoutAttribute_t.
enum class LtMatrixAttribute : int { BatchCount = 5, BatchStride = 6 };
/// cublasLtMatmulPreferenceAttributes_t.
enum class LtPreferenceAttribute : int {
  MaxWorkspaceBytes = 1,
  ReductionSchemes = 3,
};
/// cublasLtReductionScheme_t: partial sums that are added in their order. In
/// place they would be added as they come.
enum : std::uint32_t { kLtReductionsInOrder = 2 | 4 };

struct LtAlgorithm {
  std::uint64_t data[8];
};
/// cublasLtMatmulHeuristicResult_t.
struct LtChoice {
  LtAlgorithm algorithm;
  std::size_t workspace_bytes;
  LtStatus status;
  float waves;
  int reserved[4];
};

#define TRAINGRAPH_CUDA_CUBLASLT(FUNCTION)                                     \
  FUNCTION(create, cublasLtCreate, (LtHandle*))                                \
  FUNCTION(product_create, cublasLtMatmulDescCreate,                           \
           (LtProduct*, LtCompute, LtType scale))                              \
  FUNCTION(product_destroy, cublasLtMatmulDescDestroy, (LtProduct))            \
  FUNCTION(                                                                    \
      product_set, cublasLtMatmulDescSetAttribute,                             \
      (LtProduct, LtProductAttribute, const void* value, std::size_t bytes))   \
  FUNCTION(matrix_create, cublasLtMatrixLayoutCreate,                          \
           (LtMatrix*, LtType, std::uint64_t rows, std::uint64_t columns,      \
            std::int64_t stride))                                              \
  FUNCTION(matrix_destroy, cublasLtMatrixLayoutDestroy, (LtMatrix))            \
  FUNCTION(                                                                    \
      matrix_set, cublasLtMatrixLayoutSetAttribute,                            \
      (LtMatrix, LtMatrixAttribute, const void* value, std::size_t bytes))     \
  FUNCTION(preference_create, cublasLtMatmulPreferenceCreate, (LtPreference*)) \
  FUNCTION(preference_destroy, cublasLtMatmulPreferenceDestroy,                \
           (LtPreference))                                                     \
  FUNCTION(preference_set, cublasLtMatmulPreferenceSetAttribute,               \
           (LtPreference, LtPreferenceAttribute, const void* value,            \
            std::size_t bytes))                                                \
  FUNCTION(choose, cublasLtMatmulAlgoGetHeuristic,                             \
           (LtHandle, LtProduct, LtMatrix a, LtMatrix b, LtMatrix c,           \
            LtMatrix d, LtPreference, int most, LtChoice*, int* count))        \
  FUNCTION(                                                                    \
      multiply, cublasLtMatmul,                                                \
      (LtHandle, LtProduct, const float* alpha, DeviceAddress a,               \
       LtMatrix a_layout, DeviceAddress b, LtMatrix b_layout,                  \
       const float* beta, DeviceAddress c, LtMatrix c_layout, DeviceAddress d, \
       LtMatrix d_layout, const LtAlgorithm*, DeviceAddress workspace,         \
       std::size_t workspace_bytes, StreamHandle))

struct CublasLt {
#define FUNCTION(member, symbol, parameters) LtStatus(*member) parameters;
  TRAINGRAPH_CUDA_CUBLASLT(FUNCTION)
#undef FUNCTION
};

}  // namespace traingraph::cuda
