// SPDX-License-Identifier: MIT
#include "text_signature.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace traingraph::python {
namespace {

struct Argument {
  std::string name;                // with its stars
  std::string default_value = {};  // empty: it is required
  bool is_by_name = false;

  bool has_star() const { return name.front() == '*'; }
};

using Form = std::vector<Argument>;

/// Calls use(i) for characters that are in no brackets and no quotes, those of
/// the outermost brackets included, until it returns true.
template <class Use>
void walk(std::string_view text, const Use& use) {
  int depth = 0;
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote) {
      if (c == quote && text[i - 1] != '\\') quote = 0;
      continue;
    }
    const bool closes = c == ')' || c == ']' || c == '}';
    if (closes) --depth;
    if (depth == 0 && use(i)) return;
    if (c == '(' || c == '[' || c == '{') ++depth;
    if (c == '\'' || c == '"') quote = c;
  }
}

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  const auto add = [&](std::size_t end) {
    const auto part = trimmed(text.substr(begin, end - begin));
    if (!part.empty()) parts.push_back(part);
    begin = end + 1;
  };
  walk(text, [&](std::size_t i) {
    if (text[i] == ',') add(i);
    return false;
  });
  if (begin < text.size()) add(text.size());
  return parts;
}

/// Of what no literal prints, such as a case of an enumeration, Python reads no
/// default.
std::string literal(std::string_view text) {
  const bool is_literal =
      text == "None" || text == "True" || text == "False" ||
      text.find_first_not_of("0123456789+-.e,()[]{} ") == text.npos ||
      (text.size() >= 2 && text.front() == '\'' && text.back() == '\'');
  return std::string(is_literal ? text : "...");
}

Argument argument(std::string_view text, bool is_by_name) {
  std::size_t end_of_name = text.size(), equals = text.size();
  walk(text, [&](std::size_t i) {
    if (text[i] == ':') end_of_name = std::min(end_of_name, i);
    if (text[i] == '=') equals = std::min(equals, i);
    return equals < text.size();
  });
  const auto name = trimmed(text.substr(0, std::min(end_of_name, equals)));
  Argument result{.name = std::string(name), .is_by_name = is_by_name};
  if (equals < text.size()) {
    result.default_value = literal(trimmed(text.substr(equals + 1)));
  }
  return result;
}

/// `line` is "name(self: Type, x: int = 1, *, label: str = '') -> None".
std::optional<Form> form_of(std::string_view name, std::string_view line) {
  if (!line.starts_with(name)) return std::nullopt;
  line.remove_prefix(name.size());
  if (!line.starts_with('(')) return std::nullopt;
  std::size_t end = 0;
  walk(line, [&](std::size_t i) {
    end = i;
    return i > 0;
  });
  Form form;
  bool is_by_name = false;
  for (const std::string_view item : split(line.substr(1, end - 1))) {
    if (item == "/") continue;
    if (item != "*") form.push_back(argument(item, is_by_name));
    is_by_name = is_by_name || item.starts_with('*');
  }
  return form;
}

/// A docstring of several forms lists them: "1. name(...)".
std::vector<Form> forms_of(std::string_view name, std::string_view doc) {
  const std::string_view first = doc.substr(0, doc.find('\n'));
  std::vector<Form> forms;
  if (doc.find("\nOverloaded function.\n") == doc.npos) {
    if (auto form = form_of(name, first)) forms.push_back(std::move(*form));
    return forms;
  }
  for (int number = 1;; ++number) {
    const std::string mark = "\n" + std::to_string(number) + ". ";
    const std::size_t begin = doc.find(mark + std::string(name) + "(");
    if (begin == doc.npos) return forms;
    doc.remove_prefix(begin + mark.size());
    if (auto form = form_of(name, doc.substr(0, doc.find('\n')))) {
      forms.push_back(std::move(*form));
    }
  }
}

bool has(const Form& form, const std::string& name) {
  return std::ranges::find(form, name, &Argument::name) != form.end();
}

/// One form that takes what any of these take.
Form merged(const std::vector<Form>& forms) {
  Form result = *std::ranges::max_element(forms, {}, &Form::size);
  const bool is_variadic = std::ranges::any_of(result, &Argument::has_star);
  for (const Form& form : forms) {
    for (Argument argument : form) {
      if (has(result, argument.name)) continue;
      if (argument.has_star() || is_variadic) continue;
      argument.is_by_name = true;
      result.push_back(std::move(argument));
    }
  }
  bool is_optional = false;  // one by place before it is
  for (Argument& argument : result) {
    if (argument.has_star()) continue;
    const bool is_in_all = std::ranges::all_of(
        forms, [&](const Form& form) { return has(form, argument.name); });
    const bool is_left_out =
        !is_in_all || (!argument.is_by_name && is_optional);
    if (is_left_out && argument.default_value.empty()) {
      argument.default_value = "None";
    }
    is_optional = is_optional || !argument.default_value.empty();
  }
  return result;
}

}  // namespace

std::string text_signature(std::string_view name, std::string_view doc) {
  const std::vector<Form> forms = forms_of(name, doc);
  if (forms.empty()) return {};
  std::string text = std::string(name) + "(";
  bool has_star = false, is_first = true;
  const auto add = [&](const std::string& part) {
    text += (is_first ? "" : ", ") + part;
    is_first = false;
  };
  for (const Argument& argument : merged(forms)) {
    if (argument.is_by_name && !has_star && !argument.has_star()) add("*");
    has_star = has_star || argument.is_by_name || argument.has_star();
    add(argument.name +
        (argument.default_value.empty() ? "" : "=" + argument.default_value));
  }
  return text + ")\n--\n\n";
}

}  // namespace traingraph::python
