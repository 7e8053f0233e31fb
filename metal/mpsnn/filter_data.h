// SPDX-License-Identifier: MIT
// TGFilterData: what the data sources of all filters have in common. MPSNN
// copies them, and asks them to load and to forget their parameters, which are
// in device memory all the time.
#pragma once

#import "metal/mpsnn/filter_parameters.h"

@interface TGFilterData : NSObject <NSCopying> {
  traingraph::metal::FilterParameters* _parameters;
  NSString* _label;
}
/// `parameters` outlive everything that MPSNN makes of this.
+ (instancetype)dataWithParameters:
    (traingraph::metal::FilterParameters*)parameters;
- (id)copyWithZone:(NSZone*)zone;
- (instancetype)copyWithZone:(NSZone*)zone device:(id<MTLDevice>)device;
- (BOOL)load;
- (void)purge;
- (NSString*)label;
@end
