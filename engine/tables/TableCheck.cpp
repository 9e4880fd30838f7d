// Walks all tables by the tables of types that flatc writes, so that no new field can be forgotten.
#include "engine/tables/TableCheck.h"

#include <algorithm>
#include <cstddef>
#include <flatbuffers/minireflect.h>
#include <limits>

namespace npar::tables {

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

class Walk {
public:
  explicit Walk(uint64_t bytes) : left(bytes) {}

  bool visit(const Table &table, const TypeTable &type) {
    for (size_t i = 0; i < type.num_elems; ++i) {
      const TypeCode &code = type.type_codes[i];
      const auto field = flatbuffers::FieldIndexToOffset(static_cast<flatbuffers::voffset_t>(i));
      const TypeTable *of = code.base_type == flatbuffers::ET_SEQUENCE ? type.type_refs[code.sequence_ref]() : nullptr;
      bool good = true;
      if (code.is_repeating) {
        auto *list = table.GetPointer<const flatbuffers::Vector<uint8_t> *>(field);
        good = !list || visit(*list, code, of);
      } else if (code.base_type == flatbuffers::ET_STRING) {
        auto *text = table.GetPointer<const flatbuffers::String *>(field);
        good = !text || visit(*text);
      } else if (of && of->st == flatbuffers::ST_TABLE) {
        auto *inner = table.GetPointer<const Table *>(field);
        good = !inner || visit(*inner, *of);
      }
      if (!good)
        return false;
    }
    return true;
  }

private:
  bool take(uint64_t bytes) {
    bool fits = bytes <= left;
    left -= fits ? bytes : 0;
    return fits;
  }

  bool visit(const flatbuffers::String &text) { return take(sizeof(flatbuffers::uoffset_t) + text.size() + 1); }

  bool visit(const flatbuffers::Vector<uint8_t> &list, const TypeCode &code, const TypeTable *element) {
    auto base = static_cast<ElementaryType>(code.base_type);
    const bool structs = element && element->st == flatbuffers::ST_STRUCT;
    if (!take(sizeof(flatbuffers::uoffset_t) + uint64_t{list.size()} * flatbuffers::InlineSize(base, element)))
      return false;
    if (list.size() == 0) // nothing to read: the builder aligns no empty vector
      return true;
    if (reinterpret_cast<uintptr_t>(list.Data()) % (structs ? alignmentOfStruct(*element) : alignmentOf(base)) != 0)
      return false;
    if (base == flatbuffers::ET_STRING) {
      auto &strings = reinterpret_cast<const flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>> &>(list);
      return std::all_of(strings.begin(), strings.end(), [&](const flatbuffers::String *each) { return visit(*each); });
    }
    if (base != flatbuffers::ET_SEQUENCE || structs)
      return true;
    auto &inner = reinterpret_cast<const flatbuffers::Vector<flatbuffers::Offset<Table>> &>(list);
    return std::all_of(inner.begin(), inner.end(), [&](const Table *each) { return visit(*each, *element); });
  }

  uint64_t left; ///< bytes that strings and vectors may still take
};

} // namespace

bool elementsAreAligned(const Table &root, const TypeTable &type) { return isTree(root, type, std::numeric_limits<uint64_t>::max()); }

bool isTree(const Table &root, const TypeTable &type, uint64_t bytes) { return Walk(bytes).visit(root, type); }

} // namespace npar::tables
