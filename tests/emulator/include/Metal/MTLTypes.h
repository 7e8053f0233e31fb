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
  MTLOrigin origin;
  MTLSize size;
} MTLRegion;

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

static inline MTLRegion MTLRegionMake3D(NSUInteger x, NSUInteger y,
                                        NSUInteger z, NSUInteger width,
                                        NSUInteger height, NSUInteger depth) {
  MTLRegion region = {{x, y, z}, {width, height, depth}};
  return region;
}

static inline MTLRegion MTLRegionMake2D(NSUInteger x, NSUInteger y,
                                        NSUInteger width, NSUInteger height) {
  return MTLRegionMake3D(x, y, 0, width, height, 1);
}
