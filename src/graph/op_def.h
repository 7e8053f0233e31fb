// SPDX-License-Identifier: MIT
// OpDef: all that the graph stages know of an op. Its schema (named inputs and
// outputs, data types), its shape rule and its gradient rule.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "graph/program.h"
#include "traingraph/error.h"

namespace traingraph {

class BatchContext;  // batch_context.h

/// A set of data types, as bits of 1 << DataType.
using DataTypes = std::uint32_t;
constexpr DataTypes bit(DataType t) { return 1u << static_cast<int>(t); }
/// Losses, statistics and optimizer state are of this type alone.
inline constexpr DataTypes kFloat32 = bit(DataType::Float32);
/// What activations and gradients may be stored as. The inputs of a node that
/// take just these have one type.
inline constexpr DataTypes kFloat = [] {
  DataTypes types = 0;
  for (DataType type : kDataTypes) types |= is_float(type) ? bit(type) : 0;
  return types;
}();
/// Those of 16 bits.
inline constexpr DataTypes kHalf = kFloat & ~kFloat32;
inline constexpr DataTypes kBoolean = bit(DataType::Boolean);
inline constexpr DataTypes kInt32 = bit(DataType::Int32);
inline constexpr DataTypes kIndex = kInt32 | bit(DataType::Int64);
inline constexpr DataTypes kAnyType = 0xffffffffu;
constexpr bool is_half(DataType t) { return (bit(t) & kHalf) != 0; }

struct InputDef {
  const char* name;
  DataTypes types = kFloat;
  bool is_optional = false;
  bool is_variadic = false;  // only the last input; takes one or more values
  bool is_mutated = false;   // the op writes it; it must be a Variable
  bool is_opaque = false;    // may be opaque; its rule calls require_state()
  bool is_index = false;     // names positions; see OpDef::num_positions
  bool is_picked = false;    // the op reads as much of it as result 0 has
};

/// What a shape rule sees. It reads inputs and attributes and adds one result
/// per output; its checks throw with op and node filled in.
class ShapeContext {
 public:
  ShapeContext(const Program& program, const OpDef& op, const Attributes& attrs,
               std::span<const ValueId> inputs, const std::string& node);

  template <class Attrs>
  const Attrs& attrs() const {
    return std::get<Attrs>(attrs_);
  }
  int num_inputs() const { return static_cast<int>(inputs_.size()); }
  bool has(int input) const;
  const TensorDescriptor& desc(int input) const;
  const Shape& shape(int input) const { return desc(input).shape; }
  DataType data_type(int input) const { return desc(input).data_type; }
  const char* input_name(int input) const;

  void add_result(Shape shape, DataType type);
  /// A result whose size and layout the target chooses.
  void add_opaque_result();

  // Named validators, so that messages are uniform.
  void require_rank(int input, int rank) const;
  void require_rank_at_least(int input, int rank) const;
  void require_shape(int input, const Shape& expected) const;
  void require_same_shape(int input, int other) const;
  void require_axis(const char* attribute, std::int64_t axis, int rank) const;
  void require_positive(const char* attribute, std::int64_t value) const;
  void require_attribute(bool ok, std::string what, std::string expected = {},
                         std::string got = {}, std::string hint = {}) const;
  void require_data_type(int input, DataTypes types) const;
  void require_same_data_type(int input, int other) const;
  /// Opaque input `state` was made by an op `maker` with these attributes from
  /// a first input of this shape.
  void require_state(int state, OpKind maker, const Attributes& attrs,
                     const Shape& shape) const;
  [[noreturn]] void fail_shape(std::string what, std::string expected,
                               std::string got, std::string hint = {}) const;

  struct Result {
    TensorDescriptor desc;
    bool is_opaque = false;
  };
  std::vector<Result> take_results() { return std::move(results_); }

 private:
  const Program& program_;
  const OpDef& op_;
  const Attributes& attrs_;
  std::span<const ValueId> inputs_;
  const std::string& node_;
  std::vector<Result> results_;
};

/// What a gradient rule sees: the node it differentiates and a program to
/// append to. It calls set() for every wanted input it has a gradient for.
class GradContext {
 public:
  virtual ~GradContext() = default;

  virtual const Node& node() const = 0;
  virtual Program& program() = 0;
  /// Is the gradient of this input asked for?
  virtual bool wants(int input) const = 0;
  /// Gradient of a result; kNoValue when nothing depends on that result.
  virtual ValueId result_gradient(int result = 0) const = 0;
  /// Contributes d loss / d input.
  virtual void set(int input, ValueId gradient) = 0;

  template <class Attrs>
  const Attrs& attrs() const {
    return std::get<Attrs>(node().attrs);
  }
  ValueId input(int i) const { return node().inputs[i]; }
  ValueId result(int i = 0) const { return node().outputs[i]; }
  bool has(int i) const { return node().inputs[i] != kNoValue; }
  ValueId append(OpKind op, Attributes attrs, std::vector<ValueId> inputs) {
    return program().append_one(op, attrs, std::move(inputs));
  }
};

/// Why an op has no gradient rule.
enum class NoGradient : std::uint8_t {
  Undeclared,  // it has one
  /// Results that change in steps, or not at all, with the inputs: gradients
  /// end here, by definition.
  Ends,
  /// There is a gradient, but no rule: who asks for it gets an error.
  Missing,
};

/// The autocast list of mixed precision that says in which type an op computes.
enum class AutocastList : std::uint8_t {
  Promote,       // 16 bits where data that it reads is
  LowPrecision,  // 16 bits: products, which are most of the work
  Float32,       // losses, which lose digits in 16 bits
};

/// The arithmetic that a node cannot avoid, in operations: a multiplication and
/// an addition are two. Each op names a function (ops/flops.h, or its own next
/// to the shape rule); one that does not say it does not compile.
class FlopsRule {
 public:
  using Function = double (*)(const Program&, const Node&);
  constexpr FlopsRule(Function count)  // NOLINT(google-explicit-constructor)
      : count_(count) {}
  double operator()(const Program& program, const Node& node) const {
    return count_(program, node);
  }

 private:
  Function count_;
};

struct OpDef {
  std::vector<InputDef> inputs = {};
  std::vector<const char*> results = {};
  /// Infers the results; throws on bad shapes or attributes.
  void (*shape_rule)(ShapeContext&) = nullptr;
  /// An identity has none, whatever this says.
  FlopsRule flops;
  /// Which axes of the results follow the batch, given those of the inputs.
  /// Refuses where samples would mix into a size that is no multiple of it.
  void (*batch_rule)(BatchContext&) = nullptr;
  /// The attributes at another batch size, when `axis` of result 0 follows it.
  /// Null: no attribute holds sizes. See ops/batch_rules.h.
  void (*resize)(Attributes&, int axis, const BatchChange&) = nullptr;
  /// May be null; then no_gradient says why.
  void (*gradient_rule)(GradContext&) = nullptr;
  /// Declared by each op without a gradient rule; the registry checks.
  NoGradient no_gradient = NoGradient::Undeclared;
  /// How many positions there are for inputs that are `is_index`: their
  /// elements are 0 to n - 1. Data of the host is checked before it gets to a
  /// device (runtime/execution/index_inputs.h), the rest by the device.
  /// 0: this node's are none.
  std::int64_t (*num_positions)(const Program&, const Node&) = nullptr;
  /// An element of such an input that may be there and names no position.
  std::int64_t (*ignored_index)(const Attributes&) = nullptr;
  AutocastList autocast_list = AutocastList::Promote;
  /// Turns the training form into the inference form (dropout, batch norm).
  void (*inference_form)(Attributes&) = nullptr;
  /// Does this node write its `is_mutated` inputs? Null: always.
  bool (*mutates)(const Attributes&) = nullptr;
  /// Result 0 is input 0 when this holds (dropout at inference); null: never.
  bool (*is_identity)(const Attributes&) = nullptr;
  /// The runtime runs it, between units of the device: no device has a kernel
  /// for it. Each result takes the bytes of the input in its place.
  bool is_host = false;
  /// A device may give result 0 the bytes of input 0.
  bool may_alias = false;

  // The registry fills these in from ops.inc.
  OpKind kind{};
  const char* name = "";
  Attributes default_attrs{};

  /// Fills in parameters that are kOfType. Null: there are none.
  void (*fill_defaults)(Attributes&) = nullptr;
};

/// The schema slot of input `i`; a variadic last slot serves all that follow.
const InputDef& input_def(const OpDef& op, int i);
/// "float32 or int32"
std::string names_of(DataTypes types);
/// Does `node` write its input slot `i`?
bool mutates(const Node& node, int i);

/// Defined with the op table (src/ops): this folder names no op.
const OpDef& op_def(OpKind kind);

}  // namespace traingraph
