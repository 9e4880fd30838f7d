// The types that the format's documentation lists. Types below eight bits are packed.
#include "engine/safetensors/StoredType.h"

#include <algorithm>
#include <array>

namespace npar::engine {

using program::ElementType;

namespace {

const std::array<StoredType, 22> types = {
    {{"F32", 32, true, ElementType::F32},     {"F64", 64, true, ElementType::F64},  {"F16", 16, true, ElementType::F16},
     {"BF16", 16, true, ElementType::BF16},   {"I32", 32, false, ElementType::I32}, {"U8", 8, false, ElementType::U8},
     {"BOOL", 8, false, std::nullopt},        {"I8", 8, false, std::nullopt},       {"I16", 16, false, std::nullopt},
     {"U16", 16, false, std::nullopt},        {"U32", 32, false, std::nullopt},     {"I64", 64, false, std::nullopt},
     {"U64", 64, false, std::nullopt},        {"C64", 64, false, std::nullopt},     {"F8_E5M2", 8, false, std::nullopt},
     {"F8_E4M3", 8, false, std::nullopt},     {"F8_E8M0", 8, false, std::nullopt},  {"F8_E5M2FNUZ", 8, false, std::nullopt},
     {"F8_E4M3FNUZ", 8, false, std::nullopt}, {"F6_E2M3", 6, false, std::nullopt},  {"F6_E3M2", 6, false, std::nullopt},
     {"F4", 4, false, std::nullopt}}};

} // namespace

const StoredType *findStoredType(const std::string &word) {
  auto found = std::find_if(types.begin(), types.end(), [&](const StoredType &type) { return type.word == word; });
  return found == types.end() ? nullptr : &*found;
}

const char *storedWord(ElementType element) {
  return std::find_if(types.begin(), types.end(), [&](const StoredType &type) { return type.element == element; })->word;
}

const std::string &floatingWords() {
  static const std::string words = [] {
    std::string list, last;
    for (const StoredType &type : types)
      if (type.floating) {
        list += (list.empty() ? "" : last.empty() ? "" : ", ") + last;
        last = type.word;
      }
    return list + " and " + last;
  }();
  return words;
}

} // namespace npar::engine
