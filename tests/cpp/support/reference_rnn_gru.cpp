// SPDX-License-Identifier: MIT
// Reference of the GRU and the single gate: the recurrence one sample and one
// step at a time. The gradient ops are the derivative of that by the chain
// rule, run backward over a tape of the sample's steps; central differences of
// the forward op check them.
#include <algorithm>
#include <cmath>

#include "ops/elementwise_parameters.h"
#include "support/reference_families.h"
#include "support/reference_recurrent.h"

namespace traingraph::testing {
namespace {

using Row = std::vector<double>;

struct GruGates {
  ActivationAttrs z, r, o;
  std::int64_t z_block, r_block;

  explicit GruGates(const GruAttrs& a)
      : z(with_defaults(
            {a.update_gate_activation, a.update_gate_a, a.update_gate_b})),
        r(with_defaults(
            {a.reset_gate_activation, a.reset_gate_a, a.reset_gate_b})),
        o(with_defaults(
            {a.output_gate_activation, a.output_gate_a, a.output_gate_b})),
        z_block(a.reset_gate_first ? 1 : 0),
        r_block(a.reset_gate_first ? 0 : 1) {}
};

/// Rows [first, first + hidden) of the matrix times x.
Row rows_times(const RefTensor& matrix, std::int64_t first, const Row& x) {
  const auto hidden = static_cast<std::int64_t>(x.size());
  Row y(x.size());
  for (std::int64_t i = 0; i < hidden; ++i) {
    for (std::int64_t k = 0; k < hidden; ++k) {
      y[i] += matrix({first + i, k}) * x[k];
    }
  }
  return y;
}

/// x times these rows.
Row times_rows(const RefTensor& matrix, std::int64_t first, const Row& x) {
  Row y(x.size());
  const auto hidden = static_cast<std::int64_t>(x.size());
  for (std::int64_t i = 0; i < hidden; ++i) {
    for (std::int64_t k = 0; k < hidden; ++k) {
      y[k] += x[i] * matrix({first + i, k});
    }
  }
  return y;
}

void add_outer(RefTensor& matrix, std::int64_t first, const Row& x,
               const Row& y) {
  const auto hidden = static_cast<std::int64_t>(x.size());
  for (std::int64_t i = 0; i < hidden; ++i) {
    for (std::int64_t k = 0; k < hidden; ++k) {
      matrix({first + i, k}) += x[i] * y[k];
    }
  }
}

Row row_of(const RefTensor& x, const Shape& before, std::int64_t first,
           std::int64_t hidden, double missing) {
  Row row;
  for (std::int64_t j = 0; j < hidden; ++j) {
    Shape at = before;
    at.push_back(first + j);
    row.push_back(at_or(x, at, missing));
  }
  return row;
}

void put(RefTensor& x, const Shape& before, std::int64_t first,
         const Row& row) {
  for (std::size_t j = 0; j < row.size(); ++j) {
    Shape at = before;
    at.push_back(first + static_cast<std::int64_t>(j));
    x(at) = row[j];
  }
}

Row times(const Row& x, const Row& y) {
  Row z;
  for (std::size_t j = 0; j < x.size(); ++j) z.push_back(x[j] * y[j]);
  return z;
}

void add(Row& x, const Row& y) {
  for (std::size_t j = 0; j < x.size(); ++j) x[j] += y[j];
}

/// f of a row, and what the op saves of it.
Row run_gate(const ActivationAttrs& f, const Row& x, Row& saved) {
  Row y;
  for (double e : x) y.push_back(activate(f, e));
  saved = saves_value(f) ? y : x;
  return y;
}

Row value_of(const ActivationAttrs& f, const Row& saved) {
  if (saves_value(f)) return saved;
  Row y;
  for (double e : saved) y.push_back(activate(f, e));
  return y;
}

/// The gradient of a gate's argument, from that of its value and that of what
/// is saved.
Row gate_gradient(const ActivationAttrs& f, const Row& saved, Row d,
                  const Row& more) {
  for (std::size_t j = 0; j < d.size(); ++j) {
    d[j] = saves_value(f) ? (d[j] + more[j]) * slope_of_value(f, saved[j])
                          : d[j] * slope(f, saved[j]) + more[j];
  }
  return d;
}

}  // namespace

RefTensors reference_gru_steps(const GruAttrs& attrs, RefTensors& in) {
  const RefTensor &x = in[0], &weights = in[1], &h0 = in[2], &mask = in[3],
                  &bias = in[4], &lengths = in[5];
  const GruGates gates(attrs);
  const std::int64_t steps = x.shape[0], samples = x.shape[1],
                     hidden = weights.shape[1];
  const Shape state{samples, hidden};
  RefTensors out{zeros({steps, samples, hidden}), zeros(x.shape), zeros(state)};
  const std::int64_t z_row = gates.z_block * hidden,
                     r_row = gates.r_block * hidden, o_row = 2 * hidden;
  for (std::int64_t n = 0; n < samples; ++n) {
    Row h = row_of(h0, {n}, 0, hidden, 0);
    const Row m = row_of(mask, {n}, 0, hidden, 1);
    for (std::int64_t t : steps_of(lengths, n, steps, attrs.reverse)) {
      const Row k = operands(times(h, m));
      const auto argument = [&](std::int64_t row) {
        return row_of(x, {t, n}, row, hidden, 0);
      };
      Row saved;
      Row u = argument(z_row);
      add(u, rows_times(weights, z_row, k));
      const Row z = run_gate(gates.z, u, saved);
      put(out[1], {t, n}, z_row, saved);
      u = argument(r_row);
      add(u, rows_times(weights, r_row, k));
      const Row r = run_gate(gates.r, u, saved);
      put(out[1], {t, n}, r_row, saved);
      u = argument(o_row);
      if (attrs.reset_after) {
        Row product = rows_times(weights, o_row, k);
        add(product, row_of(bias, {}, 0, hidden, 0));
        add(u, times(product, r));
      } else {
        add(u, rows_times(weights, o_row, operands(times(k, r))));
      }
      const Row o = run_gate(gates.o, u, saved);
      put(out[1], {t, n}, o_row, saved);
      for (std::int64_t j = 0; j < hidden; ++j) {
        h[j] = attrs.flip_z ? (1 - z[j]) * h[j] + z[j] * o[j]
                            : z[j] * h[j] + (1 - z[j]) * o[j];
      }
      put(out[0], {t, n}, 0, h);
    }
    put(out[2], {n}, 0, h);
  }
  return out;
}

RefTensors reference_gru_steps_gradient(const GruAttrs& attrs, RefTensors& in) {
  const RefTensor &saved = in[0], &own = in[1], &weights = in[2], &h0 = in[3],
                  &mask = in[4], &bias = in[5], &lengths = in[6],
                  &dhidden = in[7], &dgates = in[8], &dlast = in[9];
  const GruGates gates(attrs);
  const std::int64_t steps = saved.shape[0], samples = saved.shape[1],
                     hidden = weights.shape[1];
  const Shape state{samples, hidden};
  RefTensors out{zeros(saved.shape), zeros(weights.shape), zeros(state),
                 zeros(state), zeros({hidden})};
  const std::int64_t z_row = gates.z_block * hidden,
                     r_row = gates.r_block * hidden, o_row = 2 * hidden;
  for (std::int64_t n = 0; n < samples; ++n) {
    const auto order = steps_of(lengths, n, steps, attrs.reverse);
    const Row m = row_of(mask, {n}, 0, hidden, 1);
    Row dh = row_of(dlast, {n}, 0, hidden, 0);
    for (auto i = static_cast<std::int64_t>(order.size()) - 1; i >= 0; --i) {
      const std::int64_t t = order[i];
      const auto step = [&](const RefTensor& of, std::int64_t row) {
        return row_of(of, {t, n}, row, hidden, 0);
      };
      const Row before = i == 0 ? row_of(h0, {n}, 0, hidden, 0)
                                : row_of(own, {order[i - 1], n}, 0, hidden, 0);
      const Row exact_k = times(before, m), k = operands(exact_k);
      const Row z = value_of(gates.z, step(saved, z_row));
      const Row r = value_of(gates.r, step(saved, r_row));
      const Row o = value_of(gates.o, step(saved, o_row));
      add(dh, step(dhidden, 0));
      Row dz, d_o, kept;
      for (std::int64_t j = 0; j < hidden; ++j) {
        const double share = attrs.flip_z ? 1 - z[j] : z[j];
        dz.push_back(dh[j] * (before[j] - o[j]) * (attrs.flip_z ? -1 : 1));
        d_o.push_back(dh[j] * (1 - share));
        kept.push_back(dh[j] * share);
      }
      const auto finish = [&](const ActivationAttrs& f, std::int64_t row,
                              const Row& d) {
        const Row a = gate_gradient(f, step(saved, row), d, step(dgates, row));
        put(out[0], {t, n}, row, a);
        return a;
      };
      const Row a_o = finish(gates.o, o_row, d_o);
      Row dk(k.size()), dr;
      if (attrs.reset_after) {
        Row u = rows_times(weights, o_row, k);
        add(u, row_of(bias, {}, 0, hidden, 0));
        dr = times(a_o, u);
        const Row du = operands(times(a_o, r));
        for (std::int64_t j = 0; j < hidden; ++j) out[4]({j}) += du[j];
        add_outer(out[1], o_row, du, k);
        add(dk, times_rows(weights, o_row, du));
      } else {
        const Row multiplied = operands(a_o);
        const Row v = times_rows(weights, o_row, multiplied);
        dr = times(v, exact_k);
        add_outer(out[1], o_row, multiplied, operands(times(exact_k, r)));
        add(dk, times(v, r));
      }
      const Row a_z = operands(finish(gates.z, z_row, dz));
      const Row a_r = operands(finish(gates.r, r_row, dr));
      add_outer(out[1], z_row, a_z, k);
      add_outer(out[1], r_row, a_r, k);
      add(dk, times_rows(weights, z_row, a_z));
      add(dk, times_rows(weights, r_row, a_r));
      for (std::int64_t j = 0; j < hidden; ++j) {
        dh[j] = kept[j] + dk[j] * m[j];
        out[3]({n, j}) += dk[j] * before[j];
      }
    }
    put(out[2], {n}, 0, dh);
  }
  return out;
}

RefTensors reference_single_gate_steps(const SingleGateAttrs& attrs,
                                       RefTensors& in) {
  const RefTensor &x = in[0], &weights = in[1], &h0 = in[2], &mask = in[3],
                  &lengths = in[4];
  const ActivationAttrs f =
      with_defaults({attrs.activation, attrs.activation_a, attrs.activation_b});
  const std::int64_t steps = x.shape[0], samples = x.shape[1],
                     hidden = weights.shape[1];
  RefTensors out{zeros(x.shape), zeros(x.shape), zeros({samples, hidden})};
  for (std::int64_t n = 0; n < samples; ++n) {
    Row h = row_of(h0, {n}, 0, hidden, 0);
    const Row m = row_of(mask, {n}, 0, hidden, 1);
    for (std::int64_t t : steps_of(lengths, n, steps, attrs.reverse)) {
      Row u = row_of(x, {t, n}, 0, hidden, 0);
      add(u, rows_times(weights, 0, operands(times(h, m))));
      put(out[1], {t, n}, 0, u);
      for (std::int64_t j = 0; j < hidden; ++j) h[j] = activate(f, u[j]);
      put(out[0], {t, n}, 0, h);
    }
    put(out[2], {n}, 0, h);
  }
  return out;
}

RefTensors reference_single_gate_steps_gradient(const SingleGateAttrs& attrs,
                                                RefTensors& in) {
  const RefTensor &saved = in[0], &weights = in[1], &h0 = in[2], &mask = in[3],
                  &lengths = in[4], &dhidden = in[5], &dgates = in[6],
                  &dlast = in[7];
  const ActivationAttrs f =
      with_defaults({attrs.activation, attrs.activation_a, attrs.activation_b});
  const std::int64_t steps = saved.shape[0], samples = saved.shape[1],
                     hidden = weights.shape[1];
  const Shape state{samples, hidden};
  RefTensors out{zeros(saved.shape), zeros(weights.shape), zeros(state),
                 zeros(state)};
  for (std::int64_t n = 0; n < samples; ++n) {
    const auto order = steps_of(lengths, n, steps, attrs.reverse);
    const Row m = row_of(mask, {n}, 0, hidden, 1);
    Row dh = row_of(dlast, {n}, 0, hidden, 0);
    for (auto i = static_cast<std::int64_t>(order.size()) - 1; i >= 0; --i) {
      const std::int64_t t = order[i];
      Row before = row_of(h0, {n}, 0, hidden, 0);
      for (std::int64_t j = 0; i > 0 && j < hidden; ++j) {
        before[j] = activate(f, saved({order[i - 1], n, j}));
      }
      add(dh, row_of(dhidden, {t, n}, 0, hidden, 0));
      Row a;
      for (std::int64_t j = 0; j < hidden; ++j) {
        a.push_back(dh[j] * slope(f, saved({t, n, j})) +
                    at_or(dgates, {t, n, j}, 0));
      }
      put(out[0], {t, n}, 0, a);
      a = operands(a);
      add_outer(out[1], 0, a, operands(times(before, m)));
      const Row dk = times_rows(weights, 0, a);
      dh = times(dk, m);
      for (std::int64_t j = 0; j < hidden; ++j) {
        out[3]({n, j}) += dk[j] * before[j];
      }
    }
    put(out[2], {n}, 0, dh);
  }
  return out;
}

}  // namespace traingraph::testing
