// SPDX-License-Identifier: MIT
// An example of each op that users call; tests/python/test_op_docs.py runs
// them.
#include <algorithm>
#include <iterator>

#include "op_docs.h"

namespace traingraph::python {
namespace {

struct OpExample {
  std::string_view op, lines;
};

constexpr OpExample kOpExamples[] = {
    {"activation", R"pbdoc(
    >>> x = tg.Tensor((8, 10))
    >>> g.ops.activation(x, type="relu", a=0.1).shape
    (8, 10)
)pbdoc"},
    {"unary", R"pbdoc(
    >>> x = tg.Tensor((8, 10))
    >>> g.ops.unary(x, operation="exp").shape
    (8, 10)
)pbdoc"},
    {"binary", R"pbdoc(
    >>> x, y = tg.Tensor((8, 10)), tg.Tensor((10,))
    >>> g.ops.binary(x, y, operation="max").shape
    (8, 10)
)pbdoc"},
    {"compare", R"pbdoc(
    >>> x, y = tg.Tensor((8, 10)), tg.Tensor((8, 1))
    >>> g.ops.compare(x, y, operation="greater")
    <Tensor "compare", (8, 10), boolean>
)pbdoc"},
    {"logical_not", R"pbdoc(
    >>> is_padding = tg.Tensor((8, 10), "bool")
    >>> g.ops.logical_not(is_padding).shape
    (8, 10)
)pbdoc"},
    {"select", R"pbdoc(
    >>> x, is_padding = tg.Tensor((8, 10)), tg.Tensor((8, 10), "bool")
    >>> g.ops.select(is_padding, 0.0, x).shape
    (8, 10)
)pbdoc"},
    {"cast", R"pbdoc(
    >>> x = tg.Tensor((8, 10), "int32")
    >>> g.ops.cast(x, data_type="float32")
    <Tensor "cast", (8, 10), float32>
)pbdoc"},
    {"fill", R"pbdoc(
    >>> g.ops.fill(shape=(2, 3), value=1.0).shape
    (2, 3)
)pbdoc"},
    {"dropout", R"pbdoc(
    >>> x = tg.Tensor((8, 10))
    >>> state = tg.Tensor((4,), "int32", batch_axis=None)
    >>> g.ops.dropout(x, state, rate=0.2).shape
    (8, 10)
)pbdoc"},
    {"stop_gradient", R"pbdoc(
    >>> x = tg.Tensor((8, 10))
    >>> rounded = g.ops.unary(x, operation="round")
    >>> error = g.ops.stop_gradient(g.ops.binary(rounded, x, operation="subtract"))
    >>> g.ops.binary(x, error, operation="add").shape  # round(x), of slope 1
    (8, 10)
)pbdoc"},
    {"matmul", R"pbdoc(
    >>> x, y = tg.Tensor((8, 5, 3)), tg.Tensor((4, 3))
    >>> g.ops.matmul(x, y, transposes_y=True).shape
    (8, 5, 4)
)pbdoc"},
    {"convolution_2d", R"pbdoc(
    >>> x, weights = tg.Tensor((8, 3, 32, 32)), tg.Tensor((16, 3, 3, 3))
    >>> g.ops.convolution_2d(x, weights, strides=2, padding=1).shape
    (8, 16, 16, 16)
)pbdoc"},
    {"max_pool_2d", R"pbdoc(
    >>> x = tg.Tensor((8, 3, 32, 32))
    >>> y, state = g.ops.max_pool_2d(x, kernel_size=2, strides=2)
    >>> y.shape
    (8, 3, 16, 16)
)pbdoc"},
    {"average_pool_2d", R"pbdoc(
    >>> x = tg.Tensor((8, 3, 32, 32))
    >>> g.ops.average_pool_2d(x, kernel_size=2, strides=2).shape
    (8, 3, 16, 16)
)pbdoc"},
    {"batch_norm", R"pbdoc(
    >>> x = tg.Tensor((8, 3, 32, 32))
    >>> mean = tg.Tensor((3,), data=np.zeros(3))
    >>> variance = tg.Tensor((3,), data=np.ones(3))
    >>> y, *_ = g.ops.batch_norm(x, None, None, mean, variance)
    >>> y.shape
    (8, 3, 32, 32)
)pbdoc"},
    {"batch_norm_moments", R"pbdoc(
    >>> x = tg.Tensor((8, 3, 32, 32))
    >>> g.ops.batch_norm_moments(x).shape
    (4, 3)
)pbdoc"},
    {"batch_norm_apply", R"pbdoc(
    >>> x = tg.Tensor((8, 3, 32, 32))
    >>> mean = tg.Tensor((3,), data=np.zeros(3))
    >>> variance = tg.Tensor((3,), data=np.ones(3))
    >>> moments = g.ops.batch_norm_moments(x)
    >>> y, *_ = g.ops.batch_norm_apply(x, None, None, mean, variance, moments)
    >>> y.shape
    (8, 3, 32, 32)
)pbdoc"},
    {"sample_norm", R"pbdoc(
    >>> x = tg.Tensor((8, 4, 32, 32))
    >>> y, mean, variance = g.ops.sample_norm(x, groups=2)
    >>> y.shape, mean.shape
    ((8, 4, 32, 32), (8, 2, 1, 1))
)pbdoc"},
    {"softmax", R"pbdoc(
    >>> x = tg.Tensor((8, 10))
    >>> g.ops.softmax(x, axis=1).shape
    (8, 10)
)pbdoc"},
    {"reduce", R"pbdoc(
    >>> x = tg.Tensor((8, 3, 32, 32))
    >>> g.ops.reduce(x, type="mean", axes=(2, 3)).shape
    (8, 3, 1, 1)
)pbdoc"},
    {"broadcast_to", R"pbdoc(
    >>> x = tg.Tensor((8, 1))
    >>> g.ops.broadcast_to(x, shape=(8, 10)).shape
    (8, 10)
)pbdoc"},
    {"squared_norm", R"pbdoc(
    >>> x = tg.Tensor((8, 10))
    >>> g.ops.squared_norm(x).shape
    (1,)
)pbdoc"},
    {"cumulative_sum", R"pbdoc(
    >>> mask = tg.Tensor((8, 10), "int64")
    >>> g.ops.cumulative_sum(mask, axis=1).shape
    (8, 10)
)pbdoc"},
    {"lstm_steps", R"pbdoc(
    >>> x, weights = tg.Tensor((5, 8, 4 * 16)), tg.Tensor((4 * 16, 16))
    >>> hidden, cells, gates, last, cell = g.ops.lstm_steps(x, weights)
    >>> hidden.shape, last.shape
    ((5, 8, 16), (8, 16))
)pbdoc"},
    {"gru_steps", R"pbdoc(
    >>> x, weights = tg.Tensor((5, 8, 3 * 16)), tg.Tensor((3 * 16, 16))
    >>> hidden, gates, last = g.ops.gru_steps(x, weights)
    >>> hidden.shape, last.shape
    ((5, 8, 16), (8, 16))
)pbdoc"},
    {"single_gate_steps", R"pbdoc(
    >>> x, weights = tg.Tensor((5, 8, 16)), tg.Tensor((16, 16))
    >>> hidden, gates, last = g.ops.single_gate_steps(x, weights)
    >>> hidden.shape, last.shape
    ((5, 8, 16), (8, 16))
)pbdoc"},
    {"reshape", R"pbdoc(
    >>> x = tg.Tensor((8, 3, 32, 32))
    >>> g.ops.reshape(x, shape=(8, -1)).shape
    (8, 3072)
)pbdoc"},
    {"transpose", R"pbdoc(
    >>> x = tg.Tensor((8, 32, 32, 3))
    >>> g.ops.transpose(x, axes=(0, 3, 1, 2)).shape
    (8, 3, 32, 32)
)pbdoc"},
    {"concatenate", R"pbdoc(
    >>> x, y = tg.Tensor((8, 3)), tg.Tensor((8, 4))
    >>> g.ops.concatenate(x, y, axis=1).shape
    (8, 7)
)pbdoc"},
    {"slice", R"pbdoc(
    >>> x = tg.Tensor((8, 10))
    >>> g.ops.slice(x, start=(0, 1), end=(8, 10), stride=(1, 2)).shape
    (8, 5)
)pbdoc"},
    {"pad", R"pbdoc(
    >>> x = tg.Tensor((8, 3, 30, 30))
    >>> around = (0, 0, 1, 1)
    >>> g.ops.pad(x, type="reflect", before=around, after=around).shape
    (8, 3, 32, 32)
)pbdoc"},
    {"upsample", R"pbdoc(
    >>> x = tg.Tensor((8, 3, 16, 16))
    >>> g.ops.upsample(x, shape=(32, 32), sample_mode="linear").shape
    (8, 3, 32, 32)
)pbdoc"},
    {"gather", R"pbdoc(
    >>> x, indices = tg.Tensor((8, 10, 4)), tg.Tensor((3,), "int32")
    >>> g.ops.gather(x, indices, axis=1).shape
    (8, 3, 4)
    >>> scores, label = tg.Tensor((8, 10)), tg.Tensor((8,), "int32")
    >>> column = g.ops.reshape(label, shape=(-1, 1))
    >>> g.ops.gather(scores, column, axis=1).shape  # one element of each sample
    (8, 1)
)pbdoc"},
    {"scatter", R"pbdoc(
    >>> x, indices = tg.Tensor((8, 3, 4)), tg.Tensor((3,), "int32")
    >>> zeros = tg.Tensor((8, 10, 4))
    >>> g.ops.scatter(x, indices, zeros, axis=1, reduction_type="sum").shape
    (8, 10, 4)
)pbdoc"},
    {"embedding", R"pbdoc(
    >>> table = tg.Tensor((1000, 16), data=np.zeros((1000, 16)))
    >>> words = tg.Tensor((8, 20), "int32")
    >>> g.ops.embedding(table, words).shape
    (8, 20, 16)
)pbdoc"},
    {"loss", R"pbdoc(
    >>> scores, classes = tg.Tensor((8, 10)), tg.Tensor((8,), "int64")
    >>> g.ops.loss(scores, classes, type="softmax_cross_entropy").shape
    (1,)
)pbdoc"},
    {"yolo_loss", R"pbdoc(
    >>> boxes, labels = tg.Tensor((8, 14, 13, 13)), tg.Tensor((8, 14, 13, 13))
    >>> anchors = tg.Tensor((2, 2), data=[[1.0, 1.5], [3.0, 2.0]])
    >>> g.ops.yolo_loss(boxes, labels, anchors).shape
    (8,)
)pbdoc"},
    {"ctc_loss", R"pbdoc(
    >>> scores, letters = tg.Tensor((8, 50, 27)), tg.Tensor((8, 12), "int32")
    >>> g.ops.ctc_loss(scores, letters).shape
    (8,)
)pbdoc"},
    {"attention", R"pbdoc(
    >>> query, key = tg.Tensor((8, 5, 64)), tg.Tensor((8, 7, 64))
    >>> output, *_ = g.ops.attention(query, key, key, head_count=4)
    >>> output.shape
    (8, 5, 64)
)pbdoc"},
};

}  // namespace

std::string_view op_example(std::string_view op) {
  const auto* const found = std::ranges::find(kOpExamples, op, &OpExample::op);
  return found == std::end(kOpExamples) ? std::string_view() : found->lines;
}

}  // namespace traingraph::python
