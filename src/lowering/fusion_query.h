// SPDX-License-Identifier: MIT
// What a kernel family may ask about the nodes around the one it lowers, and
// how it takes them into its unit. Which they are was decided before
// (fusion_search.h).
#pragma once

#include <optional>

#include "lowering/unit_builder.h"

namespace traingraph {

/// The argument to write it to, and its type.
struct BiasGradient {
  int arg;
  DataType data_type;
};

/// Refers to the UnitBuilder that it came from.
class FusionQuery {
 public:
  explicit FusionQuery(UnitBuilder& unit) : unit_(unit) {}

  /// The activation f that may be fused with this node: the only reader of
  /// result 0, but for f's gradient; null: none.
  const ActivationAttrs* next_activation() const;
  /// Fuses it: result 0 is then f(x) instead of x, and f's gradient, which was
  /// made to read x, gets f(x) (see reads_activated()).
  void fuse_activation();
  /// Was input `i`, made to be x, forwarded to f(x) by fuse_activation()?
  bool reads_activated(int input) const;
  /// Is the next node that may be fused a cast from 16 bits to float32?
  bool has_next_cast() const;
  /// Fuses it: result 0 is then float32, without having been rounded.
  void fuse_cast();
  /// Of a cast: leaves it to the reorders to what its readers want, if there
  /// may be some and the source stays as it is; or else does nothing.
  bool defer_cast();
  /// Of a weights gradient: fuses the gradient of the bias (fusion_search.h);
  /// empty: there is none.
  std::optional<BiasGradient> write_bias_gradient();

  /// Fuses the next node; empty: there is none. It gets no unit of its own:
  /// what it reads and writes are arguments of this node's unit.
  std::optional<UnitBuilder> join_next();
  /// Does this unit compute the node whose result input `i` is?
  bool computes_input(int input) const;
  /// Fuses that node (its result is then never in memory); empty: it does not.
  std::optional<UnitBuilder> join_producer(int input);
  /// The node that made input `i`, whatever it was fused with: what it reads
  /// may be arguments of this unit, too, which computes it again.
  UnitBuilder made_by(int input) const;
  /// Does the host, or a node outside of this unit, read this result?
  bool outlives_unit(int result) const;

 private:
  /// The node that the last one of the unit is fused with; -1: none.
  NodeId next() const;
  /// Adds it to the unit.
  NodeId join();
  /// Adds it, with result 0 of this node forwarded to its result.
  void join_forwarding();

  UnitBuilder& unit_;
};

}  // namespace traingraph
