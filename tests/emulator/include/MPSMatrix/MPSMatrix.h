// SPDX-License-Identifier: MIT

// The part of MPSMatrix that the emulator has.
#pragma once

#import <MPSCore/MPSMatrix.h>
