// Gathers the rank dialect's ops for tablegen.
include "compiler/dialects/rank/RankDialect.td"
include "compiler/dialects/rank/RankKernelOps.td"
