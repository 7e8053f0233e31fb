// SPDX-License-Identifier: MIT
#include "cuda/cuda_error.h"

#include "traingraph/error.h"

namespace traingraph::cuda {

std::string text_of(const Driver& driver, Result result) {
  const char* name = nullptr;
  const char* text = nullptr;
  if (driver.get_error_name(result, &name) != Result::Success ||
      driver.get_error_string(result, &text) != Result::Success) {
    return "error " + std::to_string(static_cast<int>(result));
  }
  return std::string(name) + " (" + text + ")";
}

/// Faults of kernels and of hardware end the context: every later call returns
/// the same. They are numbered from 700 on, but for a few.
bool is_loss(Result result) {
  const int code = static_cast<int>(result);
  const bool is_fault = code >= 700 && code < 720;
  const bool is_refusal = code == 701 || code == 704 || code == 705 ||
                          code == 708 || code == 711 || code == 712 ||
                          code == 713;  // of arguments
  return (is_fault && !is_refusal) || code == 214 || code == 220 ||
         code == 226 || code == 999 || code == 4;
}

void check(const Driver& driver, Result result, const char* call) {
  if (result == Result::Success) return;
  const std::string text = std::string(call) + ": " + text_of(driver, result);
  if (is_loss(result)) throw Loss(text);
  throw DeviceError(ErrorInfo{.op = "execute",
                              .node = "gpu",
                              .what = "the CUDA driver refuses a call",
                              .got = text});
}

}  // namespace traingraph::cuda
