// Walks all tables by the tables of types that flatc writes, so that no new field can be forgotten.
#include "engine/program/Alignment.h"

#include <algorithm>
#include <cstddef>
#include <flatbuffers/flatbuffers.h>

namespace npar::program {

namespace {

using flatbuffers::ElementaryType;
using flatbuffers::Table;
using flatbuffers::TypeCode;
using flatbuffers::TypeTable;

/// Alignment of a type in bytes. A string or a table is stored as an offset, so it has the alignment of an offset.
size_t alignmentOf(ElementaryType type) {
  switch (type) {
  case flatbuffers::ET_UTYPE:
  case flatbuffers::ET_BOOL:
  case flatbuffers::ET_CHAR:
  case flatbuffers::ET_UCHAR:
    return 1;
  case flatbuffers::ET_SHORT:
  case flatbuffers::ET_USHORT:
    return 2;
  case flatbuffers::ET_INT:
  case flatbuffers::ET_UINT:
  case flatbuffers::ET_FLOAT:
  case flatbuffers::ET_STRING:
  case flatbuffers::ET_SEQUENCE:
    return 4;
  case flatbuffers::ET_LONG:
  case flatbuffers::ET_ULONG:
  case flatbuffers::ET_DOUBLE:
    return 8;
  }
  return 1;
}

size_t alignmentOfStruct(const TypeTable &type) {
  size_t most = 1;
  for (size_t i = 0; i < type.num_elems; ++i) {
    const TypeCode &code = type.type_codes[i];
    auto base = static_cast<ElementaryType>(code.base_type);
    most = std::max(most, base == flatbuffers::ET_SEQUENCE ? alignmentOfStruct(*type.type_refs[code.sequence_ref]()) : alignmentOf(base));
  }
  return most;
}

bool areAligned(const Table &table, const TypeTable &type);

bool elementsAreAligned(const flatbuffers::Vector<uint8_t> &vector, const TypeCode &code, const TypeTable *element) {
  auto base = static_cast<ElementaryType>(code.base_type);
  bool structs = element && element->st == flatbuffers::ST_STRUCT;
  if (vector.size() == 0) // nothing to read: the builder aligns no empty vector
    return true;
  if (reinterpret_cast<uintptr_t>(vector.Data()) % (structs ? alignmentOfStruct(*element) : alignmentOf(base)) != 0)
    return false;
  if (base != flatbuffers::ET_SEQUENCE || structs)
    return true;
  auto &tables = reinterpret_cast<const flatbuffers::Vector<flatbuffers::Offset<Table>> &>(vector);
  return std::all_of(tables.begin(), tables.end(), [&](const Table *each) { return areAligned(*each, *element); });
}

bool areAligned(const Table &table, const TypeTable &type) {
  for (size_t i = 0; i < type.num_elems; ++i) {
    const TypeCode &code = type.type_codes[i];
    const auto field = flatbuffers::FieldIndexToOffset(static_cast<flatbuffers::voffset_t>(i));
    const bool isSequence = code.base_type == flatbuffers::ET_SEQUENCE;
    const TypeTable *of = isSequence ? type.type_refs[code.sequence_ref]() : nullptr;
    if (code.is_repeating) {
      auto *vector = table.GetPointer<const flatbuffers::Vector<uint8_t> *>(field);
      if (vector && !elementsAreAligned(*vector, code, of))
        return false;
    } else if (isSequence && of->st == flatbuffers::ST_TABLE) {
      auto *inner = table.GetPointer<const Table *>(field);
      if (inner && !areAligned(*inner, *of))
        return false;
    }
  }
  return true;
}

} // namespace

bool elementsAreAligned(const Program &program) { return areAligned(reinterpret_cast<const Table &>(program), *ProgramTypeTable()); }

} // namespace npar::program
