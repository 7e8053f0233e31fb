// SPDX-License-Identifier: MIT
#import "metal/guard.h"

namespace traingraph::metal {

std::optional<std::string> run_guarded(void (^body)()) {
  std::optional<std::string> reason;
  @autoreleasepool {
    @try {
      body();
    } @catch (NSException* exception) {
      reason =
          to_string([exception name]) + ": " + to_string([exception reason]);
    }
  }
  return reason;
}

std::string describe(NSError* error) {
  if (!error) return {};
  return to_string([error domain]) + ' ' + std::to_string([error code]) + ": " +
         to_string([error localizedDescription]);
}

std::string to_string(NSString* text) {
  const char* utf8 = [text UTF8String];
  return utf8 ? utf8 : "";
}

NSString* to_ns(const std::string& text) {
  NSString* string = [NSString stringWithUTF8String:text.c_str()];
  return string ? string : @"?";
}

}  // namespace traingraph::metal
