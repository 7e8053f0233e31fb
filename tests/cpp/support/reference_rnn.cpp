// SPDX-License-Identifier: MIT
// Reference of the rnn family: the recurrence one sample and one step at a
// time, and its gradient by the chain rule. The gradients of the other ops'
// tests, central differences of the forward op, check the latter.
#include <algorithm>
#include <array>
#include <cmath>

#include "ops/elementwise_parameters.h"
#include "support/reference_families.h"
#include "support/reference_recurrent.h"

namespace traingraph::testing {
namespace {

/// The gates i, f, z, o with their blocks, and the activation of the cell.
struct Gates {
  std::array<ActivationAttrs, 4> f;
  ActivationAttrs cell;
  std::array<std::int64_t, 4> block{0, 1, 2, 3};

  explicit Gates(const LstmAttrs& a)
      : f{{{a.input_gate_activation, a.input_gate_a, a.input_gate_b},
           {a.forget_gate_activation, a.forget_gate_a, a.forget_gate_b},
           {a.cell_gate_activation, a.cell_gate_a, a.cell_gate_b},
           {a.output_gate_activation, a.output_gate_a, a.output_gate_b}}},
        cell{a.activation, a.activation_a, a.activation_b} {
    for (ActivationAttrs& gate : f) gate = with_defaults(gate);
    cell = with_defaults(cell);
    if (a.forget_gate_last) block = {0, 2, 1, 3};
  }
};

}  // namespace

RefTensors reference_lstm_steps(const LstmAttrs& attrs, RefTensors& in) {
  const RefTensor &x = in[0], &weights = in[1], &h0 = in[2], &c0 = in[3],
                  &peephole = in[4], &mask = in[5], &lengths = in[6];
  const Gates gates(attrs);
  const std::int64_t steps = x.shape[0], samples = x.shape[1];
  const std::int64_t hidden = weights.shape[1];
  const Shape state{samples, hidden}, states{steps, samples, hidden};
  RefTensors out{zeros(states), zeros(states), zeros(x.shape), zeros(state),
                 zeros(state)};
  for (std::int64_t n = 0; n < samples; ++n) {
    std::vector<double> h, c;
    for (std::int64_t j = 0; j < hidden; ++j) {
      h.push_back(at_or(h0, {n, j}, 0));
      c.push_back(at_or(c0, {n, j}, 0));
    }
    for (std::int64_t t : steps_of(lengths, n, steps, attrs.reverse)) {
      std::vector<double> last;
      for (std::int64_t k = 0; k < hidden; ++k) {
        last.push_back(operand(h[k] * at_or(mask, {n, k}, 1)));
      }
      for (std::int64_t j = 0; j < hidden; ++j) {
        double value[4];
        const double old = c[j];
        for (int q = 0; q < 4; ++q) {
          const std::int64_t row = gates.block[q] * hidden + j;
          double u = x({t, n, row});
          for (std::int64_t k = 0; k < hidden; ++k) {
            u += weights({row, k}) * last[k];
          }
          const bool reads_new = q == 3 && attrs.output_peephole_reads_new_cell;
          if (q == 3) c[j] = value[1] * old + value[0] * value[2];
          u += at_or(peephole, {row}, 0) * (reads_new ? c[j] : old);
          value[q] = activate(gates.f[q], u);
          out[2]({t, n, row}) = saves_value(gates.f[q]) ? value[q] : u;
        }
        h[j] = value[3] * activate(gates.cell, c[j]);
        out[0]({t, n, j}) = h[j];
        out[1]({t, n, j}) = c[j];
      }
    }
    for (std::int64_t j = 0; j < hidden; ++j) {
      out[3]({n, j}) = h[j];
      out[4]({n, j}) = c[j];
    }
  }
  return out;
}

RefTensors reference_lstm_steps_gradient(const LstmAttrs& attrs,
                                         RefTensors& in) {
  const RefTensor &saved = in[0], &cells = in[1], &own = in[2],
                  &weights = in[3], &h0 = in[4], &c0 = in[5], &peephole = in[6],
                  &mask = in[7], &lengths = in[8], &dhidden = in[9],
                  &dcells = in[10], &dgates = in[11], &dlast_hidden = in[12],
                  &dlast_cell = in[13];
  const Gates gates(attrs);
  const std::int64_t steps = saved.shape[0], samples = saved.shape[1];
  const std::int64_t hidden = weights.shape[1];
  const Shape state{samples, hidden};
  RefTensors out{zeros(saved.shape), zeros(weights.shape), zeros({4 * hidden}),
                 zeros(state),       zeros(state),         zeros(state)};
  const auto value_of = [&](int q, std::int64_t t, std::int64_t n,
                            std::int64_t j) {
    const double z = saved({t, n, gates.block[q] * hidden + j});
    return saves_value(gates.f[q]) ? z : activate(gates.f[q], z);
  };
  const bool reads_new_cell = attrs.output_peephole_reads_new_cell;
  for (std::int64_t n = 0; n < samples; ++n) {
    const auto order = steps_of(lengths, n, steps, attrs.reverse);
    std::vector<double> dh, dc;
    for (std::int64_t j = 0; j < hidden; ++j) {
      dh.push_back(at_or(dlast_hidden, {n, j}, 0));
      dc.push_back(at_or(dlast_cell, {n, j}, 0));
    }
    for (auto i = static_cast<std::int64_t>(order.size()) - 1; i >= 0; --i) {
      const std::int64_t t = order[i];
      const auto state_before = [&](std::int64_t j) {
        if (i == 0) return at_or(h0, {n, j}, 0);
        const std::int64_t s = order[i - 1];
        // These differ in nothing but how they are stored.
        if (own.is_present()) return own({s, n, j});
        return value_of(3, s, n, j) * activate(gates.cell, cells({s, n, j}));
      };
      const auto cell_before = [&](std::int64_t j) {
        return i == 0 ? at_or(c0, {n, j}, 0) : cells({order[i - 1], n, j});
      };
      for (std::int64_t j = 0; j < hidden; ++j) {
        const auto row = [&](int q) { return gates.block[q] * hidden + j; };
        const double c = cells({t, n, j}), old = cell_before(j);
        double value[4];
        for (int q = 0; q < 4; ++q) value[q] = value_of(q, t, n, j);
        const double total = dh[j] + at_or(dhidden, {t, n, j}, 0);
        double down = dc[j] + at_or(dcells, {t, n, j}, 0) +
                      total * value[3] * slope(gates.cell, c);
        // What a gate's result gets becomes what its argument gets.
        const auto finish = [&](int q, double d) {
          const double z = saved({t, n, row(q)});
          const double more = at_or(dgates, {t, n, row(q)}, 0);
          d = saves_value(gates.f[q])
                  ? (d + more) * slope_of_value(gates.f[q], z)
                  : d * slope(gates.f[q], z) + more;
          out[0]({t, n, row(q)}) = d;
          return d;
        };
        const auto p = [&](int q) { return at_or(peephole, {row(q)}, 0); };
        const double a_o = finish(3, total * activate(gates.cell, c));
        if (reads_new_cell) down += p(3) * a_o;
        const double a_i = finish(0, down * value[2]);
        const double a_f = finish(1, down * old);
        const double a_z = finish(2, down * value[0]);
        dc[j] = down * value[1] + p(0) * a_i + p(1) * a_f + p(2) * a_z;
        if (!reads_new_cell) dc[j] += p(3) * a_o;
      }
      std::vector<double> d;
      for (std::int64_t row = 0; row < 4 * hidden; ++row) {
        d.push_back(operand(out[0]({t, n, row})));
      }
      for (int q = 0; q < 4; ++q) {
        for (std::int64_t j = 0; j < hidden; ++j) {
          const std::int64_t row = gates.block[q] * hidden + j;
          const bool reads_new = q == 3 && reads_new_cell;
          out[2]({row}) +=
              d[row] * (reads_new ? cells({t, n, j}) : cell_before(j));
        }
      }
      for (std::int64_t k = 0; k < hidden; ++k) {
        const double m = at_or(mask, {n, k}, 1);
        const double multiplied = operand(state_before(k) * m);
        double sum = 0;
        for (std::int64_t row = 0; row < 4 * hidden; ++row) {
          sum += d[row] * weights({row, k});
          out[1]({row, k}) += d[row] * multiplied;
        }
        dh[k] = sum * m;
        out[5]({n, k}) += sum * state_before(k);
      }
    }
    for (std::int64_t j = 0; j < hidden; ++j) {
      out[3]({n, j}) = dh[j];
      out[4]({n, j}) = dc[j];
    }
  }
  return out;
}

}  // namespace traingraph::testing
