// Reads and writes the choices of algorithms.
#include "engine/backends/cuda/ProductChoices.h"

#include "engine/files/AtomicFile.h"

#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <sstream>
#include <xxhash.h>

namespace npar::engine::cuda {

namespace {

std::string cacheFolder() {
  auto variable = [](const char *name) {
    const char *value = std::getenv(name);
    return std::string(value ? value : "");
  };
  if (std::string given = variable("NPAR_CACHE"); !given.empty())
    return given;
  if (std::string cache = variable("XDG_CACHE_HOME"); !cache.empty())
    return cache + "/npar/kernels";
  std::string home = variable("HOME");
  return home.empty() ? "" : home + "/.cache/npar/kernels";
}

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

ProductChoices::ProductChoices(const std::string &device, size_t version)
    : title("npar's choices of algorithms, 1: cuBLASLt " + cublasLtVersionText(version) + ", " + device) {
  if (std::string folder = cacheFolder(); !folder.empty())
    path = folder + "/" + fileName("cublaslt-" + cublasLtVersionText(version) + "-" + device) + ".txt";
  choices = read();
}

ProductChoices::Choices ProductChoices::read() {
  std::error_code failed;
  if (path.empty() || !std::filesystem::exists(path, failed))
    return {};
  Result<std::vector<uint8_t>> bytes = program::readFile(path, 16 << 20);
  std::string all = bytes.ok() ? std::string(bytes->begin(), bytes->end()) : "";
  size_t end = all.rfind("hash ");
  std::istringstream lines(end == std::string::npos ? "" : all.substr(0, end));
  std::string line;
  bool good = end != std::string::npos && all.substr(end) == hashLine(all.substr(0, end)) && std::getline(lines, line) && line == title;
  Choices found;
  while (good && std::getline(lines, line)) {
    size_t colon = line.find(':');
    std::optional<ProductChoice> choice = colon == std::string::npos ? std::nullopt : choiceOf(line.substr(colon + 1));
    good = choice.has_value();
    if (good)
      found.emplace(line.substr(0, colon), *choice);
  }
  if (good)
    return found;
  said.push_back("'" + path + "', which keeps choices of algorithms, is damaged and not used: all are tried again");
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
  if (path.empty() || !changed)
    return;
  std::vector<std::string> before = said;
  choices.merge(read());
  said = std::move(before); // what is wrong with the file was said when it was first read
  std::error_code failed;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), failed);
  std::string content = text();
  Status status = failed ? Status::badInput(failed.message()) : program::writeFileAtomically(path, content.data(), content.size());
  if (!status.ok())
    said.push_back("choices of algorithms cannot be kept in '" + path + "': " + status.message());
  changed = false;
}

} // namespace npar::engine::cuda
