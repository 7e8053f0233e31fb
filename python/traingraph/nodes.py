# SPDX-License-Identifier: MIT
"""Filter nodes: a network as images and the filters between them.

The backward half is written out node by node, or made by
:meth:`FilterNode.training_graph`; a :class:`Graph` of the results compiles for a
device and trains the weights of its data sources. Follows MPSNN's node graph::

    image = tg.nodes.ImageNode("image", (1, 28, 28))
    labels = tg.nodes.ImageNode("labels", (10, 1, 1))
    adam = tg.optimizers.Adam(1e-3)
    weights = tg.nodes.ConvolutionData(w, b, optimizer=adam)  # (10, 28, 28, 1)
    dense = tg.nodes.FullyConnectedNode(image, weights)
    loss = tg.nodes.LossNode(
        dense.result_image,
        labels,
        tg.nodes.LossDescriptor("softmax_cross_entropy", "mean"),
    )
    leaves = loss.training_graph()
    graph = tg.nodes.Graph("cpu", [leaf.result_image for leaf in leaves], batch_size=64)
    run = graph.execute({"image": x, "labels": y})

Images are float32 (batch, channels, height, width); nodes say (channels,
height, width), pairs are (height, width).

A data source is any object with these attributes, or methods of these names
without arguments. Those of convolutions and fully connected filters have
``descriptor`` (a :class:`ConvolutionDescriptor`) and ``weights`` (out, height,
width, in / groups), and may have ``bias_terms`` (out). Those of normalizations
have ``feature_channels``, and may have ``gamma``, ``beta``, ``mean`` and
``variance``, one number per channel, ``groups``, ``epsilon`` and ``momentum``.
All may have:

``name``
    Errors and results name it.
``load()``, ``purge()``
    Called before and after a graph reads: when it is made, when it reloads, and
    after ``update()``. ``load()`` returning False is an error.
``optimizer``
    Updates the weights on the device: training style ``"gpu"``. Those of one
    graph are the same object.
``update(weights, biases)`` or ``update(gamma, beta)``
    Training style ``"cpu"``: changes what the other attributes return, given
    the gradients, arrays of its own, or None for what the source does not
    have. Returning False fails the call that runs the graph, and so does an
    exception, which comes out of it. Must not wait for the graph.

Nodes with the same object share its weights. :class:`ConvolutionData` and
:class:`NormalizationData` are data sources for who has arrays.
"""

from __future__ import annotations

from ._core import (
    AbsoluteNode,
    AdditionNode,
    BatchNormalizationNode,
    BilinearScaleNode,
    ConcatenationNode,
    ConvolutionNode,
    ConvolutionTransposeNode,
    CrossChannelNormalizationNode,
    DilatedPoolingMaxNode,
    DivisionNode,
    DropoutNode,
    ELUNode,
    ExponentialNode,
    FilterNode,
    ForwardLossNode,
    FullyConnectedNode,
    GeLUNode,
    GradientFilterNode,
    GramMatrixCalculationNode,
    GroupNormalizationNode,
    HardSigmoidNode,
    ImageEdgeMode,
    ImageNode,
    ImageReduction,
    InitialGradientNode,
    InstanceNormalizationNode,
    LinearNode,
    LocalContrastNormalizationNode,
    LogarithmNode,
    LogSoftMaxNode,
    LossNode,
    MultiplicationNode,
    NeuronDescriptor,
    NeuronNode,
    NeuronType,
    PaddingAlignment,
    PaddingExtent,
    PaddingRemainder,
    PadNode,
    PoolingAverageNode,
    PoolingL2NormNode,
    PoolingMaxNode,
    PowerNode,
    PReLUNode,
    ReductionNode,
    ReLUNNode,
    ReLUNode,
    ReshapeNode,
    SigmoidNode,
    SoftMaxNode,
    SoftPlusNode,
    SoftSignNode,
    SpatialNormalizationNode,
    StateNode,
    SubtractionNode,
    TanHNode,
    TrainableNode,
    TrainingStyle,
    UpsamplingBilinearNode,
    UpsamplingNearestNode,
    summarized_dot_description,
)
from ._core import NodeConvolutionDescriptor as ConvolutionDescriptor
from ._core import NodeGraph as Graph
from ._core import NodeLossDescriptor as LossDescriptor
from ._core import NodePaddingPolicy as PaddingPolicy
from ._node_data import ConvolutionData, NormalizationData

__all__ = [
    "AbsoluteNode",
    "AdditionNode",
    "BatchNormalizationNode",
    "BilinearScaleNode",
    "ConcatenationNode",
    "ConvolutionData",
    "ConvolutionDescriptor",
    "ConvolutionNode",
    "ConvolutionTransposeNode",
    "CrossChannelNormalizationNode",
    "DilatedPoolingMaxNode",
    "DivisionNode",
    "DropoutNode",
    "ELUNode",
    "ExponentialNode",
    "FilterNode",
    "ForwardLossNode",
    "FullyConnectedNode",
    "GeLUNode",
    "GradientFilterNode",
    "GramMatrixCalculationNode",
    "Graph",
    "GroupNormalizationNode",
    "HardSigmoidNode",
    "ImageEdgeMode",
    "ImageNode",
    "ImageReduction",
    "InitialGradientNode",
    "InstanceNormalizationNode",
    "LinearNode",
    "LocalContrastNormalizationNode",
    "LogSoftMaxNode",
    "LogarithmNode",
    "LossDescriptor",
    "LossNode",
    "MultiplicationNode",
    "NeuronDescriptor",
    "NeuronNode",
    "NeuronType",
    "NormalizationData",
    "PReLUNode",
    "PadNode",
    "PaddingAlignment",
    "PaddingExtent",
    "PaddingPolicy",
    "PaddingRemainder",
    "PoolingAverageNode",
    "PoolingL2NormNode",
    "PoolingMaxNode",
    "PowerNode",
    "ReLUNNode",
    "ReLUNode",
    "ReductionNode",
    "ReshapeNode",
    "SigmoidNode",
    "SoftMaxNode",
    "SoftPlusNode",
    "SoftSignNode",
    "SpatialNormalizationNode",
    "StateNode",
    "SubtractionNode",
    "TanHNode",
    "TrainableNode",
    "TrainingStyle",
    "UpsamplingBilinearNode",
    "UpsamplingNearestNode",
    "summarized_dot_description",
]
