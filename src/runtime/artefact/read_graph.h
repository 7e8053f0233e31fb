// SPDX-License-Identifier: MIT
// From plain data to a merged graph and its tensors.
#pragma once

#include "compiler/merge.h"
#include "runtime/artefact/stored_graph.h"
#include "traingraph/artefact.h"

namespace traingraph {

/// The merged graph of a file with tables that have been checked, at its batch
/// size; without the graph's own tensors, the optimizer, and objects. Throws as
/// read_program().
MergedGraph read_graph(const StoredGraph& stored);

/// Changes sizes to another batch size, those of `entries` too. Throws
/// UnsupportedError when a node cannot follow, InvalidArgument.
void set_batch(MergedGraph& graph, std::vector<TensorEntry>& entries,
               std::int64_t batch);

/// Keeps what an inference graph has of a training graph.
void keep_inference(MergedGraph& graph);

/// The user's tensors stand by place in the entries.
using GivenTensors = std::map<std::size_t, Tensor>;
/// Throws InvalidArgument, ShapeError and DTypeError for those that do not fit.
GivenTensors find_given(const std::vector<TensorEntry>& entries,
                        const std::map<std::string, Tensor>& given);

/// Makes the other tensors, and the rest of the merge. Throws ShapeError,
/// InvalidArgument.
Merged make_objects(MergedGraph graph, const std::vector<TensorEntry>& entries,
                    const GivenTensors& given, OptimizerPtr optimizer);

}  // namespace traingraph
