// SPDX-License-Identifier: MIT
#include "runtime/checkpoint/match.h"

#include <algorithm>
#include <unordered_map>

#include "traingraph/error.h"

namespace traingraph {
namespace {

// A message names so many of each kind.
constexpr std::size_t kMaxNamed = 4;

void append(std::string& text, const char* title,
            const std::vector<std::string>& names, bool quotes) {
  if (names.empty()) return;
  text += std::string(text.empty() ? "" : "; ") + title;
  for (std::size_t i = 0; i < std::min(names.size(), kMaxNamed); ++i) {
    text +=
        (i == 0 ? " " : ", ") + (quotes ? "\"" + names[i] + "\"" : names[i]);
  }
  if (names.size() <= kMaxNamed) return;
  text += " and " + std::to_string(names.size() - kMaxNamed) + " more";
}

}  // namespace

Match match(const std::vector<StateEntry>& entries,
            const std::vector<StoredTensor>& offered,
            const std::string& source) {
  Match result;
  std::unordered_map<std::string_view, std::size_t> place_of;
  for (std::size_t i = 0; i < offered.size(); ++i) {
    place_of.emplace(offered[i].name, i);
  }
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const StateEntry& entry = entries[i];
    const auto it = place_of.find(entry.name);
    if (it == place_of.end()) {
      result.report.missing.push_back(entry.name);
      continue;
    }
    const StoredTensor& tensor = offered[it->second];
    const TensorDescriptor& own = entry.tensor.descriptor();
    if (tensor.has(own)) {
      result.pairs.emplace_back(i, it->second);
    } else {
      result.report.mismatched.push_back(
          entry.name + ": " + tensor.to_string() + " in the " + source + ", " +
          own.to_string() + " in the graph");
      const bool is_type = tensor.dtype != stored_type(own.data_type);
      (is_type ? result.types_differ : result.shapes_differ) = true;
    }
    place_of.erase(it);
  }
  for (const StoredTensor& tensor : offered) {
    if (!place_of.contains(tensor.name)) continue;
    result.report.unexpected.push_back(tensor.name);
  }
  return result;
}

void require_fit(const char* call, const std::string& node, const Match& match,
                 const std::string& source) {
  const RestoreReport& report = match.report;
  if (report.fits()) return;
  std::string got;
  append(got, "missing", report.missing, /*quotes=*/true);
  append(got, "unexpected", report.unexpected, /*quotes=*/true);
  append(got, "different", report.mismatched, /*quotes=*/false);
  ErrorInfo info{.op = call,
                 .node = node,
                 .what = "the " + source + " does not fit the graph",
                 .expected = "the tensors of the graph",
                 .got = got,
                 .hint =
                     "Without `strict`, what fits is taken, and a report "
                     "lists the rest. Nothing was changed."};
  if (match.types_differ && source == "file") {
    info.hint +=
        " Files are not converted to other types; load_state_dict() "
        "of Python converts arrays.";
  }
  const bool has_names = !report.missing.empty() || !report.unexpected.empty();
  if (!has_names && match.types_differ) throw DTypeError(std::move(info));
  if (!has_names && match.shapes_differ) throw ShapeError(std::move(info));
  throw InvalidArgument(std::move(info));
}

}  // namespace traingraph
