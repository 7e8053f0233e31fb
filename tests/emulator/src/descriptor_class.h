// SPDX-License-Identifier: MIT
// Methods that most descriptors have, from the lists of their fields:
// emulator/parameters.h.
#pragma once

#include <emulator/parameters.h>

// clang-format off
/// Accessors and copies of a class that has these fields.
#define FIELDS(CLASS, ...) \
  EMULATED_EACH(FIELD_ACCESSORS, __VA_ARGS__) \
  - (id)copyWithZone:(NSZone*)zone { \
    CLASS* copy = [[[self class] allocWithZone:zone] init]; \
    EMULATED_EACH(FIELD_OF_COPY, __VA_ARGS__) \
    return copy; \
  }
#define FIELD_ACCESSORS(TYPE, NAME) @synthesize NAME = _##NAME;
#define FIELD_OF_COPY(TYPE, NAME) copy.NAME = _##NAME;

/// descriptorWithFIRST:... sets each field that it names.
#define DESCRIPTOR_FROM(CLASS, FIRST, TYPE, NAME, ...) \
  + EMULATED_FROM(descriptor, FIRST, TYPE, NAME, __VA_ARGS__) { \
    CLASS* descriptor = [[[self alloc] init] autorelease]; \
    descriptor.NAME = NAME; \
    EMULATED_EACH(FIELD_OF_DESCRIPTOR __VA_OPT__(,) __VA_ARGS__) \
    return descriptor; \
  }
#define FIELD_OF_DESCRIPTOR(TYPE, NAME) descriptor.NAME = NAME;
// clang-format on
