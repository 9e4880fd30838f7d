// The files of one compilation: reads a file and what it imports, finds declarations from a file's point of view.
#pragma once

#include "dsl/Ast.h"
#include "dsl/Frontend.h"

namespace npar::dsl {

/// One file with the files that it imports, in order. Its own declarations hide imported ones.
struct SourceFile {
  std::string path;
  std::unique_ptr<ast::File> tree;
  std::vector<SourceFile *> imports;
  std::map<std::string, const ast::Block *> layers; ///< of this file, by name
  const std::vector<std::string> *search = nullptr; ///< the folders of the library
};

class Library {
public:
  Library(const FrontendOptions &options, Sources &sources, Diagnostics &diagnostics)
      : options(options), sources(sources), diagnostics(diagnostics) {}

  /// Reads the file and all that it imports; null after errors.
  SourceFile *load();

  struct FoundLayer {
    const ast::Block *layer = nullptr;
    SourceFile *file = nullptr;
  };
  /// The layer that `name` means in `file`.
  static FoundLayer findLayer(SourceFile *file, const std::string &name);
  /// The files that `file` sees: itself and everything it imports, each once, nearest first.
  static std::vector<SourceFile *> reach(SourceFile *file);
  /// For advice: what to import for a layer that `file` does not see, empty where no file of the library declares it.
  static std::string importFor(const SourceFile &file, const std::string &layer);
  /// For advice: what a file can import from the library's folder of layers, or from all of its folders.
  static std::vector<std::string> importable(const std::vector<std::string> &search, bool layersAlone);

private:
  SourceFile *read(const std::string &path, const std::string &name, Location from);
  std::string resolve(const std::string &importing, const std::string &name) const;
  void checkDuplicates(const ast::File &file);

  const FrontendOptions &options;
  Sources &sources;
  Diagnostics &diagnostics;
  std::map<std::string, std::unique_ptr<SourceFile>> files; ///< by canonical path
  std::vector<std::string> open;                            ///< being read: an import of one of these is a cycle
};

} // namespace npar::dsl
