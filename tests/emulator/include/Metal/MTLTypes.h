// SPDX-License-Identifier: MIT
// Sizes and positions in grids.
#pragma once

#import <Metal/MTLDefines.h>

typedef struct {
  NSUInteger x, y, z;
} MTLOrigin;

typedef struct {
  NSUInteger width, height, depth;
} MTLSize;

typedef struct {
  NSUInteger size, align;
} MTLSizeAndAlign;

static inline MTLOrigin MTLOriginMake(NSUInteger x, NSUInteger y,
                                      NSUInteger z) {
  MTLOrigin origin = {x, y, z};
  return origin;
}

static inline MTLSize MTLSizeMake(NSUInteger width, NSUInteger height,
                                  NSUInteger depth) {
  MTLSize size = {width, height, depth};
  return size;
}
