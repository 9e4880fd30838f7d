// Checks of FlatBuffers that FlatBuffers' own verifier (2.0.8) leaves out. A buffer must have passed that verifier.
#pragma once

#include <cstdint>
#include <flatbuffers/flatbuffers.h>

namespace npar::tables {

/// True if every vector element is aligned. The verifier checks the alignment of tables, fields and vector lengths, but not of vector
/// elements: a list of 64-bit numbers may begin at half an element. `type` is `MiniReflectTypeTable()` of the root.
bool elementsAreAligned(const flatbuffers::Table &root, const flatbuffers::TypeTable &type);

/// The same, and true only if strings and vectors, counted at each mention, take at most `bytes`. Otherwise several fields share them, and
/// a small hostile buffer could be copied into a large object.
bool isTree(const flatbuffers::Table &root, const flatbuffers::TypeTable &type, uint64_t bytes);

} // namespace npar::tables
