// SPDX-License-Identifier: MIT
// Constructors from tables: a row is a keyword and the field that it sets, and
// its default is what the field has by itself. What it says of itself is a line
// of the class's docstring, and the docstring of the property of its name.
#pragma once

#include <pybind11/stl.h>

#include <array>
#include <optional>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include "arrays.h"
#include "attributes.h"
#include "padding.h"

namespace traingraph::python {

/// An activation by its type has the type's own parameters.
using ActivationLike = std::variant<ActivationType, ActivationDescriptor>;

inline ActivationDescriptor to_activation(const ActivationLike& activation) {
  return std::visit([](const auto& held) { return ActivationDescriptor(held); },
                    activation);
}

/// (channels, height, width).
struct Triple {
  std::array<std::int64_t, 3> values{};
};

/// What Python passes for a field. Where that is optional, None leaves the
/// field as it is.
template <class Value>
struct Passed {
  using Type = Value;
};
template <>
struct Passed<Tensor> {
  using Type = std::optional<TensorOrArray>;
};
template <>
struct Passed<std::vector<Tensor>> {
  using Type = std::optional<std::vector<TensorOrArray>>;
};
template <>
struct Passed<ActivationDescriptor> {
  using Type = std::optional<ActivationLike>;
};
template <>
struct Passed<std::optional<ActivationDescriptor>>
    : Passed<ActivationDescriptor> {};
template <>
struct Passed<std::vector<ActivationDescriptor>> {
  using Type = std::optional<std::vector<ActivationLike>>;
};
template <>
struct Passed<std::array<std::int64_t, 3>> {
  using Type = Triple;
};

enum class Default { Missing, Own, None };

/// A field that is an argument of a constructor.
template <class Part, class Value, Default kDefault>
struct Row {
  using Argument =
      std::conditional_t<kDefault == Default::None, std::optional<Value>,
                         typename Passed<Value>::Type>;
  const char* name;
  Value Part::* member;
  const char* doc;
};

/// Its default is what the field has by itself.
template <class Part, class Value>
Row<Part, Value, Default::Own> row(const char* name, Value Part::* member,
                                   const char* doc = "") {
  return {name, member, doc};
}
/// Without a default.
template <class Part, class Value>
Row<Part, Value, Default::Missing> required(const char* name,
                                            Value Part::* member,
                                            const char* doc = "") {
  return {name, member, doc};
}
/// None leaves the field as it is.
template <class Part, class Value>
Row<Part, Value, Default::None> row_or_none(const char* name,
                                            Value Part::* member,
                                            const char* doc = "") {
  return {name, member, doc};
}

/// An argument that is passed on as it is, in front of the parts.
template <class Value, bool kIsRequired>
struct Plain {
  using Argument = typename Passed<Value>::Type;
  const char* name;
  Value otherwise;
  const char* doc;
};

template <class Value>
Plain<Value, true> plain(const char* name, const char* doc = "") {
  return {name, {}, doc};
}
template <class Value>
Plain<Value, false> plain(const char* name, Value otherwise,
                          const char* doc = "") {
  return {name, std::move(otherwise), doc};
}

/// As signatures spell it.
template <class Value>
py::object default_of(const Value& value) {
  using Argument = typename Passed<Value>::Type;
  if constexpr (std::is_same_v<Argument, Triple>) {
    return py::cast(Triple{value});
  } else if constexpr (!std::is_same_v<Argument, Value>) {
    return py::none();
  } else if constexpr (std::is_same_v<Value, PaddingSpec>) {
    return default_of(value.policy);
  } else if constexpr (std::is_same_v<Value, float>) {
    return shortest(value);
  } else if constexpr (std::is_enum_v<Value>) {
    return py::str(std::string(to_string(value)));
  } else {
    return py::cast(value);
  }
}

// What the tables below do with each kind of item.
namespace rows {

/// Integers are no floats: numpy.float32(2.7) is an error, not 2.
template <class Value>
inline constexpr bool kIsWhole =
    std::is_same_v<Value, std::int64_t> ||
    std::is_same_v<Value, std::uint64_t> ||
    std::is_same_v<Value, std::optional<std::int64_t>>;

template <class Part, class Value, Default kDefault>
auto keyword(const Row<Part, Value, kDefault>& row) {
  const py::arg name = py::arg(row.name).noconvert(kIsWhole<Value>);
  if constexpr (kDefault == Default::Missing) {
    return name;
  } else if constexpr (kDefault == Default::None) {
    return name = py::none();
  } else {
    return name = default_of(Part{}.*row.member);
  }
}
template <class Value>
py::arg keyword(const Plain<Value, true>& item) {
  return py::arg(item.name).noconvert(kIsWhole<Value>);
}
template <class Value>
py::arg_v keyword(const Plain<Value, false>& item) {
  return py::arg(item.name).noconvert(kIsWhole<Value>) =
             default_of(item.otherwise);
}
inline py::kw_only keyword(py::kw_only by_name) { return by_name; }

template <class Item>
std::tuple<Item> valued(const Item& item) {
  return {item};
}
inline std::tuple<> valued(py::kw_only) { return {}; }

template <class Value, class Argument>
void set(Value& field, const Argument& value, const char* op,
         const char* name) {
  if constexpr (std::is_same_v<Value, Tensor>) {
    field = to_tensor(value, name);
  } else if constexpr (std::is_same_v<Value, std::vector<Tensor>>) {
    field = to_tensors(value, op, name);
  } else if constexpr (std::is_same_v<Argument,
                                      std::optional<ActivationLike>>) {
    if (value) field = to_activation(*value);
  } else if constexpr (std::is_same_v<Value,
                                      std::vector<ActivationDescriptor>>) {
    if (!value) return;
    require_not_empty(*value, op, name);
    for (const auto& each : *value) field.push_back(to_activation(each));
  } else if constexpr (std::is_same_v<Argument, Triple> &&
                       !std::is_same_v<Value, Triple>) {
    field = value.values;
  } else {
    field = value;
  }
}

template <class Parts, class Part, class Value, Default kDefault>
std::tuple<> take(Parts& parts, const Row<Part, Value, kDefault>& row,
                  const typename Row<Part, Value, kDefault>::Argument& value,
                  const char* op) {
  Value& field = std::get<Part>(parts).*row.member;
  if constexpr (kDefault == Default::None) {
    field = value.value_or(field);
  } else {
    set(field, value, op, row.name);
  }
  return {};
}
template <class Parts, class Value, bool kIsRequired>
std::tuple<Value> take(Parts&, const Plain<Value, kIsRequired>& item,
                       const typename Passed<Value>::Type& value,
                       const char* op) {
  std::tuple<Value> taken(item.otherwise);
  set(std::get<0>(taken), value, op, item.name);
  return taken;
}

template <class Class, class Part, class Value, Default kDefault>
void show(Class& type, const Row<Part, Value, kDefault>& row) {
  type.def_readonly(row.name, row.member);
}
template <class Class>
void show(Class&, py::kw_only) {}

template <class Item>
void tell(py::dict& arguments, const Item& item) {
  arguments[item.name] = item.doc;
}
inline void tell(py::dict&, py::kw_only) {}

/// What the items say, by their names.
template <class... Items>
py::dict told(const Items&... items) {
  py::dict arguments;
  (tell(arguments, items), ...);
  return arguments;
}

/// A function's docstring with the items as Args: section.
template <class... Items>
std::string documented(const char* doc, const Items&... items) {
  return with_arguments(doc, told(items...));
}

}  // namespace rows

/// The constructor with these arguments: make(plain values..., parts...), with
/// the rows in their parts. `op` names it in errors; kw_only() may be among the
/// items.
template <class... Parts, class Make, class... Items>
auto made_of(const char* op, Make make, const Items&... items) {
  return std::apply(
      [&]<class... Valued>(const Valued&... valued) {
        return [=](typename Valued::Argument... values) {
          std::tuple<Parts...> parts;
          std::tuple<decltype(rows::take(parts, valued, values, op))...> plain{
              rows::take(parts, valued, values, op)...};
          return std::apply(
              [&](auto&... taken) {
                return std::apply(make, std::tuple_cat(std::move(taken)...,
                                                       std::move(parts)));
              },
              plain);
        };
      },
      std::tuple_cat(rows::valued(items)...));
}

/// Binds what made_of() gives as a constructor.
template <class... Parts, class Class, class Make, class... Items>
void def_init(Class& type, const char* op, Make make, const Items&... items) {
  type.def(py::init(made_of<Parts...>(op, make, items...)),
           rows::keyword(items)...);
  add_arguments(type, rows::told(items...));
}

/// A class of values, whose constructor takes the rows, in their order; each is
/// a property too.
template <class Value, class... Items>
BoundClass<Value> bind_descriptor(py::module_& m, const char* name,
                                  const char* doc, const Items&... items) {
  BoundClass<Value> type(m, name, doc);
  const auto validated = [](Value value) {
    if constexpr (requires { value.resolved(); }) return value.resolved();
    if constexpr (requires { value.validate(); }) value.validate();
    return value;
  };
  def_init<Value>(type, name, validated, items...);
  (rows::show(type, items), ...);
  bind_value(type);
  return type;
}

struct OwnName {
  std::string name;
};

/// build(name, plain values..., parts...) is a constructor that takes a name
/// too.
template <class... Parts, class Class, class Build, class... Items>
void def_named(Class& type, const char* op, Build build,
               const Items&... items) {
  const auto make = [build](const auto&... all) {
    const auto held = std::tie(all...);
    constexpr std::size_t kLast = sizeof...(all) - 1;
    return [&]<std::size_t... i>(std::index_sequence<i...>) {
      return build(std::get<kLast>(held).name, std::get<i>(held)...);
    }(std::make_index_sequence<kLast>());
  };
  def_init<Parts..., OwnName>(
      type, op, make, items...,
      row("name", &OwnName::name, kNameDocOf<typename Class::type>));
}

/// The constructor of a layer from plain values and parts.
template <class... Parts, class Class, class... Items>
void def_layer(Class& type, const char* op, const Items&... items) {
  const auto build = [](const std::string& name, const auto&... all) {
    return make_layer<typename Class::type>(name, all...);
  };
  def_named<Parts...>(type, op, build, items...);
}

/// None instead of an empty handle, or of an empty list.
template <class Handle>
std::optional<Handle> optional(const Handle& handle) {
  return handle ? std::optional(handle) : std::nullopt;
}
template <class Value>
std::optional<std::vector<Value>> optional(const std::vector<Value>& list) {
  return list.empty() ? std::nullopt : std::optional(list);
}

/// Getters with optional() of what `get` returns.
template <class Value, class Class>
auto or_none(Value (Class::*get)() const) {
  return [get](const Class& self) { return optional((self.*get)()); };
}
template <class Value, class Class>
auto or_none(const Value& (Class::*get)() const&) {
  return [get](const Class& self) { return optional((self.*get)()); };
}
/// A getter with a handle of its own.
template <class Value, class Class>
auto copied(const Value& (Class::*get)() const&) {
  return [get](const Class& self) -> Value { return (self.*get)(); };
}

}  // namespace traingraph::python
