// SPDX-License-Identifier: MIT
#include "ops/op_docs.h"

namespace traingraph {

std::string document_lstm_steps() {
  return R"doc(
    An LSTM layer in one direction, over T steps of N samples, H wide.

    The input is multiplied by its weights, with the bias added, by ``matmul``
    before. With h' and c' the state and the cell of the step before::

        i, f, z, o = act(x[t] + (h' * mask) @ recurrent_weights.T + peephole * c')
        c = f * c' + i * z
        h = o * activation(c)

    Args:
        x: (T, N, 4 * H): the four gates' input side by side, in the order
            input, forget, cell, output.
        recurrent_weights: (4 * H, H).
        initial_state: (N, H); None: zeros.
        initial_cell: (N, H); None: zeros.
        peephole: (4 * H): what the cell adds to each gate; None: nothing.
        mask: (N, H): multiplies the state in front of the product; None: ones.
        lengths: int32, (N): how many steps each sample has. Further ones give
            zeros and leave the state alone. None: all have T.

    Returns:
        hidden: (T, N, H): the states h.
        cells: (T, N, H): the cells c.
        gates: (T, N, 4 * H): what the gradient reads of the gates.
        last_hidden: (N, H): the state after the last step of each sample.
        last_cell: (N, H): its cell.
)doc";
}

std::string document_lstm_steps_gradient() {
  return R"doc(
    The gradients of ``lstm_steps``; inputs that are None count as there.

    Args:
        gates: The forward op's result.
        cells: The forward op's result.
        hidden: The forward op's result; None computes it again.
        recurrent_weights: The forward op's.
        initial_state: The forward op's.
        initial_cell: The forward op's.
        peephole: The forward op's.
        mask: The forward op's.
        lengths: The forward op's.
        hidden_gradient: That of hidden; None, here as below: zeros.
        cells_gradient: That of cells.
        gates_gradient: That of gates.
        last_hidden_gradient: That of last_hidden.
        last_cell_gradient: That of last_cell.

    Returns:
        dx: (T, N, 4 * H).
        drecurrent_weights: (4 * H, H).
        dpeephole: (4 * H).
        dinitial_state: (N, H).
        dinitial_cell: (N, H).
        dmask: (N, H).
)doc";
}

std::string document_gru_steps() {
  return R"doc(
    A GRU layer in one direction, over T steps of N samples, H wide.

    The input is multiplied by its weights, with the bias added, by ``matmul``
    before. With h' the state of the step before, k = h' * mask and R the
    recurrent weights::

        z = update(x_z[t] + k @ R_z.T)
        r = reset(x_r[t] + k @ R_r.T)
        o = output(x_o[t] + r * (k @ R_o.T + secondary_bias))
        h = z * h' + (1 - z) * o

    Args:
        x: (T, N, 3 * H): the three gates' input side by side, in the order
            reset, update, output.
        recurrent_weights: (3 * H, H).
        initial_state: (N, H); None: zeros.
        mask: (N, H): multiplies the state in front of the product; None: ones.
        secondary_bias: (H): added within the reset gate's reach, with
            ``reset_after``; None: zeros.
        lengths: int32, (N): how many steps each sample has. Further ones give
            zeros and leave the state alone. None: all have T.

    Returns:
        hidden: (T, N, H): the states h.
        gates: (T, N, 3 * H): what the gradient reads of the gates.
        last_hidden: (N, H): the state after the last step of each sample.
)doc";
}

std::string document_gru_steps_gradient() {
  return R"doc(
    The gradients of ``gru_steps``; inputs that are None count as there.

    Args:
        gates: The forward op's result.
        hidden: The forward op's result.
        recurrent_weights: The forward op's.
        initial_state: The forward op's.
        mask: The forward op's.
        secondary_bias: The forward op's.
        lengths: The forward op's.
        hidden_gradient: That of hidden; None, here as below: zeros.
        gates_gradient: That of gates.
        last_hidden_gradient: That of last_hidden.

    Returns:
        dx: (T, N, 3 * H).
        drecurrent_weights: (3 * H, H).
        dinitial_state: (N, H).
        dmask: (N, H).
        dsecondary_bias: (H); zeros without ``reset_after``.
)doc";
}

std::string document_single_gate_steps() {
  return R"doc(
    A plain recurrent layer in one direction, over T steps of N samples, H wide:
    ``h = activation(x[t] + (h' * mask) @ recurrent_weights.T)``, h' being the
    state of the step before.

    The input is multiplied by its weights, with the bias added, by ``matmul``
    before.

    Args:
        x: (T, N, H).
        recurrent_weights: (H, H).
        initial_state: (N, H); None: zeros.
        mask: (N, H): multiplies the state in front of the product; None: ones.
        lengths: int32, (N): how many steps each sample has. Further ones give
            zeros and leave the state alone. None: all have T.

    Returns:
        hidden: (T, N, H): the states h.
        gates: (T, N, H): what the gradient reads of the gate.
        last_hidden: (N, H): the state after the last step of each sample.
)doc";
}

std::string document_single_gate_steps_gradient() {
  return R"doc(
    The gradients of ``single_gate_steps``; inputs that are None count as there.

    Args:
        gates: The forward op's result.
        recurrent_weights: The forward op's.
        initial_state: The forward op's.
        mask: The forward op's.
        lengths: The forward op's.
        hidden_gradient: That of hidden; None, here as below: zeros.
        gates_gradient: That of gates.
        last_hidden_gradient: That of last_hidden.

    Returns:
        dx: (T, N, H).
        drecurrent_weights: (H, H).
        dinitial_state: (N, H).
        dmask: (N, H).
)doc";
}

}  // namespace traingraph
