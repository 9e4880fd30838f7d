#include "dsl/SourceProvider.h"
#include "dsl/EmbeddedLibrary.h"

#include <algorithm>
#include <cerrno>
#include <dirent.h>
#include <filesystem>
#include <fstream>
#include <memory>
#include <new>

namespace npar::dsl {
namespace fs = std::filesystem;

static std::string tooLong(uintmax_t size, size_t most) {
  return "it has " + std::to_string(size) + " bytes, at most " + std::to_string(most) + " (" + std::to_string(most >> 20) +
         " MiB) are read";
}

static bool isFile(const fs::path &path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

bool DiskTexts::has(const std::string &path) const {
  std::error_code error;
  return fs::exists(path, error);
}

std::optional<std::string> DiskTexts::read(const std::string &path, size_t most, std::string &why) const {
  std::error_code error;
  if (!isFile(path)) {
    why = fs::exists(path, error) ? "not a regular file" : "no such file";
    return std::nullopt;
  }
  uintmax_t size = fs::file_size(path, error);
  if (!error && size > most) {
    why = tooLong(size, most);
    return std::nullopt;
  }
  std::ifstream in(path, std::ios::binary);
  std::string text(error ? 0 : size, '\0');
  if (error || !in || (size > 0 && !in.read(text.data(), static_cast<std::streamsize>(size))))
    return std::nullopt;
  return text;
}

std::vector<std::string> DiskTexts::textsIn(const std::string &folder) const {
  std::vector<std::string> texts;
  // std::filesystem's iterator ends the process when there is no memory.
  std::unique_ptr<DIR, int (*)(DIR *)> entries(::opendir(folder.c_str()), ::closedir);
  if (!entries && errno == ENOMEM)
    throw std::bad_alloc();
  while (const dirent *entry = entries ? ::readdir(entries.get()) : nullptr)
    if (fs::path path = fs::path(folder) / entry->d_name; path.extension() == ".npar" && isFile(path))
      texts.push_back(path.string());
  std::sort(texts.begin(), texts.end());
  return texts;
}

std::string DiskTexts::key(const std::string &path) const {
  std::error_code error;
  std::string key = fs::weakly_canonical(path, error).string();
  return key.empty() ? path : key;
}

/// The path without `.` and `..`.
static std::string plain(const std::string &path) { return fs::path(path).lexically_normal().string(); }

bool MemoryTexts::has(const std::string &path) const { return texts.count(plain(path)) > 0; }

static std::optional<std::string> readFrom(const std::map<std::string, std::string> &texts, const std::string &path, size_t most,
                                           std::string &why) {
  auto found = texts.find(path);
  if (found == texts.end())
    why = "no such text";
  else if (found->second.size() > most)
    why = tooLong(found->second.size(), most);
  else
    return found->second;
  return std::nullopt;
}

std::optional<std::string> MemoryTexts::read(const std::string &path, size_t most, std::string &why) const {
  return readFrom(texts, plain(path), most, why);
}

std::vector<std::string> MemoryTexts::textsIn(const std::string &folder) const {
  std::vector<std::string> paths;
  for (const auto &[path, text] : texts)
    if (fs::path(path).extension() == ".npar" && fs::path(path).parent_path() == fs::path(folder + "/.").lexically_normal().parent_path())
      paths.push_back(path);
  return paths;
}

std::string MemoryTexts::key(const std::string &path) const { return plain(path); }

std::string MemoryTexts::imported(const std::string &name) const {
  for (const std::string &path : {name, name + ".npar"})
    if (has(path))
      return path;
  return "";
}

std::optional<std::string> HostTexts::read(const std::string &path, size_t most, std::string &why) const {
  return readFrom(given, path, most, why);
}

std::string HostTexts::imported(const std::string &name) const {
  std::string path = "<import>/" + name + (fs::path(name).extension() == ".npar" ? "" : ".npar");
  if (given.count(path) == 0) {
    std::optional<std::string> text = std::this_thread::get_id() == thread ? give(name) : std::nullopt;
    if (!text)
      return "";
    given[path] = std::move(*text);
  }
  return path;
}

const SourceProvider *LayeredTexts::find(const std::string &path) const {
  for (const TextsPointer &layer : layers)
    if (layer->has(path))
      return layer.get();
  return nullptr;
}

std::optional<std::string> LayeredTexts::read(const std::string &path, size_t most, std::string &why) const {
  if (const SourceProvider *layer = find(path))
    return layer->read(path, most, why);
  why = "no such file";
  return std::nullopt;
}

std::vector<std::string> LayeredTexts::textsIn(const std::string &folder) const {
  std::vector<std::string> all;
  for (const TextsPointer &layer : layers)
    for (std::string &path : layer->textsIn(folder))
      all.push_back(std::move(path));
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

std::string LayeredTexts::key(const std::string &path) const {
  const SourceProvider *layer = find(path);
  return layer ? layer->key(path) : path;
}

std::string LayeredTexts::imported(const std::string &name) const {
  for (const TextsPointer &layer : layers)
    if (std::string path = layer->imported(name); !path.empty())
      return path;
  return "";
}

const TextsPointer &installedTexts() {
  static const TextsPointer texts = [] {
    std::map<std::string, std::string> library;
    for (const auto &[path, text] : embeddedTexts())
      library[std::string(embeddedLibrary) + "/" + path] = text;
    return std::make_shared<const LayeredTexts>(
        std::vector<TextsPointer>{std::make_shared<const DiskTexts>(), std::make_shared<const MemoryTexts>(std::move(library))});
  }();
  return texts;
}

} // namespace npar::dsl
