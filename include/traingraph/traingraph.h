// SPDX-License-Identifier: MIT
// The whole public API.
#pragma once

#include "traingraph/checkpoint.h"
#include "traingraph/device.h"
#include "traingraph/enums.h"
#include "traingraph/error.h"
#include "traingraph/execution.h"
#include "traingraph/graph.h"
#include "traingraph/insight.h"
#include "traingraph/layers.h"
#include "traingraph/losses.h"
#include "traingraph/memory.h"
#include "traingraph/op_attrs.h"
#include "traingraph/op_info.h"
#include "traingraph/optimizers.h"
#include "traingraph/phase.h"
#include "traingraph/schedule.h"
#include "traingraph/tensor.h"
#include "traingraph/training_graph.h"
#include "traingraph/types.h"
#include "traingraph/version.h"
#include "traingraph/yolo_loss.h"
