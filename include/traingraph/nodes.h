// SPDX-License-Identifier: MIT
// Filter nodes and their graphs.
#pragma once

#include "traingraph/nodes/data_source.h"
#include "traingraph/nodes/filters.h"
#include "traingraph/nodes/graph.h"
#include "traingraph/nodes/losses.h"
#include "traingraph/nodes/node.h"
#include "traingraph/nodes/padding.h"
