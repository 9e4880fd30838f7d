// Normalizers that change each character for itself.
#pragma once

#include "engine/text/Normalizer.h"

#include <cstdint>
#include <functional>

namespace npar::engine {

/// Appends what a character becomes, perhaps nothing.
using CharacterRule = std::function<void(char32_t character, std::string &out)>;
std::shared_ptr<const Normalizer> characterNormalizer(CharacterRule rule);

std::shared_ptr<const Normalizer> lowercaseNormalizer();
/// Removes combining marks.
std::shared_ptr<const Normalizer> stripAccentsNormalizer();
/// The `Nmt` normalizer: removes control characters and turns other white space into spaces.
std::shared_ptr<const Normalizer> nmtNormalizer();
/// Writes every byte as its printable character (ByteCharacters.h).
std::shared_ptr<const Normalizer> byteLevelNormalizer();

struct BertSettings {
  bool cleanText = true, handleChineseCharacters = true, stripAccents = true, lowercase = true;
};
/// The parts of a `BertNormalizer`, in their order.
Normalizers bertNormalizers(const BertSettings &settings);

} // namespace npar::engine
