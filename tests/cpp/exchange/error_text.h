// SPDX-License-Identifier: MIT
// What an error says, as one text in which tests look for parts.
#pragma once

#include <string>

namespace traingraph::testing {

/// Returns the text of the ErrorType that `call` throws; what it throws of
/// another type is not caught.
template <class ErrorType, class Call>
std::string text_of_error(Call&& call) {
  try {
    call();
  } catch (const ErrorType& error) {
    return error.what();
  }
  return "no error of this type";
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace traingraph::testing
