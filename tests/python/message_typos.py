# SPDX-License-Identifier: MIT
"""Keywords that calls do not have, for test_messages.py: the call, what it is given
by place, the wrong keyword, what was meant."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import traingraph as tg

if TYPE_CHECKING:
    from collections.abc import Callable

L, S, O, N = tg.layers, tg.losses, tg.optimizers, tg.nodes
F32 = np.float32

TYPOS: list[tuple[Callable[..., Any], tuple[Any, ...], str, str]] = [
    (O.SGD, (), "lr", "learning_rate"),
    (O.SGD, (0.1,), "momentum", "momentum_scale"),
    (O.SGD, (0.1,), "nesterov", "uses_nesterov_momentum"),
    (O.SGD, (0.1,), "weight_decay", "regularization_scale"),
    (O.Adam, (), "lr", "learning_rate"),
    (O.Adam, (), "eps", "epsilon"),
    (O.Adam, (), "beta_1", "beta1"),
    (O.Adam, (), "betas", "beta1"),
    (O.Adam, (), "amsgrad", "uses_amsgrad"),
    (O.AdamW, (), "weight_decay", "regularization_scale"),
    (O.AdamW, (), "learning_rat", "learning_rate"),
    (O.RMSProp, (0.1,), "centered", "is_centered"),
    (O.OptimizerDescriptor, (), "gradient_rescal", "gradient_rescale"),
    (L.FullyConnected, (3, 2), "bias", "biases"),
    (L.FullyConnected, (3, 2), "use_bias", "uses_biases"),
    (L.FullyConnected, (3, 2), "weight", "weights"),
    (L.FullyConnected, (3,), "out_features", "output_feature_channel_count"),
    (L.Convolution, (3, 2, 3), "paddding", "padding"),
    (L.Convolution, (3, 2, 3), "groups", "group_count"),
    (L.Convolution, (3, 2, 3), "dilation", "dilation_rates"),
    (L.Convolution, (3, 2), "kernel_sise", "kernel_size"),
    (L.Convolution, (3, 2), "stride", "strides"),
    (L.MaxPooling, (), "stride", "strides"),
    (L.MaxPooling, (2,), "dilation_rate", "dilation_rates"),
    (L.BatchNormalization, (3,), "eps", "variance_epsilon"),
    (L.Dropout, (), "p", "rate"),
    (L.Softmax, (), "dim", "axis"),
    (L.Softmax, (), "dimension", "axis"),
    (L.Reduction, ("sum",), "dim", "axes"),
    (L.Transpose, (), "dims", "axes"),
    (L.LSTM, (3, 4), "num_layers", "layer_count"),
    (L.MultiheadAttention, (8,), "num_heads", "head_count"),
    (L.Reshape, (), "shpae", "shape"),
    (L.Concatenation, (), "dimension", "axis"),
    (L.ReLU, (), "label", "name"),
    (S.SoftmaxCrossEntropy, (), "label_smoothin", "label_smoothing"),
    (S.SoftmaxCrossEntropy, (), "reduction", "reduction_type"),
    (S.SoftmaxCrossEntropy, (), "ignore_idx", "ignore_index"),
    (S.MeanSquaredError, (), "delta", ""),
    (tg.Tensor, ((2,),), "dtype", "data_type"),
    (tg.Tensor, ((2,),), "label", "name"),
    (tg.Tensor, (), "size", "shape"),
    (tg.TrainingGraph, ([],), "optimiser", "optimizer"),
    (tg.TrainingGraph, ([],), "losses", "loss"),
    (tg.Device.cpu, (), "thread", "threads"),
    (tg.Device.cpu, (), "num_threads", "threads"),
    (tg.set_num_threads, (), "threads", ""),
    (N.ConvolutionData, (np.zeros((1, 1, 1, 1), F32),), "bias", "bias_terms"),
    (N.NormalizationData, (3,), "eps", "epsilon"),
    (N.ReLUNode, (N.ImageNode("i", (1, 2, 2)),), "label", "name"),
    (tg.ParameterGroup, ([],), "lr", "lr_scale"),
    (tg.fit, (None, []), "epoch", "epochs"),
    (tg.fit, (None, []), "val", "validation"),
    (tg.fit, (None, []), "callback", "callbacks"),
    (tg.fit, (None, []), "verbose", "progress"),
    (tg.fit, (None, []), "metric", "metrics"),
    (tg.fit, (None, []), "restore_best_weights", "keep_best"),
    (tg.fit, (None, []), "mode", "maximize"),
    (tg.evaluate, (None, []), "batch", "batch_size"),
    (tg.predict, (None, []), "batchsize", "batch_size"),
    (tg.callbacks.ReduceOnPlateau, (), "min_lr", "min_rate"),
    (tg.callbacks.MovingAverage, (), "evry", "every"),
    (tg.metrics.top_k_accuracy, ([[1, 2]], [1]), "ignore_idx", "ignore_index"),
    (tg.parameters_of, (None,), "wher", "where"),
    (tg.prefetch, ([],), "siz", "size"),
    (tg.History("loss").plot, (), "axis", "axes"),
    (tg.mpi_collective, (), "comm", "communicator"),
    (tg.onnx.load, ("net.onnx",), "batch", "batch_size"),
    (tg.onnx.save, (None, "net.onnx"), "external", "external_data"),
]

METHOD_TYPOS: list[tuple[str, tuple[Any, ...], str, str]] = [
    ("execute", (), "batch", "batch_size"),
    ("execute", (), "sync", "synchronous"),
    ("execute", (), "inputs", "inputs_data"),
    ("execute", (), "labels", "loss_labels_data"),
    ("execute", (), "callback", "completion_handler"),
    ("execute_forward", (), "forward_for_inferense", "forward_for_inference"),
    ("execute_gradient", (), "profile", "profiling"),
    ("add_inputs", ({},), "labels", "loss_labels"),
    ("add_outputs", (), "output", "outputs"),
    ("compile", (), "devise", "device"),
    ("compile", (), "link_graph", "link_graphs"),
    ("compile", (), "debug", "debug_layers"),
    ("bind_and_write_data", ({},), "batch", "batch_size"),
    ("stop_gradient", (), "tensor", "tensors"),
]

OP_TYPOS: list[tuple[str, int, str, str]] = [
    ("softmax", 1, "axes", "axis"),
    ("softmax", 1, "dimension", "axis"),
    ("max_pool_2d", 1, "stride", "strides"),
]

# Cases of enums, as text.
CASE_TYPOS: list[tuple[Callable[[str], Any], str, str]] = [
    (lambda case: L.Activation(case), "relux", "relu"),
    (lambda case: L.Activation(case), "Sigmoid", "sigmoid"),
    (lambda case: L.Activation(case), "leaky", ""),
    (lambda case: L.Arithmetic(case), "substract", "subtract"),
    (lambda case: L.Convolution(1, 1, 3, padding=case), "smae", "same"),
    (lambda case: S.MeanSquaredError(case), "meen", "mean"),
    (lambda case: tg.Device(case), "cuda", "gpu"),
    (lambda case: tg.Device(case), "mps", "gpu"),
    (lambda case: tg.Device(case), "CPU", "cpu"),
]
