// SPDX-License-Identifier: MIT
#include "cuda/code/library_product.h"

#include <algorithm>
#include <string>

#include "cuda/abi/libraries.h"
#include "traingraph/error.h"

namespace traingraph::cuda {
namespace {

/// More makes nothing faster.
constexpr std::size_t kMaxWorkspaceBytes = std::size_t{32} << 20;

const CublasLt& library() {
  const Library<CublasLt> found = cublaslt_library();
  if (found.functions != nullptr) return *found.functions;
  throw UnsupportedError(
      ErrorInfo{.op = "matmul", .node = "gpu", .what = found.reason});
}

void check(LtStatus status, const char* call) {
  if (status == LtStatus::Success) return;
  throw InternalError(
      ErrorInfo{.op = "matmul",
                .node = "gpu",
                .what = std::string(call) + " refuses a product of ours",
                .got = "status " + std::to_string(static_cast<int>(status)),
                .hint = "Please report this with the shapes of the product."});
}

LtType type_of(DataType type) {
  if (type == DataType::Float16) return LtType::Float16;
  return type == DataType::BFloat16 ? LtType::BFloat16 : LtType::Float32;
}

/// The library's matrices are column-major: it computes the transpose of z from
/// those of y and x. Ends when it goes.
class Descriptors {
 public:
  Descriptors(const CublasLt& lt, const ProductRequest& request,
              DeviceAddress bias)
      : lt_(lt) {
    check(lt.product_create(&product,
                            request.rounds_operands ? LtCompute::Float32OfTf32
                                                    : LtCompute::Float32,
                            LtType::Float32),
          "cublasLtMatmulDescCreate");
    set(LtProductAttribute::TransposesA, std::int32_t{request.y.is_deep});
    set(LtProductAttribute::TransposesB, std::int32_t{!request.x.is_deep});
    auto epilogue = static_cast<std::uint32_t>(LtEpilogue::Nothing);
    if (request.has_bias || request.has_relu) epilogue = 0;
    if (request.has_bias) {
      epilogue |= static_cast<std::uint32_t>(LtEpilogue::Bias);
      set(LtProductAttribute::BiasPointer, bias);
    }
    if (request.has_relu) {
      epilogue |= static_cast<std::uint32_t>(LtEpilogue::Relu);
    }
    set(LtProductAttribute::Epilogue, epilogue);
    const LtType type = type_of(request.operand_type);
    y = matrix(type, request.y, request);
    x = matrix(type, request.x, request);
    const std::int64_t rows = request.x.count, columns = request.y.count;
    z = matrix(type_of(request.result_type), columns, rows, columns,
               rows * columns, request.num_batches);
  }
  ~Descriptors() {
    for (const LtMatrix each : {x, y, z}) {
      if (each != nullptr) lt_.matrix_destroy(each);
    }
    if (product != nullptr) lt_.product_destroy(product);
  }
  Descriptors(const Descriptors&) = delete;
  Descriptors& operator=(const Descriptors&) = delete;

  LtProduct product = nullptr;
  LtMatrix x = nullptr, y = nullptr, z = nullptr;

 private:
  template <class T>
  void set(LtProductAttribute attribute, T value) {
    check(lt_.product_set(product, attribute, &value, sizeof value),
          "cublasLtMatmulDescSetAttribute");
  }
  LtMatrix matrix(LtType type, const LibraryLines& lines,
                  const ProductRequest& request) {
    const std::int64_t rows = lines.is_deep ? request.depth : lines.count;
    const std::int64_t columns = lines.is_deep ? lines.count : request.depth;
    return matrix(type, rows, columns, lines.stride, lines.batch_stride,
                  request.num_batches);
  }
  LtMatrix matrix(LtType type, std::int64_t rows, std::int64_t columns,
                  std::int64_t stride, std::int64_t batch_stride,
                  std::int64_t num_batches) {
    LtMatrix made = nullptr;
    // The stride of a single column is never taken, but looked at.
    check(lt_.matrix_create(&made, type, static_cast<std::uint64_t>(rows),
                            static_cast<std::uint64_t>(columns),
                            std::max(stride, rows)),
          "cublasLtMatrixLayoutCreate");
    if (num_batches == 1) return made;
    const auto count = static_cast<std::int32_t>(num_batches);
    check(lt_.matrix_set(made, LtMatrixAttribute::BatchCount, &count,
                         sizeof count),
          "cublasLtMatrixLayoutSetAttribute");
    check(lt_.matrix_set(made, LtMatrixAttribute::BatchStride, &batch_stride,
                         sizeof batch_stride),
          "cublasLtMatrixLayoutSetAttribute");
    return made;
  }

  const CublasLt& lt_;
};

}  // namespace

bool has_library_products() { return cublaslt_library().functions != nullptr; }

LtHandle ProductLibrary::handle() {
  std::scoped_lock lock(mutex_);
  if (handle_ == nullptr) {
    card_->make_current();
    check(library().create(&handle_), "cublasLtCreate");
  }
  return handle_;
}

ProductAlgorithm ProductLibrary::find(const ProductRequest& request) {
  const CublasLt& lt = library();
  card_->make_current();
  // Any address that is aligned as ours are.
  const Descriptors of(lt, request, /*bias=*/256);
  LtPreference preference = nullptr;
  check(lt.preference_create(&preference), "cublasLtMatmulPreferenceCreate");
  const std::uint32_t schemes = kLtReductionsInOrder;
  lt.preference_set(preference, LtPreferenceAttribute::ReductionSchemes,
                    &schemes, sizeof schemes);
  lt.preference_set(preference, LtPreferenceAttribute::MaxWorkspaceBytes,
                    &kMaxWorkspaceBytes, sizeof kMaxWorkspaceBytes);
  LtChoice choice{};
  int count = 0;
  const LtStatus status = lt.choose(handle(), of.product, of.y, of.x, of.z,
                                    of.z, preference, 1, &choice, &count);
  lt.preference_destroy(preference);
  check(status, "cublasLtMatmulAlgoGetHeuristic");
  check(count == 1 ? choice.status : LtStatus::NotSupported,
        "cublasLtMatmulAlgoGetHeuristic");
  return {choice.algorithm, choice.workspace_bytes};
}

void ProductLibrary::multiply(const ProductRequest& request,
                              const ProductAlgorithm& algorithm,
                              const ProductAddresses& at, StreamHandle stream) {
  const CublasLt& lt = library();
  const Descriptors of(lt, request, at.bias);
  const float beta = 0;
  check(lt.multiply(handle(), of.product, &request.alpha, at.y, of.y, at.x,
                    of.x, &beta, at.z, of.z, at.z, of.z, &algorithm.algorithm,
                    at.workspace, algorithm.workspace_bytes, stream),
        "cublasLtMatmul");
}

}  // namespace traingraph::cuda
