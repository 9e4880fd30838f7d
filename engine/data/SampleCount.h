// How many samples data have, from sizes and headers: no value is read.
#pragma once

#include "engine/data/DataPlan.h"

namespace npar::engine {

/// Of all files of the plan, in the part of its split that it names; 0 where that is not known: who opens the data says why.
int64_t countSamples(const DataPlan &plan, const BatchShape &shape);
/// Of a stream in one file, of which each token but the first is a target and a last sample may not be full.
int64_t countTokenSamples(const std::string &path, DataFormat format, const BatchShape &shape);

} // namespace npar::engine
