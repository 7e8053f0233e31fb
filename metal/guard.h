// SPDX-License-Identifier: MIT
// Where Apple's ways to fail become values: exceptions, NSError, command
// buffer status. Plain C++ except for the parameters' types.
#pragma once

#import <Foundation/Foundation.h>

#include <optional>
#include <string>

namespace traingraph::metal {

/// Runs `body` in an autorelease pool. An Objective-C exception ends it and
/// comes back as its reason. The only @try of the library: `body` must not
/// throw C++ exceptions.
std::optional<std::string> run_guarded(void (^body)());

/// "domain 3: what happened"; empty for nil.
std::string describe(NSError* error);

std::string to_string(NSString* text);
NSString* to_ns(const std::string& text);

}  // namespace traingraph::metal
