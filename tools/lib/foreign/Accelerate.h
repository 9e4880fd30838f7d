// Accelerate in two files: the program (Accelerate) and the classes of its names (AccelerateNames).
#pragma once

#include "tools/lib/foreign/ForeignRun.h"

namespace npar::foreign {

const NameTable &accelerateNames();

/// Buckets in which PyTorch's DistributedDataParallel reduces gradients during the backward pass (bucket_cap_mb; its first has 1 MiB).
void takeDdpBuckets(ForeignRun &run);
/// FSDP reduces the gradients that are not in shares block by block during the backward pass.
void takeFsdpBuckets(ForeignRun &run);

} // namespace npar::foreign
