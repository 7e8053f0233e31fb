// SPDX-License-Identifier: MIT
#include "rnn.h"

namespace emulator {
namespace {

/// Rows of the gates i, f, z, o.
std::array<std::int64_t, 4> blocks_of(const Lstm& lstm) {
  if (lstm.is_forget_last) return {0, 2, 1, 3};
  return {0, 1, 2, 3};
}

std::int64_t nth(const Lstm& lstm, std::int64_t i, std::int64_t steps) {
  return lstm.is_reverse ? steps - 1 - i : i;
}

}  // namespace

Kernel lstm(const Lstm& lstm) {
  return [lstm](const std::vector<const Array*>& arrays,
                std::vector<Array>& results) {
    Inputs inputs(arrays);
    const Array* source = inputs.next();
    const Array* weight = inputs.next();
    const Array* state = inputs.next(lstm.has_state);
    const Array* cell = inputs.next(lstm.has_cell);
    const Array* mask = inputs.next(lstm.has_mask);
    const Array* peephole = inputs.next(lstm.has_peephole);
    const std::int64_t steps = source->type.shape[0],
                       samples = source->type.shape[1],
                       hidden = weight->type.shape[1];
    const auto block = blocks_of(lstm);
    for (std::int64_t n = 0; n < samples; ++n) {
      for (std::int64_t i = 0; i < steps; ++i) {
        const std::int64_t t = nth(lstm, i, steps);
        const auto before = [&](int result, const Array* first,
                                std::int64_t j) {
          if (i == 0) return at_or(first, n * hidden + j, 0);
          const std::int64_t last = nth(lstm, i - 1, steps);
          return at_or(&results[result], (last * samples + n) * hidden + j, 0);
        };
        for (std::int64_t j = 0; j < hidden; ++j) {
          const double old = before(1, cell, j);
          double gate[4];
          for (int q = 0; q < 4; ++q) {
            const std::int64_t row = block[q] * hidden + j;
            const std::int64_t at = (t * samples + n) * 4 * hidden + row;
            double u = source->data[at] + at_or(peephole, row, 0) * old;
            for (std::int64_t k = 0; k < hidden; ++k) {
              u += before(0, state, k) * at_or(mask, n * hidden + k, 1) *
                   weight->data[row * hidden + k];
            }
            gate[q] = value_of(lstm.activations[q], u);
            results[2].data[at] = gate[q];
          }
          const double c = gate[1] * old + gate[0] * gate[2];
          const std::int64_t at = (t * samples + n) * hidden + j;
          results[1].data[at] = c;
          results[0].data[at] = gate[3] * value_of(lstm.activations[4], c);
        }
      }
    }
  };
}

Kernel lstm_gradients(const Lstm& lstm) {
  return [lstm](const std::vector<const Array*>& arrays,
                std::vector<Array>& results) {
    Inputs inputs(arrays);
    const Array* weight = inputs.next();
    const Array* gradient = inputs.next();
    const Array* gates = inputs.next();
    const Array* cells = inputs.next();
    const Array* state_gradient = inputs.next(lstm.has_state_gradient);
    const Array* cell_gradient = inputs.next(lstm.has_cell_gradient);
    const Array* state = inputs.next(lstm.has_state);
    const Array* cell = inputs.next(lstm.has_cell);
    const Array* mask = inputs.next(lstm.has_mask);
    const Array* peephole = inputs.next(lstm.has_peephole);
    Array &dx = results[0], &dweight = results[1];
    std::size_t next = 2;
    Array* const dpeephole = peephole ? &results[next++] : nullptr;
    Array* const dstate = state ? &results[next++] : nullptr;
    Array* const dcell = cell ? &results[next++] : nullptr;

    const std::int64_t steps = gates->type.shape[0],
                       samples = gates->type.shape[1],
                       hidden = weight->type.shape[1];
    const auto block = blocks_of(lstm);
    const RnnActivation g = lstm.activations[4];
    for (std::int64_t n = 0; n < samples; ++n) {
      std::vector<double> carry_h, carry_c;
      for (std::int64_t j = 0; j < hidden; ++j) {
        carry_h.push_back(at_or(state_gradient, n * hidden + j, 0));
        carry_c.push_back(at_or(cell_gradient, n * hidden + j, 0));
      }
      for (std::int64_t i = steps - 1; i >= 0; --i) {
        const std::int64_t t = nth(lstm, i, steps);
        const auto gate = [&](std::int64_t step, int q, std::int64_t j) {
          const std::int64_t row = block[q] * hidden + j;
          return gates->data[(step * samples + n) * 4 * hidden + row];
        };
        const auto cell_at = [&](std::int64_t step, std::int64_t j) {
          return cells->data[(step * samples + n) * hidden + j];
        };
        const std::int64_t last = i == 0 ? -1 : nth(lstm, i - 1, steps);
        const auto set = [&](int q, std::int64_t j, double d, double old) {
          const double a = d * slope_of(lstm.activations[q], gate(t, q, j));
          const std::int64_t row = block[q] * hidden + j;
          dx.data[(t * samples + n) * 4 * hidden + row] = a;
          if (dpeephole) dpeephole->data[row] += a * old;
          carry_c[j] += at_or(peephole, row, 0) * a;
        };
        for (std::int64_t j = 0; j < hidden; ++j) {
          const double dh =
              gradient->data[(t * samples + n) * hidden + j] + carry_h[j];
          const double y = value_of(g, cell_at(t, j));
          const double old =
              last < 0 ? at_or(cell, n * hidden + j, 0) : cell_at(last, j);
          const double dc = carry_c[j] + dh * gate(t, 3, j) * slope_of(g, y);
          carry_c[j] = dc * gate(t, 1, j);
          set(0, j, dc * gate(t, 2, j), old);
          set(1, j, dc * old, old);
          set(2, j, dc * gate(t, 0, j), old);
          set(3, j, dh * y, old);
        }
        for (std::int64_t k = 0; k < hidden; ++k) {
          const double m = at_or(mask, n * hidden + k, 1);
          const double before =
              last < 0 ? at_or(state, n * hidden + k, 0)
                       : gate(last, 3, k) * value_of(g, cell_at(last, k));
          double sum = 0;
          for (std::int64_t row = 0; row < 4 * hidden; ++row) {
            const double a = dx.data[(t * samples + n) * 4 * hidden + row];
            sum += a * weight->data[row * hidden + k];
            dweight.data[row * hidden + k] += a * before * m;
          }
          carry_h[k] = sum * m;
        }
      }
      for (std::int64_t j = 0; j < hidden; ++j) {
        if (dstate) dstate->data[n * hidden + j] = carry_h[j];
        if (dcell) dcell->data[n * hidden + j] = carry_c[j];
      }
    }
  };
}

}  // namespace emulator
