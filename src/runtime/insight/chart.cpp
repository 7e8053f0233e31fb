// SPDX-License-Identifier: MIT
// The life of a plan's memory as SVG: units across, bytes of the arena up.
#include <algorithm>
#include <initializer_list>
#include <utility>
#include <variant>

#include "runtime/insight/printable.h"
#include "traingraph/insight_text.h"

namespace traingraph {
namespace {

struct MemoryRole {
  std::string_view name, legend, color;
};

constexpr MemoryRole kRoles[] = {
    {"forward", "forward", "#9ecae1"},
    {"saved", "saved for gradient", "#3182bd"},
    {"gradient", "gradient", "#fdae6b"},
    {"parameter gradient", "parameter gradient", "#e6550d"},
    {"update", "update", "#74c476"},
    {"scratch", "scratch", "#bdbdbd"},
};
constexpr double kLeft = 90, kTop = 30, kWidth = 840, kHeight = 360;
constexpr double kBottom = kTop + kHeight;
constexpr double kPictureWidth = kLeft + kWidth + 30;
constexpr double kPictureHeight = kBottom + 90;
constexpr int kNumTicks = 5;
/// So many units have labels below the arena.
constexpr std::size_t kMaxLabels = 12;

const MemoryRole& role_of(std::string_view name) {
  const auto* at = std::ranges::find(kRoles, name, &MemoryRole::name);
  return at == std::end(kRoles) ? kRoles[0] : *at;
}

std::string number(double value) {
  std::string text = format("%.4f", value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

std::string escaped(std::string_view text) {
  std::string result;
  for (char c : printable(text)) {
    switch (c) {
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '&':
        result += "&amp;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

struct Attribute {
  const char* name;
  std::variant<double, std::string_view> value;
};

std::string open(const char* tag, std::initializer_list<Attribute> list) {
  std::string text = std::string("<") + tag;
  for (const auto& [name, value] : list) {
    const auto* numeric = std::get_if<double>(&value);
    text += std::string(" ") + name + "=\"" +
            (numeric ? number(*numeric)
                     : std::string(std::get<std::string_view>(value))) +
            "\"";
  }
  return text;
}

std::string element(const char* tag, std::initializer_list<Attribute> list) {
  return open(tag, list) + "/>";
}

std::string element(const char* tag, std::initializer_list<Attribute> list,
                    const std::string& content) {
  return open(tag, list) + ">" + content + "</" + tag + ">";
}

std::string bytes_text(double bytes) {
  constexpr std::pair<double, const char*> kScales[] = {
      {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}};
  for (const auto& [scale, unit] : kScales) {
    if (bytes >= scale) return format("%.3g %s", bytes / scale, unit);
  }
  return format("%.3g B", bytes);
}

std::string axes(const Report& report) {
  const auto arena = static_cast<double>(report.arena_bytes);
  std::string svg = element("rect", {{"class", "arena"},
                                     {"x", kLeft},
                                     {"y", kTop},
                                     {"width", kWidth},
                                     {"height", kHeight},
                                     {"fill", "none"},
                                     {"stroke", "#888"}});
  for (int tick = 0; tick <= kNumTicks; ++tick) {
    const double y = kBottom - kHeight * tick / kNumTicks;
    svg += element("line", {{"x1", kLeft - 4},
                            {"x2", kLeft},
                            {"y1", y},
                            {"y2", y},
                            {"stroke", "#888"}});
    svg += element("text",
                   {{"x", kLeft - 8}, {"y", y + 4}, {"text-anchor", "end"}},
                   bytes_text(arena * tick / kNumTicks));
  }
  const std::size_t num_units = report.units.size();
  const std::size_t step =
      std::max<std::size_t>(1, (num_units + kMaxLabels - 1) / kMaxLabels);
  for (std::size_t unit = 0; unit < num_units; unit += step) {
    const double x = kLeft + kWidth * (static_cast<double>(unit) + 0.5) /
                                 static_cast<double>(num_units);
    svg += element("text",
                   {{"x", x}, {"y", kBottom + 16}, {"text-anchor", "middle"}},
                   std::to_string(unit));
  }
  const double middle = kLeft + kWidth / 2;
  svg += element(
      "text", {{"x", middle}, {"y", kBottom + 36}, {"text-anchor", "middle"}},
      "units in the order of execution");
  svg += element("text",
                 {{"x", middle}, {"y", kTop - 10}, {"text-anchor", "middle"}},
                 "what lies in the arena of " +
                     with_commas(report.arena_bytes) + " bytes");
  return svg;
}

std::string legend() {
  constexpr double kY = kBottom + 62;
  std::string svg;
  for (std::size_t i = 0; i < std::size(kRoles); ++i) {
    const double x = kLeft + static_cast<double>(i) * kWidth /
                                 static_cast<double>(std::size(kRoles));
    svg += element(
        "circle",
        {{"cx", x + 6}, {"cy", kY}, {"r", 6.0}, {"fill", kRoles[i].color}});
    svg += element("text", {{"x", x + 17}, {"y", kY + 4}},
                   std::string(kRoles[i].legend));
  }
  return svg;
}

std::string title_of(const MemorySpan& span, const Report& report) {
  return span.name + ": " + with_commas(span.bytes) + " bytes at " +
         with_commas(span.offset) + ", " +
         std::string(role_of(span.role).legend) + "; unit " +
         std::to_string(span.first) + " (" + report.units[span.first].name +
         ") to " + std::to_string(span.last) + " (" +
         report.units[span.last].name + ")";
}

}  // namespace

std::string memory_svg(const Report& report) {
  const double per_unit = kWidth / static_cast<double>(std::max<std::size_t>(
                                       1, report.units.size()));
  const double per_byte = kHeight / static_cast<double>(std::max<std::size_t>(
                                        1, report.arena_bytes));
  std::string spans;
  for (const MemorySpan& span : report.memory) {
    const auto bytes = static_cast<double>(span.bytes);
    const double end = static_cast<double>(span.offset) + bytes;
    spans += element("rect",
                     {{"x", kLeft + span.first * per_unit},
                      {"y", kBottom - end * per_byte},
                      {"width", (span.last - span.first + 1) * per_unit},
                      {"height", bytes * per_byte},
                      {"fill", role_of(span.role).color}},
                     element("title", {}, escaped(title_of(span, report))));
  }
  const std::string box =
      "0 0 " + number(kPictureWidth) + " " + number(kPictureHeight);
  return element("svg",
                 {{"xmlns", "http://www.w3.org/2000/svg"},
                  {"viewBox", box},
                  {"width", kPictureWidth},
                  {"height", kPictureHeight},
                  {"font-family", "sans-serif"},
                  {"font-size", "12"}},
                 element("rect", {{"width", kPictureWidth},
                                  {"height", kPictureHeight},
                                  {"fill", "white"}}) +
                     element("g",
                             {{"class", "memory"},
                              {"stroke", "white"},
                              {"stroke-width", "0.5"}},
                             spans) +
                     axes(report) + legend());
}

}  // namespace traingraph
