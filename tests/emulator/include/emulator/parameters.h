// SPDX-License-Identifier: MIT
// Methods and properties from lists of typed names, which headers and
// implementations share: (NSUInteger, kernelWidth), (float, alpha).
#pragma once

/// M applied to each element of a list: EMULATED_EACH(M, (a, b), (c, d)) is
/// M(a, b) M(c, d). Not within itself; of 20 elements at most.
#define EMULATED_EACH(M, ...) \
  __VA_OPT__(EMULATED_SCAN(EMULATED_EACH_STEP(M, __VA_ARGS__)))
#define EMULATED_EACH_STEP(M, ELEMENT, ...) \
  M ELEMENT __VA_OPT__(EMULATED_EACH_NEXT EMULATED_PARENS(M, __VA_ARGS__))
#define EMULATED_EACH_NEXT() EMULATED_EACH_STEP
#define EMULATED_PARENS ()
#define EMULATED_SCAN(...) \
  EMULATED_SCAN_5(         \
      EMULATED_SCAN_5(EMULATED_SCAN_5(EMULATED_SCAN_5(__VA_ARGS__))))
#define EMULATED_SCAN_5(...) \
  EMULATED_SCAN_1(           \
      EMULATED_SCAN_1(EMULATED_SCAN_1(EMULATED_SCAN_1(__VA_ARGS__))))
#define EMULATED_SCAN_1(...) __VA_ARGS__

// clang-format off
// For EMULATED_EACH. Elements may go on after the name: with defaults.
#define EMULATED_PARAMETER(TYPE, NAME, ...) NAME:(TYPE)NAME
#define EMULATED_ARGUMENT(TYPE, NAME, ...) NAME:NAME
#define EMULATED_DEFAULT(TYPE, NAME, VALUE) NAME:VALUE
#define EMULATED_VALUE(TYPE, NAME, ...) NAME,
#define EMULATED_KEEP(TYPE, NAME, ...) _##NAME = NAME;
#define EMULATED_PROPERTY(TYPE, NAME, ...) \
  @property(readwrite, nonatomic) TYPE NAME;
#define EMULATED_GETTER(TYPE, NAME, ...) \
  @property(readonly, nonatomic) TYPE NAME;
#define EMULATED_COPIED(TYPE, NAME, ...) \
  @property(readwrite, nonatomic, copy) TYPE NAME;
#define EMULATED_VARIABLE(TYPE, NAME, ...) TYPE _##NAME;

/// The head of a method nodeWithFIRST:... or initWithFIRST:..., by its VERB.
#define EMULATED_FROM(VERB, FIRST, TYPE, NAME, ...) \
  (instancetype)VERB##With##FIRST:(TYPE)NAME \
      EMULATED_EACH(EMULATED_PARAMETER __VA_OPT__(,) __VA_ARGS__)
#define EMULATED_FROM_SOURCE(VERB, ...) \
  EMULATED_FROM(VERB, Source, MPSNNImageNode*, source, __VA_ARGS__)
#define EMULATED_FROM_GRADIENT(VERB, ...) \
  EMULATED_FROM(VERB, SourceGradient, MPSNNImageNode*, sourceGradient, \
                (MPSNNImageNode*, sourceImage), \
                (MPSNNGradientStateNode*, gradientState) \
                    __VA_OPT__(,) __VA_ARGS__)

/// Declares an initializer and its class method.
#define EMULATED_MADE(...) \
  + EMULATED_FROM(node, __VA_ARGS__); \
  - EMULATED_FROM(init, __VA_ARGS__)
#define EMULATED_NODE(...) \
  + EMULATED_FROM_SOURCE(node, __VA_ARGS__); \
  - EMULATED_FROM_SOURCE(init, __VA_ARGS__)
#define EMULATED_GRADIENT_NODE(...) \
  + EMULATED_FROM_GRADIENT(node, __VA_ARGS__); \
  - EMULATED_FROM_GRADIENT(init, __VA_ARGS__)
// clang-format on
