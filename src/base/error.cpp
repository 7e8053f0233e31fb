// SPDX-License-Identifier: MIT
// The one message grammar:
//   [op "node name"] what is wrong: expected X, got Y. What to try.
#include "traingraph/error.h"

#include <utility>

#include "traingraph/version.h"

namespace traingraph {
namespace {

std::string subject(const ErrorInfo& info) {
  if (info.op.empty() && info.node.empty()) return {};
  if (info.node.empty()) return "[" + info.op + "] ";
  if (info.op.empty()) return "[\"" + info.node + "\"] ";
  return "[" + info.op + " \"" + info.node + "\"] ";
}

bool ends_sentence(const std::string& text) {
  return text.empty() || text.back() == '.' || text.back() == '!' ||
         text.back() == '?';
}

/// what() ends at the first NUL, which a name may have.
std::string without_nul(const std::string& text) {
  std::string shown;
  for (const char c : text) {
    if (c == '\0') {
      shown += "\\0";
    } else {
      shown += c;
    }
  }
  return shown;
}

std::string message(const ErrorInfo& info) {
  std::string text = subject(info) + info.what;
  if (!info.expected.empty() || !info.got.empty()) text += ": ";
  if (!info.expected.empty()) text += "expected " + info.expected;
  if (!info.expected.empty() && !info.got.empty()) text += ", ";
  if (!info.got.empty()) text += "got " + info.got;
  if (!ends_sentence(text)) text += ".";
  if (!info.hint.empty()) text += " " + info.hint;
  if (!ends_sentence(text)) text += ".";
  return without_nul(text);
}

ErrorInfo with_report_request(ErrorInfo info) {
  if (!info.hint.empty()) {
    if (!ends_sentence(info.hint)) info.hint += ".";
    info.hint += " ";
  }
  info.hint += "This is a bug in traingraph " TRAINGRAPH_VERSION
               ": please report it with this message and the code that "
               "builds the graph.";
  return info;
}

}  // namespace

Error::Error(ErrorInfo info)
    : std::runtime_error(message(info)), info_(std::move(info)) {}

InternalError::InternalError(ErrorInfo info)
    : Error(with_report_request(std::move(info))) {}

InternalError::InternalError(std::string what)
    : InternalError(ErrorInfo{.what = std::move(what)}) {}

}  // namespace traingraph
