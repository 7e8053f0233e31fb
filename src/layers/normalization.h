// SPDX-License-Identifier: MIT
// What the constructors and lower() of the normalization layers share.
#pragma once

#include "layers/layer_builder.h"
#include "traingraph/layers/normalization.h"

namespace traingraph {

/// Says where the channels of the first source are, for SizedLayer::size_of().
inline constexpr const char* kChannelsSource = "(N, C, ...)";

/// The given tensor, or a new (C) of `value`; throws unless it is (C) or
/// (1, C, 1, 1).
Tensor per_channel(const char* op, const Tensor& given, std::int64_t channels,
                   double value, const char* what);
/// Throws unless `given`, if it is one, is (C) or (1, C, 1, 1).
void require_per_channel(const char* op, const Tensor& given,
                         std::int64_t channels, const char* what);

/// Throws when one tensor is given in two roles.
void require_roles(const char* op, const Tensor& beta, const Tensor& gamma,
                   const Tensor& mean = {}, const Tensor& variance = {});

/// The value is kNoValue where there is no parameter.
ValueId parameter(LayerBuilder& builder, const TensorParameter& parameter,
                  const Shape& shape, const char* what);

}  // namespace traingraph
