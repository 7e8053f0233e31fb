// SPDX-License-Identifier: MIT
// All layers. Each is made with std::make_shared and given to Graph::node:
//
//   auto conv = std::make_shared<layers::Convolution>(ConvolutionDescriptor{
//       .kernel_size = {3, 3},
//       .output_feature_channel_count = 32});
//   Tensor h = graph.node(conv, image);
//
// Sizes that a source has need not be given: see SizedLayer.
//
// Constructors throw InvalidArgument, ShapeError or DTypeError on bad options
// or parameters; Graph::node throws them for sources that do not fit. Both
// name the layer.
#pragma once

#include "traingraph/layers/activation.h"            // IWYU pragma: export
#include "traingraph/layers/attention.h"             // IWYU pragma: export
#include "traingraph/layers/convolution.h"           // IWYU pragma: export
#include "traingraph/layers/dropout.h"               // IWYU pragma: export
#include "traingraph/layers/elementwise.h"           // IWYU pragma: export
#include "traingraph/layers/embedding.h"             // IWYU pragma: export
#include "traingraph/layers/fully_connected.h"       // IWYU pragma: export
#include "traingraph/layers/gather.h"                // IWYU pragma: export
#include "traingraph/layers/layout.h"                // IWYU pragma: export
#include "traingraph/layers/lora.h"                  // IWYU pragma: export
#include "traingraph/layers/lstm.h"                  // IWYU pragma: export
#include "traingraph/layers/matmul.h"                // IWYU pragma: export
#include "traingraph/layers/normalization.h"         // IWYU pragma: export
#include "traingraph/layers/padding.h"               // IWYU pragma: export
#include "traingraph/layers/pooling.h"               // IWYU pragma: export
#include "traingraph/layers/recurrent.h"             // IWYU pragma: export
#include "traingraph/layers/reduction.h"             // IWYU pragma: export
#include "traingraph/layers/sample_normalization.h"  // IWYU pragma: export
#include "traingraph/layers/sequential.h"            // IWYU pragma: export
#include "traingraph/layers/sized.h"                 // IWYU pragma: export
#include "traingraph/layers/softmax.h"               // IWYU pragma: export
#include "traingraph/layers/upsample.h"              // IWYU pragma: export
