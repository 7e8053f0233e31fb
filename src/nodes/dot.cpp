// SPDX-License-Identifier: MIT
// Pictures of node graphs: a box per filter, an ellipse per image that runs are
// given, and dashed edges from filters to their gradient filters.
#include <unordered_map>

#include "nodes/reach.h"
#include "traingraph/nodes/graph.h"

namespace traingraph::nodes {
namespace {

class DotWriter {
 public:
  void add(const FilterState& filter) {
    const std::string box = "n" + std::to_string(box_of_.size());
    for (const ImageNode& source : filter.sources) add_input(*source.state());
    const bool is_gradient = filter.forward() != nullptr;
    text_ += "  " + box + " [shape=box, label=\"" + title(filter) + "\"" +
             (is_gradient ? ", style=rounded" : "") + "];\n";
    for (const ImageNode& source : filter.sources) {
      text_ += "  " + origin(*source.state()) + " -> " + box + " [label=\"" +
               source.size().to_string() + "\"];\n";
    }
    if (is_gradient) {
      text_ += "  " + box_of_.at(filter.forward()) + " -> " + box +
               " [style=dashed, constraint=false];\n";
    }
    box_of_.emplace(&filter, box);
  }

  std::string finish() const { return "digraph nodes {\n" + text_ + "}\n"; }

 private:
  static std::string escaped(const std::string& text) {
    std::string result;
    for (const char c : text) {
      if (c == '"' || c == '\\') result += '\\';
      result += c;
    }
    return result;
  }

  static std::string title(const FilterState& filter) {
    std::string title = filter.class_name;
    if (!filter.name.empty()) title += "\\n" + escaped(filter.name);
    if (!filter.result.handle.empty()) {
      title += "\\n-> " + escaped(filter.result.handle);
    }
    return title;
  }

  void add_input(const ImageState& image) {
    if (image.producer != nullptr) return;
    const std::string name = "x" + std::to_string(input_of_.size());
    if (!input_of_.emplace(&image, name).second) return;
    text_ += "  " + name + " [shape=ellipse, label=\"" + escaped(image.handle) +
             "\"];\n";
  }

  std::string origin(const ImageState& image) const {
    return image.producer != nullptr ? box_of_.at(image.producer)
                                     : input_of_.at(&image);
  }

  std::unordered_map<const FilterState*, std::string> box_of_;
  std::unordered_map<const ImageState*, std::string> input_of_;
  std::string text_;
};

}  // namespace

std::string summarized_dot_description(
    const std::vector<ImageNode>& result_images) {
  DotWriter writer;
  for (const FilterState* filter : filters_behind(result_images)) {
    writer.add(*filter);
  }
  return writer.finish();
}

}  // namespace traingraph::nodes
