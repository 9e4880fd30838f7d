// Statistics of several samples: sums over groups of consecutive samples, which do not depend on how a plan divides the batch.
#include "dsl/elaborate/Operation.h"

#include <numeric>

namespace npar::dsl {

const NodeKind node::total{"total", 1}, node::groupTotal{"group_total", 1, {{"samples", AttributeKind::Integer}}};

int64_t samplesOf(OperationCall &call, size_t i) {
  const Graph &graph = call.graph;
  const int64_t micro = graph.size("batch");
  const Value value = call.value(i);
  auto *axis = std::get_if<AxisValue>(&value);
  auto *number = std::get_if<int64_t>(&value);
  const bool all = axis && axis->names == AxisNames{"batch"};
  if (!all && (!number || *number < 1))
    call.reporter.fail(Code::A17, call.place(i),
                       "argument 'samples' of '" + call.name + "' must be a number of samples, at least 1, or `batch`, this is " +
                           (isNumber(value) ? textOf(value) : kindOf(value)));
  const int64_t samples = all ? graph.batch : *number;
  if (!graph.trains) // what is computed from several samples is left out: its groups do not matter
    return micro;
  if (samples == graph.batch || micro % samples == 0)
    return samples;
  const int64_t times = samples / std::gcd(samples, micro);
  call.reporter.fail(Code::A17, call.place(i),
                     "a group of " + std::to_string(samples) + " samples does not fit into one micro-batch, which has " +
                         std::to_string(micro) + " samples on all ranks together",
                     {graph.batch % (times * micro) == 0
                          ? "make 'micro' " + std::to_string(times) + " times as large"
                          : "the batch of " + std::to_string(graph.batch) + " has no micro-batches of which " + std::to_string(samples) +
                                " is a divisor: change the batch"});
}

int overSamples(Graph &graph, Location at, int x, int64_t samples) {
  if (graph.trains && samples == graph.batch)
    return graph.add(at, node::total.name, {x}, graph.type(x));
  return graph.add(at, node::groupTotal.name, {x}, graph.type(x), {{"samples", samples}});
}

} // namespace npar::dsl
