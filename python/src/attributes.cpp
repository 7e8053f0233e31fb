// SPDX-License-Identifier: MIT
#include "attributes.h"

#include <pybind11/stl.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <type_traits>

#include "calls.h"
#include "casters.h"

namespace traingraph::python {
namespace {

template <class Value>
std::string literal(const Value& value) {
  if constexpr (std::is_same_v<Value, bool>) {
    return value ? "True" : "False";
  } else if constexpr (std::is_same_v<Value, float>) {
    return py::repr(shortest(value)).template cast<std::string>();
  } else if constexpr (std::is_enum_v<Value>) {
    return "'" + std::string(to_string(value)) + "'";
  } else {
    return py::repr(py::cast(value)).template cast<std::string>();
  }
}

/// The Python type that a field takes, as signatures spell it.
template <class Value>
std::string type_text() {
  if constexpr (std::is_same_v<Value, bool>) {
    return "bool";
  } else if constexpr (std::is_same_v<Value, float>) {
    return "float";
  } else if constexpr (std::is_same_v<Value, std::int64_t>) {
    return "int";
  } else if constexpr (std::is_same_v<Value, DataType>) {
    return "traingraph._core.DataType | str";
  } else if constexpr (std::is_enum_v<Value>) {
    return py::type::of(py::cast(Value{}))
               .attr("__name__")
               .template cast<std::string>()
               .insert(0, "traingraph._core.") +
           " | str";
  } else {
    return "collections.abc.Sequence[int] | int";
  }
}

template <class Value>
void assign(Value& field, py::handle source, const std::string& op,
            const char* name) {
  // numpy.float32(2.7) is not the integer 2.
  constexpr bool kConverts = !std::is_same_v<Value, std::int64_t>;
  if constexpr (std::is_same_v<Value, float>) {
    if (is_of_type(field) && source.is_none()) return;
  }
  py::detail::make_caster<Value> caster;
  if (!caster.load(source, kConverts)) {
    throw InvalidArgument(
        ErrorInfo{.op = op,
                  .node = {},
                  .what = std::string("bad value for ") + name,
                  .expected = named(type_text<Value>()),
                  .got = describe(source),
                  .hint = {}});
  }
  field = py::detail::cast_op<Value&>(caster);
}

template <class Struct, class Visitor>
void for_each_field(Struct& attrs, const Visitor& visitor) {
  std::apply(
      [&](const auto&... field) {
        (visitor(field.name, attrs.*field.member, field.kIsRequired), ...);
      },
      std::remove_const_t<Struct>::fields());
}

}  // namespace

py::float_ shortest(float value) {
  double number = value;
  char text[32];
  for (int count = 1; count <= 9; ++count) {
    std::snprintf(text, sizeof(text), "%.*e", count - 1, double(value));
    number = std::strtod(text, nullptr);
    if (static_cast<float>(number) == value) break;
  }
  return py::float_(number);
}

void set_attributes(Attributes& attributes, const py::dict& keywords,
                    const std::string& op) {
  std::vector<std::string> known;
  std::string missing;
  std::size_t num_used = 0;
  std::visit(
      [&](auto& attrs) {
        for_each_field(attrs,
                       [&](const char* name, auto& field, bool is_required) {
                         known.emplace_back(name);
                         if (!keywords.contains(name)) {
                           if (is_required && missing.empty()) missing = name;
                           return;
                         }
                         assign(field, keywords[name], op, name);
                         ++num_used;
                       });
      },
      attributes);
  if (num_used == keywords.size() && missing.empty()) return;
  if (num_used == keywords.size()) {
    throw InvalidArgument(
        ErrorInfo{.op = op,
                  .node = {},
                  .what = "the argument \"" + missing + "\" is missing",
                  .expected = missing + "=...",
                  .got = "none",
                  .hint = "It has no default; help() shows the signature."});
  }
  std::string names;
  for (const std::string& name : known) {
    names += (names.empty() ? "" : ", ") + name;
  }
  for (const auto& [key, value] : keywords) {
    const auto name = key.cast<std::string>();
    if (std::ranges::find(known, name) != known.end()) continue;
    throw InvalidArgument(
        ErrorInfo{.op = op,
                  .node = {},
                  .what = "there is no argument \"" + name + "\"",
                  .expected = names.empty() ? "inputs only" : "one of " + names,
                  .got = name + "=" + describe(value),
                  .hint = did_you_mean(name, known)});
  }
}

py::dict attribute_values(const Attributes& attributes) {
  py::dict values;
  std::visit(
      [&](const auto& attrs) {
        for_each_field(attrs, [&](const char* name, const auto& field, bool) {
          using Value = std::remove_cvref_t<decltype(field)>;
          if constexpr (std::is_enum_v<Value>) {
            values[name] = py::str(std::string(to_string(field)));
          } else {
            values[name] = py::cast(field);
          }
        });
      },
      attributes);
  return values;
}

std::string signature_of(const Attributes& attributes) {
  std::string text;
  std::visit(
      [&](const auto& attrs) {
        for_each_field(
            attrs, [&](const char* name, const auto& field, bool is_required) {
              using Value = std::remove_cvref_t<decltype(field)>;
              text += std::string(", ") + name + ": " + type_text<Value>();
              if (is_required) return;
              if constexpr (std::is_same_v<Value, float>) {
                if (is_of_type(field)) {
                  text += " | None = None";
                  return;
                }
              }
              text += " = " + literal(field);
            });
      },
      attributes);
  return text;
}

}  // namespace traingraph::python
