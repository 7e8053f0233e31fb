// SPDX-License-Identifier: MIT
// MTLLibrary, MTLFunction and pipelines: names of registered C++ kernels.
#import "libraries.h"

#include "faults.h"

#include <map>
#include <mutex>

NSErrorDomain const MTLLibraryErrorDomain = @"MTLLibraryErrorDomain";

namespace emulator {
namespace {

struct Registry {
  std::mutex mutex;
  std::map<std::string, ComputeKernel> kernels;
};

Registry& registry() {
  static Registry* const registry = new Registry;
  return *registry;
}

const ComputeKernel* find_kernel(const std::string& name) {
  std::lock_guard lock(registry().mutex);
  auto kernel = registry().kernels.find(name);
  return kernel == registry().kernels.end() ? nullptr : &kernel->second;
}

}  // namespace

bool register_kernel(const std::string& name, ComputeKernel kernel) {
  std::lock_guard lock(registry().mutex);
  registry().kernels[name] = std::move(kernel);
  return true;
}

ComputeKernel registered_kernel(const std::string& name) {
  std::lock_guard lock(registry().mutex);
  return registry().kernels.at(name);
}

}  // namespace emulator

@implementation EmulatedFunction
- (instancetype)initWithDevice:(id<MTLDevice>)device
                          name:(NSString*)name
                        kernel:(const emulator::ComputeKernel*)kernel {
  self = [super initWithDevice:device];
  _name = [name copy];
  _kernel = kernel;
  return self;
}

- (void)dealloc {
  [_name release];
  [super dealloc];
}

- (NSString*)name {
  return _name;
}
- (MTLFunctionType)functionType {
  return MTLFunctionTypeKernel;
}
@end

@implementation EmulatedComputePipelineState
- (instancetype)initWithFunction:(EmulatedFunction*)function {
  self = [super initWithDevice:[function device]];
  _kernel = function->_kernel;
  return self;
}

- (NSUInteger)maxTotalThreadsPerThreadgroup {
  return 1024;
}
- (NSUInteger)threadExecutionWidth {
  return 32;
}
- (NSUInteger)staticThreadgroupMemoryLength {
  return 0;
}
@end

@interface EmulatedLibrary : EmulatedObject <MTLLibrary> {
  NSString* _source;
}
- (instancetype)initWithDevice:(id<MTLDevice>)device source:(NSString*)source;
@end

@implementation EmulatedLibrary
- (instancetype)initWithDevice:(id<MTLDevice>)device source:(NSString*)source {
  self = [super initWithDevice:device];
  _source = [source copy];
  return self;
}

- (void)dealloc {
  [_source release];
  [super dealloc];
}

- (NSArray<NSString*>*)functionNames {
  NSMutableArray* names = [NSMutableArray array];
  NSArray* parts = [_source componentsSeparatedByString:@"kernel void "];
  for (NSUInteger i = 1; i < [parts count]; ++i) {
    NSString* part = [parts objectAtIndex:i];
    const NSRange end = [part rangeOfString:@"("];
    if (end.location == NSNotFound) continue;
    [names addObject:[part substringToIndex:end.location]];
  }
  return names;
}

/// A macro, whose argument is the name, may define it, too.
- (BOOL)defines:(NSString*)name {
  if ([[self functionNames] containsObject:name]) return YES;
  NSString* argument = [NSString stringWithFormat:@", %@, ", name];
  return [_source rangeOfString:argument].location != NSNotFound;
}

- (id<MTLFunction>)newFunctionWithName:(NSString*)name {
  if (!name) emulator::refuse("newFunctionWithName", @"the name is nil");
  if (![self defines:name]) return nil;
  auto* kernel = emulator::find_kernel([name UTF8String]);
  if (!kernel) return nil;
  return [[EmulatedFunction alloc] initWithDevice:[self device]
                                             name:name
                                           kernel:kernel];
}
@end

@implementation MTLCompileOptions
@synthesize fastMathEnabled = _fastMathEnabled,
            languageVersion = _languageVersion,
            preprocessorMacros = _preprocessorMacros;

- (instancetype)init {
  self = [super init];
  _fastMathEnabled = YES;
  _languageVersion = MTLLanguageVersion3_0;
  emulator::count_birth(self);
  return self;
}

- (void)dealloc {
  emulator::count_death(self);
  [_preprocessorMacros release];
  [super dealloc];
}

- (id)copyWithZone:(NSZone*)zone {
  MTLCompileOptions* copy = [[MTLCompileOptions allocWithZone:zone] init];
  [copy setFastMathEnabled:_fastMathEnabled];
  [copy setLanguageVersion:_languageVersion];
  [copy setPreprocessorMacros:_preprocessorMacros];
  return copy;
}
@end

namespace emulator {

id<MTLLibrary> make_library(id<MTLDevice> device, NSString* source,
                            NSError** error) {
  if (!source) refuse("newLibraryWithSource", @"the source is nil");
  // The nearest to a syntax error that can be known without a compiler.
  const auto count = [](NSString* text, NSString* part) {
    return [[text componentsSeparatedByString:part] count];
  };
  const bool fails = meets_library_fault();
  if (!fails && count(source, @"{") == count(source, @"}")) {
    return [[EmulatedLibrary alloc] initWithDevice:device source:source];
  }
  if (error) {
    NSDictionary* info = [NSDictionary
        dictionaryWithObject:fails ? @"fails on demand" : @"braces do not match"
                      forKey:NSLocalizedDescriptionKey];
    *error = [NSError errorWithDomain:MTLLibraryErrorDomain
                                 code:MTLLibraryErrorCompileFailure
                             userInfo:info];
  }
  return nil;
}

id<MTLComputePipelineState> make_pipeline(id<MTLFunction> function) {
  if (!function) {
    refuse("newComputePipelineStateWithFunction", @"the function is nil");
  }
  return [[EmulatedComputePipelineState alloc]
      initWithFunction:(EmulatedFunction*)function];
}

}  // namespace emulator
