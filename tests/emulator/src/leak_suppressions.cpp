// SPDX-License-Identifier: MIT
// The Objective-C runtime and GNUstep keep tables for the process's life, which
// AddressSanitizer's leak check would report at every exit.

extern "C" __attribute__((visibility("default"))) const char*
__lsan_default_suppressions() {
  return "leak:libobjc\nleak:libgnustep-base\n";
}
