// Provides the texts of a compilation: from the disk, the standard library inside this program, memory, or a function of the host.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace npar::dsl {

/// Texts by their paths. Texts need not be files; the folder of a path and names in it are joined by '/'.
class SourceProvider {
public:
  virtual ~SourceProvider() = default;
  /// True if there is a text, or something else in its place, at this path.
  virtual bool has(const std::string &path) const = 0;
  /// The text; nothing if it cannot be read, and then `why` tells the reason. `most`: bytes that are read.
  virtual std::optional<std::string> read(const std::string &path, size_t most, std::string &why) const = 0;
  /// Paths of the texts (.npar) in a folder, ascending; none if there is no such folder.
  virtual std::vector<std::string> textsIn(const std::string &folder) const = 0;
  /// Returns the same key for all spellings of a text's path.
  virtual std::string key(const std::string &path) const = 0;
  /// The path of a text that is given for `import "name"` whatever file imports it; empty: the import is looked up in folders.
  virtual std::string imported(const std::string & /*name*/) const { return ""; }
};

using TextsPointer = std::shared_ptr<const SourceProvider>;

/// The files of this machine.
class DiskTexts final : public SourceProvider {
public:
  bool has(const std::string &path) const override;
  std::optional<std::string> read(const std::string &path, size_t most, std::string &why) const override;
  std::vector<std::string> textsIn(const std::string &folder) const override;
  std::string key(const std::string &path) const override;
};

/// Texts in memory. An import of the whole path of one of them, with or without .npar, means it from any file.
class MemoryTexts final : public SourceProvider {
public:
  explicit MemoryTexts(std::map<std::string, std::string> texts) : texts(std::move(texts)) {}
  bool has(const std::string &path) const override;
  std::optional<std::string> read(const std::string &path, size_t most, std::string &why) const override;
  std::vector<std::string> textsIn(const std::string &folder) const override;
  std::string key(const std::string &path) const override;
  std::string imported(const std::string &name) const override;

private:
  std::map<std::string, std::string> texts; ///< by path
};

/// Texts that a function of the host gives for imports by their names. Their paths are "<import>/NAME.npar". The function is called by the
/// thread that made this object; other threads find what it has given before they started.
class HostTexts final : public SourceProvider {
public:
  using Give = std::function<std::optional<std::string>(const std::string &name)>;
  explicit HostTexts(Give give) : give(std::move(give)) {}
  bool has(const std::string &path) const override { return given.count(path) > 0; }
  std::optional<std::string> read(const std::string &path, size_t most, std::string &why) const override;
  std::vector<std::string> textsIn(const std::string &) const override { return {}; }
  std::string key(const std::string &path) const override { return path; }
  std::string imported(const std::string &name) const override;

private:
  Give give;
  std::thread::id thread = std::this_thread::get_id();
  mutable std::map<std::string, std::string> given; ///< by path
};

/// Several providers: the first that has a path answers for it.
class LayeredTexts final : public SourceProvider {
public:
  explicit LayeredTexts(std::vector<TextsPointer> layers) : layers(std::move(layers)) {}
  bool has(const std::string &path) const override { return find(path) != nullptr; }
  std::optional<std::string> read(const std::string &path, size_t most, std::string &why) const override;
  std::vector<std::string> textsIn(const std::string &folder) const override;
  std::string key(const std::string &path) const override;
  std::string imported(const std::string &name) const override;

private:
  const SourceProvider *find(const std::string &path) const;
  std::vector<TextsPointer> layers;
};

/// The folder that the standard library inside this program is in; no file has such a name.
constexpr const char *embeddedLibrary = "<stdlib>";

/// The disk and the standard library inside this program.
const TextsPointer &installedTexts();

} // namespace npar::dsl
