// SPDX-License-Identifier: MIT
#include "layouts.h"

#include <algorithm>

namespace emulator {

Layout data_layout(const char* op, MPSGraphTensorNamedDataLayout layout) {
  if (layout == MPSGraphTensorNamedDataLayoutNCHW) return {0, 1, 2, 3};
  if (layout == MPSGraphTensorNamedDataLayoutNHWC) return {0, 3, 1, 2};
  refuse(op, @"data layout %ld is neither NCHW nor NHWC", (long)layout);
}

Layout weights_layout(const char* op, MPSGraphTensorNamedDataLayout layout) {
  if (layout == MPSGraphTensorNamedDataLayoutOIHW) return {0, 1, 2, 3};
  if (layout == MPSGraphTensorNamedDataLayoutHWIO) return {3, 2, 0, 1};
  refuse(op, @"weights layout %ld is neither OIHW nor HWIO", (long)layout);
}

Placement place(const char* op, const Extent& e, MPSGraphPaddingStyle style) {
  if (e.stride < 1 || e.dilation < 1 || e.kernel < 1) {
    refuse(op, @"kernel %lld, stride %lld or dilation %lld is not positive",
           (long long)e.kernel, (long long)e.stride, (long long)e.dilation);
  }
  const std::int64_t reach = (e.kernel - 1) * e.dilation + 1;
  std::int64_t before = 0, after = 0;
  switch (style) {
    case MPSGraphPaddingStyleExplicit:
      before = e.before;
      after = e.after;
      break;
    case MPSGraphPaddingStyleTF_VALID:
      break;
    case MPSGraphPaddingStyleTF_SAME:
    case MPSGraphPaddingStyleONNX_SAME_LOWER: {
      const std::int64_t result = (e.source + e.stride - 1) / e.stride;
      const std::int64_t total =
          std::max<std::int64_t>(0, (result - 1) * e.stride + reach - e.source);
      const bool is_lower = style == MPSGraphPaddingStyleONNX_SAME_LOWER;
      return {result, is_lower ? total - total / 2 : total / 2};
    }
    default:
      refuse(op, @"padding style %ld is not emulated", (long)style);
  }
  const std::int64_t room = e.source + before + after - reach;
  if (room < 0 || before < 0 || after < 0) {
    refuse(op,
           @"a kernel that reaches over %lld elements does not fit into "
           @"%lld with padding %lld and %lld",
           (long long)reach, (long long)e.source, (long long)before,
           (long long)after);
  }
  const std::int64_t rounding = e.rounds_up ? e.stride - 1 : 0;
  return {(room + rounding) / e.stride + 1, before};
}

}  // namespace emulator
