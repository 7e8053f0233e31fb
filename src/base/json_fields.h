// SPDX-License-Identifier: MIT
// Plain data as JSON and back: visit_fields(visitor, data) names its fields
// once, for both. Reading throws std::runtime_error or an exception of the JSON
// library, with what is wrong.
#pragma once

#include <array>
#include <cmath>
#include <concepts>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "traingraph/enum_table.h"
#include "traingraph/schedule.h"
#include "traingraph/types.h"

namespace traingraph {

using Json = nlohmann::json;

template <class T, class Struct>
concept IsA = std::same_as<std::remove_const_t<T>, Struct>;

/// Throws for text that is nested too deeply for any that is written.
inline Json parse_json(const std::string& text) {
  constexpr int kMaxDepth = 32;
  const auto check_depth = [](int depth, Json::parse_event_t, Json&) {
    if (depth > kMaxDepth) throw std::runtime_error("it is nested too deeply");
    return true;
  };
  return Json::parse(text, check_depth);
}

// --- names of enum cases ---

template <class Enum>
struct CaseName {
  Enum value;
  std::string_view name;
};

template <class Enum>
struct StoredCases {
  static constexpr auto& kCases = EnumTable<Enum>::kCases;
};
template <>
struct StoredCases<DataType> {
  static constexpr CaseName<DataType> kCases[] = {
#define TRAINGRAPH_DATA_TYPE(Type, number, name, element, kind, file) \
  {DataType::Type, name},
#include "traingraph/data_types.inc"
#undef TRAINGRAPH_DATA_TYPE
  };
};
template <>
struct StoredCases<ScheduleType> {
  static constexpr CaseName<ScheduleType> kCases[] = {
      {ScheduleType::Constant, "constant"},
      {ScheduleType::Linear, "linear"},
      {ScheduleType::Cosine, "cosine"},
      {ScheduleType::Exponential, "exponential"}};
};

// --- writing ---

template <class T>
Json written(const T& value);

class JsonWriter {
 public:
  explicit JsonWriter(Json& to) : to_(to) { to_ = Json::object(); }
  template <class T>
  void operator()(const char* name, const T& value);
  template <class T>
  void later(const char* name, const T& value) {
    (*this)(name, value);
  }

 private:
  Json& to_;
};

inline Json written(const std::string& value) { return value; }
/// JSON has no infinity and no NaN.
inline Json written(double value) {
  if (std::isfinite(value)) return value;
  if (std::isnan(value)) return "nan";
  return value > 0 ? "inf" : "-inf";
}
inline Json written(float value) { return written(double{value}); }
inline Json written(const Shape& value) {
  return std::vector<std::int64_t>(value.begin(), value.end());
}
template <std::size_t kSize>
Json written(const std::array<std::int64_t, kSize>& value) {
  return value;
}
template <class T>
Json written(const std::optional<T>& value) {
  return value ? written(*value) : Json();
}
template <class T>
Json written(const std::vector<T>& list) {
  Json result = Json::array();
  for (const T& each : list) result.push_back(written(each));
  return result;
}
template <class T, class Less>
Json written(const std::map<std::string, T, Less>& map) {
  Json result = Json::object();
  for (const auto& [name, each] : map) result[name] = written(each);
  return result;
}

template <class T>
Json written(const T& value) {
  if constexpr (std::is_integral_v<T>) {
    return value;
  } else if constexpr (std::is_enum_v<T>) {
    for (const auto& each : StoredCases<T>::kCases) {
      if (each.value == value) return std::string(each.name);
    }
    throw std::logic_error("no case of an enum");
  } else {
    Json result;
    JsonWriter writer(result);
    visit_fields(writer, value);
    return result;
  }
}

template <class T>
void JsonWriter::operator()(const char* name, const T& value) {
  to_[name] = written(value);
}

// --- reading ---

template <class T>
void read(const Json& from, T& value);

class JsonReader {
 public:
  explicit JsonReader(const Json& from) : from_(from) {
    if (!from.is_object()) throw std::runtime_error("there is no object");
  }
  template <class T>
  void operator()(const char* name, T& value) {
    const auto it = from_.find(name);
    if (it == from_.end()) {
      throw std::runtime_error(std::string("\"") + name + "\" is missing");
    }
    take(name, *it, value);
  }
  template <class T>
  void later(const char* name, T& value) {
    const auto it = from_.find(name);
    if (it != from_.end()) take(name, *it, value);
  }

 private:
  template <class T>
  static void take(const char* name, const Json& from, T& value);

  const Json& from_;
};

inline void read(const Json& from, std::string& value) {
  if (!from.is_string()) throw std::runtime_error("there is no text");
  value = from.get<std::string>();
}
inline void read(const Json& from, bool& value) {
  if (!from.is_boolean()) throw std::runtime_error("not true or false");
  value = from.get<bool>();
}
inline void read(const Json& from, double& value) {
  if (from.is_number()) {
    value = from.get<double>();
  } else if (from == "inf" || from == "-inf") {
    value = (from == "inf" ? 1 : -1) * std::numeric_limits<double>::infinity();
  } else if (from == "nan") {
    value = std::numeric_limits<double>::quiet_NaN();
  } else {
    throw std::runtime_error("there is no number");
  }
}
inline void read(const Json& from, float& value) {
  double wide = 0;
  read(from, wide);
  const bool fits = !std::isfinite(wide) ||
                    std::abs(wide) <= std::numeric_limits<float>::max();
  if (!fits) throw std::runtime_error("the number is out of range");
  value = static_cast<float>(wide);
}
template <class T>
  requires std::is_integral_v<T>
void read_whole(const Json& from, T& value) {
  const auto take = [&](auto number) {
    if (!std::in_range<T>(number)) {
      throw std::runtime_error("the number is out of range");
    }
    value = static_cast<T>(number);
  };
  if (from.is_number_unsigned()) {
    take(from.get<std::uint64_t>());
  } else if (from.is_number_integer()) {
    take(from.get<std::int64_t>());
  } else {
    throw std::runtime_error("there is no whole number");
  }
}
template <class T>
void read(const Json& from, std::vector<T>& list) {
  if (!from.is_array()) throw std::runtime_error("there is no list");
  list.clear();
  for (const Json& each : from) read(each, list.emplace_back());
}
inline void read(const Json& from, Shape& value) {
  std::vector<std::int64_t> sizes;
  read(from, sizes);
  if (sizes.size() > kMaxRank) throw std::runtime_error("too many axes");
  value = Shape(std::span<const std::int64_t>(sizes));
}
template <std::size_t kSize>
void read(const Json& from, std::array<std::int64_t, kSize>& value) {
  std::vector<std::int64_t> numbers;
  read(from, numbers);
  if (numbers.size() != kSize) throw std::runtime_error("a wrong count");
  std::copy(numbers.begin(), numbers.end(), value.begin());
}
template <class T>
void read(const Json& from, std::optional<T>& value) {
  value.reset();
  if (!from.is_null()) read(from, value.emplace());
}
template <class T, class Less>
void read(const Json& from, std::map<std::string, T, Less>& map) {
  if (!from.is_object()) throw std::runtime_error("there is no object");
  map.clear();
  for (const auto& [name, each] : from.items()) read(each, map[name]);
}

template <class T>
void read(const Json& from, T& value) {
  if constexpr (std::is_integral_v<T>) {
    read_whole(from, value);
  } else if constexpr (std::is_enum_v<T>) {
    std::string name;
    read(from, name);
    for (const auto& each : StoredCases<T>::kCases) {
      if (each.name != name) continue;
      value = each.value;
      return;
    }
    throw std::runtime_error("\"" + name + "\" is no case of it");
  } else {
    JsonReader reader(from);
    visit_fields(reader, value);
  }
}

template <class T>
void JsonReader::take(const char* name, const Json& from, T& value) {
  try {
    read(from, value);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    throw std::runtime_error(std::string(name) + ": " + error.what());
  }
}

}  // namespace traingraph
