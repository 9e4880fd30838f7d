// Reads and writes the choices of algorithms.
#include "engine/backends/cuda/library/ProductChoices.h"

#include <cctype>
#include <optional>
#include <sstream>
#include <xxhash.h>

namespace npar::engine::cuda {

namespace {

/// Only what names a file everywhere.
std::string fileName(std::string words) {
  for (char &letter : words)
    if (!std::isalnum(static_cast<unsigned char>(letter)) && letter != '.')
      letter = '-';
  return words;
}

std::string hashLine(const std::string &text) {
  std::ostringstream line;
  line << "hash " << std::hex << XXH64(text.data(), text.size(), 0) << '\n';
  return line.str();
}

std::string lineOf(const std::string &shape, const ProductChoice &choice) {
  std::ostringstream line;
  line << shape << ':' << std::hex;
  for (uint64_t word : choice.algorithm.data)
    line << ' ' << word;
  line << std::dec << ' ' << choice.workspaceBytes << ' ' << choice.microseconds << (choice.ownBits ? " own" : " other") << '\n';
  return line.str();
}

std::optional<ProductChoice> choiceOf(const std::string &words) {
  std::istringstream stream(words);
  ProductChoice choice;
  stream >> std::hex;
  for (uint64_t &word : choice.algorithm.data)
    stream >> word;
  std::string bits;
  stream >> std::dec >> choice.workspaceBytes >> choice.microseconds >> bits;
  choice.ownBits = bits == "own";
  return stream && (choice.ownBits || bits == "other") ? std::optional(choice) : std::nullopt;
}

} // namespace

ProductChoices::ProductChoices(const std::string &device, const std::string &version)
    : title("npar's choices of algorithms, 1: cuBLASLt " + version + ", " + device) {
  name = fileName("cublaslt-" + version + "-" + device) + ".txt";
  if (files::CachePlace place = files::cachePlace("kernels"); !place.root.empty()) {
    Result<files::PrivateFolder> opened = files::PrivateFolder::open(place.root, place.below);
    if (opened.ok())
      folder.emplace(std::move(*opened));
    else
      said.push_back("choices of algorithms cannot be kept in '" + place.path() + "': " + opened.status().message());
  }
  choices = read();
}

ProductChoices::Choices ProductChoices::read() {
  constexpr uint64_t largest = uint64_t{16} << 20;
  if (!folder)
    return {};
  Result<std::optional<std::vector<uint8_t>>> found = folder->read(name, largest);
  if (found.ok() && !*found)
    return {};
  Result<std::vector<uint8_t>> bytes = found.ok() ? Result(std::move(**found)) : Result<std::vector<uint8_t>>(found.status());
  std::string all = bytes.ok() ? std::string(bytes->begin(), bytes->end()) : "";
  size_t end = all.rfind("hash ");
  std::istringstream lines(end == std::string::npos ? "" : all.substr(0, end));
  std::string line;
  bool good = end != std::string::npos && all.substr(end) == hashLine(all.substr(0, end)) && std::getline(lines, line) && line == title;
  Choices kept;
  while (good && std::getline(lines, line)) {
    size_t colon = line.find(':');
    std::optional<ProductChoice> choice = colon == std::string::npos ? std::nullopt : choiceOf(line.substr(colon + 1));
    good = choice.has_value();
    if (good)
      kept.emplace(line.substr(0, colon), *choice);
  }
  if (good)
    return kept;
  said.push_back("'" + folder->name() + "/" + name + "', which stores choices of algorithms, is damaged and ignored: all are tried again" +
                 (found.ok() ? "" : " (" + found.status().message() + ")"));
  return {};
}

const ProductChoice *ProductChoices::find(const std::string &shape) const {
  auto found = choices.find(shape);
  return found == choices.end() ? nullptr : &found->second;
}

void ProductChoices::add(const std::string &shape, const ProductChoice &choice) {
  choices[shape] = choice;
  changed = true;
}

std::string ProductChoices::text() const {
  std::string lines = title + "\n";
  for (const auto &[shape, choice] : choices)
    lines += lineOf(shape, choice);
  return lines + hashLine(lines);
}

void ProductChoices::save() {
  if (!folder || !changed)
    return;
  std::vector<std::string> before = said;
  choices.merge(read());
  said = std::move(before); // errors of the file were reported when it was first read
  std::string content = text();
  Status status = folder->write(name, content.data(), content.size());
  if (!status.ok())
    said.push_back("choices of algorithms cannot be kept in '" + folder->name() + "': " + status.message());
  changed = false;
}

} // namespace npar::engine::cuda
