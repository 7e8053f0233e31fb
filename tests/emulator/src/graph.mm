// SPDX-License-Identifier: MIT
// MPSGraph, its tensors and operations: building.
#include <mutex>

#include "element_types.h"
#include "faults.h"
#import "graph_objects.h"
#import "objects.h"

using emulator::GraphState;
using emulator::refuse;

@implementation MPSGraphTensor
@synthesize shape = _shape, dataType = _dataType, operation = _operation;

- (instancetype)initWithType:(const emulator::Type&)type
                       value:(NSUInteger)value
                   operation:(MPSGraphOperation*)operation {
  self = [super init];
  _shape = [emulator::shape_of(type.shape) copy];
  _dataType = MPSDataType(type.data_type);
  _valueIndex = value;
  _operation = operation;
  return self;
}

- (void)dealloc {
  [_shape release];
  [super dealloc];
}

- (id)copyWithZone:(NSZone*)zone {
  (void)zone;
  return [self retain];
}

- (NSUInteger)valueIndex {
  return _valueIndex;
}
- (void)graphDied {
  _operation = nil;
}
@end

@implementation MPSGraphOperation
@synthesize inputTensors = _inputTensors, outputTensors = _outputTensors,
            graph = _graph, name = _name;

- (instancetype)initWithGraph:(MPSGraph*)graph
                         name:(NSString*)name
                         node:(NSUInteger)node
                       inputs:(NSArray*)inputs {
  self = [super init];
  _graph = graph;
  _name = [name copy];
  _nodeIndex = node;
  _inputTensors = [inputs copy];
  return self;
}

- (void)dealloc {
  [self graphDied];
  [_inputTensors release];
  [_outputTensors release];
  [_name release];
  [super dealloc];
}

- (id)copyWithZone:(NSZone*)zone {
  (void)zone;
  return [self retain];
}

- (NSArray<MPSGraphOperation*>*)controlDependencies {
  return [NSArray array];
}
- (void)setOutputTensors:(NSArray*)outputs {
  _outputTensors = [outputs copy];
}
- (NSUInteger)nodeIndex {
  return _nodeIndex;
}
- (void)graphDied {
  _graph = nil;
  [_outputTensors makeObjectsPerformSelector:@selector(graphDied)];
}
@end

@implementation MPSGraph
@synthesize options = _options;

- (instancetype)init {
  self = [super init];
  _options = MPSGraphOptionsDefault;
  _operations = [NSMutableArray new];
  _placeholders = [NSMutableArray new];
  _state = new GraphState;
  return self;
}

- (void)dealloc {
  *[self state]->is_alive = false;
  [_operations makeObjectsPerformSelector:@selector(graphDied)];
  [_operations release];
  [_placeholders release];
  delete[self state];
  [super dealloc];
}

- (GraphState*)state {
  return static_cast<GraphState*>(_state);
}

- (NSArray<MPSGraphTensor*>*)placeholderTensors {
  return [[_placeholders copy] autorelease];
}

- (NSArray<MPSGraphTensor*>*)addNode:(emulator::Node)node
                                name:(NSString*)name
                              inputs:(NSArray*)inputs
                               types:(const std::vector<emulator::Type>&)types {
  const emulator::Building building(node.op.c_str());
  GraphState& state = *[self state];
  const NSUInteger index = state.nodes.size();
  if (!name) {
    name = [NSString
        stringWithFormat:@"%s_%lu", node.op.c_str(), (unsigned long)index];
  }
  MPSGraphOperation* operation =
      [[[MPSGraphOperation alloc] initWithGraph:self
                                           name:name
                                           node:index
                                         inputs:inputs] autorelease];
  NSMutableArray* tensors = [NSMutableArray array];
  for (const emulator::Type& type : types) {
    node.results.push_back(state.values.size());
    MPSGraphTensor* tensor =
        [[MPSGraphTensor alloc] initWithType:type
                                       value:state.values.size()
                                   operation:operation];
    [tensors addObject:tensor];
    [tensor release];
    state.values.push_back(type);
    state.producers.push_back(index);
  }
  [operation setOutputTensors:tensors];
  [_operations addObject:operation];
  if (node.is_placeholder()) [_placeholders addObject:[tensors lastObject]];
  state.nodes.push_back(std::move(node));
  return tensors;
}
@end

namespace emulator {
namespace {

std::recursive_mutex& builder() {
  static std::recursive_mutex mutex;
  return mutex;
}

}  // namespace

Building::Building(const char* what) {
  if (!builder().try_lock()) refuse(what, @"another thread builds a graph");
}

Building::~Building() { builder().unlock(); }

Type type_of(MPSGraphTensor* tensor) {
  return {[tensor dataType], dims_of([tensor shape])};
}

void require_tensor(MPSGraph* graph, const char* op, MPSGraphTensor* tensor) {
  if (!tensor) refuse(op, @"a tensor is nil");
  if (![tensor isKindOfClass:[MPSGraphTensor class]]) {
    refuse(op, @"%@ is no tensor", tensor);
  }
  if ([[tensor operation] graph] != graph) {
    refuse(op, @"a tensor %@ belongs to another graph",
           describe(type_of(tensor)));
  }
}

namespace {

void require_operation(const char* op, const std::vector<Type>& results) {
  if (meets_operation_fault(op)) refuse(op, @"fails on demand");
  for (const Type& type : results) require_type(op, type);
}

}  // namespace

NSArray<MPSGraphTensor*>* add_operation(MPSGraph* graph, const char* op,
                                        NSString* name,
                                        NSArray<MPSGraphTensor*>* inputs,
                                        const std::vector<Type>& results,
                                        Kernel kernel) {
  require_operation(op, results);
  Node node;
  node.op = op;
  node.kernel = std::move(kernel);
  for (NSUInteger i = 0; i < [inputs count]; ++i) {
    MPSGraphTensor* input = [inputs objectAtIndex:i];
    require_tensor(graph, op, input);
    node.inputs.push_back([input valueIndex]);
  }
  return [graph addNode:std::move(node) name:name inputs:inputs types:results];
}

MPSGraphTensor* add_operation(MPSGraph* graph, const char* op, NSString* name,
                              NSArray<MPSGraphTensor*>* inputs,
                              const Type& result, Kernel kernel) {
  return [add_operation(graph, op, name, inputs, std::vector<Type>{result},
                        std::move(kernel)) lastObject];
}

namespace {

MPSGraphTensor* add_constant(MPSGraph* graph, Array array) {
  round_to_type(array);
  Node node;
  node.op = "constant";
  node.constant = std::make_shared<Array>(std::move(array));
  const std::vector<Type> types{node.constant->type};
  return [[graph addNode:std::move(node)
                    name:nil
                  inputs:[NSArray array]
                   types:types] lastObject];
}

}  // namespace
}  // namespace emulator

@implementation MPSGraph (MemoryOps)
- (MPSGraphTensor*)placeholderWithShape:(MPSShape*)shape
                               dataType:(MPSDataType)data_type
                                   name:(NSString*)name {
  if (!shape) refuse("placeholder", @"unranked tensors are not emulated");
  const emulator::Type type{data_type, emulator::dims_of(shape)};
  emulator::require_operation("placeholder", {type});
  emulator::Node node;
  node.op = "placeholder";
  return [[self addNode:std::move(node)
                   name:name
                 inputs:[NSArray array]
                  types:{type}] lastObject];
}

- (MPSGraphTensor*)placeholderWithShape:(MPSShape*)shape name:(NSString*)name {
  return [self placeholderWithShape:shape
                           dataType:MPSDataTypeFloat32
                               name:name];
}

- (MPSGraphTensor*)constantWithData:(NSData*)data
                              shape:(MPSShape*)shape
                           dataType:(MPSDataType)data_type {
  if (!data || !shape) refuse("constant", @"data or shape is nil");
  const emulator::Type type{data_type, emulator::dims_of(shape)};
  emulator::require_operation("constant", {type});
  if ([data length] != emulator::byte_size(type)) {
    refuse("constant", @"%lu bytes of data for %@",
           (unsigned long)[data length], emulator::describe(type));
  }
  emulator::Array array{type, std::vector<double>(type.num_elements())};
  emulator::decode(data_type, [data bytes], array.data.size(),
                   array.data.data());
  return emulator::add_constant(self, std::move(array));
}

- (MPSGraphTensor*)constantWithScalar:(double)scalar
                             dataType:(MPSDataType)data_type {
  return [self constantWithScalar:scalar
                            shape:[NSArray array]
                         dataType:data_type];
}

- (MPSGraphTensor*)constantWithScalar:(double)scalar
                                shape:(MPSShape*)shape
                             dataType:(MPSDataType)data_type {
  if (!shape) refuse("constant", @"the shape is nil");
  const emulator::Type type{data_type, emulator::dims_of(shape)};
  emulator::require_operation("constant", {type});
  return emulator::add_constant(
      self, {type, std::vector<double>(type.num_elements(), scalar)});
}
@end
