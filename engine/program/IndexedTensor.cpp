// Reads an axis in braces out of a variable's name and finds its dimension.
#include "engine/program/IndexedTensor.h"

#include <algorithm>
#include <cctype>

namespace npar::program {

uint64_t IndexedTensor::elementsBefore(uint64_t index, uint64_t place) const {
  const uint64_t row = count * inner, begin = index * inner, rest = place % row;
  return place / row * inner + (rest < begin ? 0 : std::min(rest - begin, inner));
}

std::optional<IndexedTensor> indexedTensor(const Variable &variable) {
  const std::string name = variable.name()->str();
  size_t open = name.find('{'), close = open == std::string::npos ? open : name.find('}', open);
  if (close == std::string::npos)
    return std::nullopt;
  const std::string axis = name.substr(open + 1, close - open - 1);
  IndexedTensor result{name.substr(0, open), name.substr(close + 1)};
  bool found = false;
  for (uint32_t i = 0; i < variable.axes()->size() && i < variable.shape()->size(); ++i) {
    if (variable.shape()->Get(i) < 1)
      return std::nullopt;
    auto size = static_cast<uint64_t>(variable.shape()->Get(i));
    if (!found && variable.axes()->Get(i)->str() == axis)
      found = true, result.count = size;
    else
      (found ? result.inner : result.outer) *= size;
  }
  if (!found)
    return std::nullopt;
  // The stored dimension of this size that has as many elements after it.
  std::vector<int64_t> stored(variable.stored()->begin(), variable.stored()->end());
  uint64_t after = 1;
  for (size_t i = stored.size(); i-- > 0; after *= static_cast<uint64_t>(stored[i]))
    if (after == result.inner && static_cast<uint64_t>(stored[i]) == result.count) {
      stored.erase(stored.begin() + static_cast<std::ptrdiff_t>(i));
      result.shape = std::move(stored);
      return result;
    }
  return std::nullopt;
}

std::vector<NumberedName> numbersIn(const std::string &name) {
  constexpr size_t most = 9; // digits: beyond any number of tensors
  auto isDigit = [&](size_t at) { return at < name.size() && std::isdigit(static_cast<unsigned char>(name[at])); };
  std::vector<NumberedName> result;
  for (size_t begin = 0; begin < name.size(); ++begin)
    for (size_t end = begin + 1; isDigit(end - 1) && end - begin <= most; ++end) {
      result.push_back({name.substr(0, begin), name.substr(end), std::stoull(name.substr(begin, end - begin))});
      if (name[begin] == '0')
        break; // no number begins with one
    }
  return result;
}

} // namespace npar::program
