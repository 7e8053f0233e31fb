// SPDX-License-Identifier: MIT

// The part of MPSImage that the emulator has.
#pragma once

#import <MPSImage/MPSImageCopy.h>
