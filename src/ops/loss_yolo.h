// SPDX-License-Identifier: MIT
// The numbers of one anchor of the YOLO loss (yolo_loss.h of the public
// headers), for the shape rule and for the devices' kernels.
#pragma once

namespace traingraph::yolo {

/// Channels are in this order; the classes are last, however many there are.
enum Channel { kX, kY, kWidth, kHeight, kConfidence, kClasses };

}  // namespace traingraph::yolo
