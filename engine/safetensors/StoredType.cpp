// The types that the format's documentation lists. Types below eight bits are packed.
#include "engine/safetensors/StoredType.h"

#include "engine/program/Elements.h"

#include <algorithm>
#include <vector>

namespace npar::engine {

using program::ElementType;

namespace {

/// Types of the format that the engine does not have.
const StoredType others[] = {
    {"BOOL", 8, false, std::nullopt},        {"I8", 8, false, std::nullopt},      {"I16", 16, false, std::nullopt},
    {"U16", 16, false, std::nullopt},        {"U32", 32, false, std::nullopt},    {"I64", 64, false, std::nullopt},
    {"U64", 64, false, std::nullopt},        {"C64", 64, false, std::nullopt},    {"F8_E5M2", 8, false, std::nullopt},
    {"F8_E4M3", 8, false, std::nullopt},     {"F8_E8M0", 8, false, std::nullopt}, {"F8_E5M2FNUZ", 8, false, std::nullopt},
    {"F8_E4M3FNUZ", 8, false, std::nullopt}, {"F6_E2M3", 6, false, std::nullopt}, {"F6_E3M2", 6, false, std::nullopt},
    {"F4", 4, false, std::nullopt}};

const std::vector<StoredType> &storedTypes() {
  static const std::vector<StoredType> all = [] {
    std::vector<StoredType> list;
    for (const program::ElementRow &row : program::elementRows)
      list.push_back({row.storedWord, static_cast<unsigned>(row.bits), program::isFloating(row.type), row.type});
    list.insert(list.end(), std::begin(others), std::end(others));
    return list;
  }();
  return all;
}

} // namespace

const StoredType *findStoredType(const std::string &word) {
  const std::vector<StoredType> &all = storedTypes();
  auto found = std::find_if(all.begin(), all.end(), [&](const StoredType &type) { return type.word == word; });
  return found == all.end() ? nullptr : &*found;
}

const char *storedWord(ElementType element) { return program::rowOf(element).storedWord; }

const std::string &floatingWords() {
  static const std::string words = [] {
    std::string list, last;
    for (const StoredType &type : storedTypes())
      if (type.floating) {
        list += (list.empty() ? "" : last.empty() ? "" : ", ") + last;
        last = type.word;
      }
    return list + " and " + last;
  }();
  return words;
}

} // namespace npar::engine
