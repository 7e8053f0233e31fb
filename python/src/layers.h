// SPDX-License-Identifier: MIT
// The parts of bind_layers that have files of their own, and what they share.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bindings.h"
#include "device.h"
#include "padding.h"

namespace traingraph::python {

void bind_activation_layers(py::module_& m);
void bind_attention_layers(py::module_& m);
void bind_gather_layers(py::module_& m);  // gather, scatter, embedding
void bind_normalization_layers(py::module_& m);
void bind_recurrent_layers(py::module_& m);  // lstm
void bind_sequential(py::module_& m);
void bind_weighted_layers(py::module_& m);  // convolution, dense, matmul
void bind_window_layers(py::module_& m);    // pooling

using OptionalPair = std::optional<Pair>;
inline constexpr Pair kOnes{1, 1};

inline constexpr const char* kInitializerDoc =
    "How weights that are not given are created: \"uniform\", "
    "\"glorot_uniform\", "
    "\"xavier\", \"he_uniform\", \"he_normal\" or \"orthogonal\"; None: "
    "\"glorot_uniform\".";
inline constexpr const char* kOwnDescriptorDoc =
    "The options of the layer; sizes are 0 until it is built.";
inline constexpr const char* kPaddingDoc =
    "\"same\", \"valid\" (none), or the sizes of zeros on each side: one "
    "integer, or "
    "(y, x). \"same\" pads floor(total / 2) before and the rest behind.";
inline constexpr const char* kPaddingPolicyDoc =
    "\"same\", \"valid\" or \"use_padding_size\".";
inline constexpr const char* kPaddingSizesDoc =
    "Padding of each side, for \"use_padding_size\"; None: zeros.";

/// Requires a size that is given: 0 is what descriptors have for one that is
/// not.
inline void require_given(const char* op, const char* field,
                          std::int64_t size) {
  if (size != 0) return;
  throw InvalidArgument(
      ErrorInfo{.op = op,
                .what = std::string(field) + " is out of range",
                .expected = "at least 1",
                .got = "0",
                .hint = "Leave it out, and it is the source's."});
}

/// Padding of a descriptor.
inline Pair padding_sizes_of(const char* op, PaddingPolicy policy,
                             const OptionalPair& sizes) {
  if (policy == PaddingPolicy::UsePaddingSize && !sizes) fail_without_sizes(op);
  return sizes.value_or(Pair{});
}

/// The fields that both window descriptors have, comparison and copying.
template <class Descriptor>
void bind_window_fields(BoundClass<Descriptor>& type) {
  type.def_readonly("kernel_size", &Descriptor::kernel_size)
      .def_readonly("strides", &Descriptor::strides)
      .def_readonly("dilation_rates", &Descriptor::dilation_rates)
      .def_readonly("padding_policy", &Descriptor::padding_policy)
      .def_readonly("padding_sizes", &Descriptor::padding_sizes)
      .def_property_readonly("kernel_height", &Descriptor::kernel_height,
                             "kernel_size[0].")
      .def_property_readonly("kernel_width", &Descriptor::kernel_width,
                             "kernel_size[1].")
      .def_property_readonly("stride_in_y", &Descriptor::stride_in_y,
                             "strides[0].")
      .def_property_readonly("stride_in_x", &Descriptor::stride_in_x,
                             "strides[1].")
      .def_property_readonly("dilation_rate_in_y",
                             &Descriptor::dilation_rate_in_y,
                             "dilation_rates[0].")
      .def_property_readonly("dilation_rate_in_x",
                             &Descriptor::dilation_rate_in_x,
                             "dilation_rates[1].")
      .def_property_readonly("padding_size_in_y",
                             &Descriptor::padding_size_in_y,
                             "padding_sizes[0].")
      .def_property_readonly("padding_size_in_x",
                             &Descriptor::padding_size_in_x,
                             "padding_sizes[1].");
  bind_value(type);
}

}  // namespace traingraph::python
