// Counts the samples of data from sizes of files and their headers, without reading a value.
#pragma once

#include "engine/data/DataPlan.h"

namespace npar::engine {

/// Counts those of all files of the plan, in the part of its split that it names. 0: unknown; opening the data tells why.
int64_t countSamples(const DataPlan &plan, const BatchShape &shape);
/// Counts those of a stream in one file, in which each token except the first is a target; the last sample can be short.
int64_t countTokenSamples(const std::string &path, DataFormat format, const BatchShape &shape);

} // namespace npar::engine
