// SPDX-License-Identifier: MIT
#include "ops/op_docs.h"

namespace traingraph {

std::string document_attention() {
  return R"doc(
    Scaled dot-product attention of several heads, which share the last axis:
    ``softmax(scale * query @ key.T + mask) @ value`` for each.

    A query that sees no key has output 0. ``layers.MultiheadAttention`` has the
    products around it.

    Args:
        query: (N, L, heads * D).
        key: (N, S, heads * D).
        value: (N, S, heads * V).
        key_mask: Boolean, (N, S): True for keys that nobody sees; None: all
            are seen.
        attention_mask: (1, L, S), or (N * heads, L, S): boolean, True where a
            query does not see a key, or floats of the query's type, which are
            added to the scores; None: nothing.
        random_state: int32, (4): the low and the high word of the seed, then
            those of the step. For dropout alone.

    Returns:
        output: (N, L, heads * V).
        log_sum: float32, (N, heads, L): the logarithms of the sums of the
            exponentials of the scores.
        log_sum_rest: float32, (N, heads, L): what rounding took of log_sum,
            for the gradient.
)doc";
}

std::string document_attention_gradient() {
  return R"doc(
    The gradients of ``attention`` by query, key, value and a mask of floats.

    Args:
        gradient: That of the output.
        query: The forward op's.
        key: The forward op's.
        value: The forward op's.
        output: The forward op's first result.
        log_sum: Its second.
        key_mask: The forward op's.
        attention_mask: The forward op's.
        random_state: The forward op's.
        log_sum_gradient: float32, (N, heads, L): the gradient of log_sum.
        log_sum_rest: The forward op's third result.

    Returns:
        dquery: The gradient of query.
        dkey: The gradient of key.
        dvalue: The gradient of value.
        dmask: float32, (N * heads, L, S): the gradient of the mask.
)doc";
}

}  // namespace traingraph
