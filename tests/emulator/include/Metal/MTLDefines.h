// SPDX-License-Identifier: MIT
// What the other headers of this Metal need from the system.
#pragma once

#import <Foundation/Foundation.h>

#ifdef __cplusplus
#define MTL_EXTERN extern "C"
#else
#define MTL_EXTERN extern
#endif

// CoreFoundation is not part of GNUstep.
typedef double CFTimeInterval;
