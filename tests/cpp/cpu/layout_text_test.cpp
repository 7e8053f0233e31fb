// SPDX-License-Identifier: MIT
#include "cpu/layout_text.h"

#include <gtest/gtest.h>

namespace traingraph::cpu {
namespace {

using dnnl::memory;
using tag = memory::format_tag;

std::string text(const memory::dims& dims, tag format,
                 bool is_weights = false) {
  return layout_text({dims, memory::data_type::f32, format}, is_weights);
}

TEST(LayoutText, Activations) {
  EXPECT_EQ(text({2, 32, 5, 7}, tag::nchw), "plain");
  EXPECT_EQ(text({2, 32, 5, 7}, tag::nhwc), "nhwc");
  EXPECT_EQ(text({2, 32, 5, 7}, tag::nChw16c), "nChw16c");
  EXPECT_EQ(text({2, 32, 5, 7}, tag::nChw8c), "nChw8c");
  EXPECT_EQ(text({6, 7}, tag::ba), "ba");
}

TEST(LayoutText, Weights) {
  EXPECT_EQ(text({32, 32, 3, 3}, tag::OIhw16i16o, true), "OIhw16i16o");
  EXPECT_EQ(text({32, 1, 3, 3}, tag::Ohwi16o, true), "Ohwi16o");
  EXPECT_EQ(text({2, 32, 32, 3, 3}, tag::gOIhw8i8o, true), "gOIhw8i8o");
}

TEST(LayoutText, AxesOfOneElementHaveNoPlace) {
  EXPECT_EQ(text({2, 1, 5, 7}, tag::nhwc), "plain");
  EXPECT_EQ(text({1, 32, 1, 1}, tag::nhwc), "plain");
}

}  // namespace
}  // namespace traingraph::cpu
