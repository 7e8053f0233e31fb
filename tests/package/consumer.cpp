// SPDX-License-Identifier: MIT
// Compiles against the installed headers, links the installed library, and
// sees its exceptions across the border.
#include <traingraph/traingraph.h>

#include <cstdio>
#include <vector>

namespace tg = traingraph;

int main() {
  const tg::TensorDescriptor image = tg::TensorDescriptor::image(
      /*width=*/8, /*height=*/8, /*feature_channel_count=*/1,
      /*batch_size=*/64);
  if (image.shape != tg::Shape({64, 1, 8, 8})) return 1;
  if (image.size_bytes() != 64 * 8 * 8 * sizeof(float)) return 1;
  try {
    const std::vector<std::int64_t> sizes(tg::kMaxRank + 1, 1);
    const tg::Shape too_long{std::span<const std::int64_t>(sizes)};
    return 1;
  } catch (const tg::ShapeError& error) {
    std::printf("traingraph %s: %s\n", TRAINGRAPH_VERSION, error.what());
  }
  return 0;
}
