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
  std::map<std::string, const ast::Block *> layers; ///< layers declared in this file, by name
  const std::vector<std::string> *search = nullptr; ///< the folders of the library
  const SourceProvider *texts = nullptr;            ///< where its texts come from
};

class Library {
public:
  Library(const FrontendOptions &options, Sources &sources, Diagnostics &diagnostics)
      : options(options), sources(sources), diagnostics(diagnostics) {
    if (options.texts)
      sources.readFrom(options.texts);
  }

  /// The path of the text that `import "name"` means in the text at `importing`; empty: there is none.
  static std::string resolve(const SourceProvider &texts, const std::vector<std::string> &search, const std::string &importing,
                             const std::string &name);

  /// Reads the file and all that it imports; null after errors.
  SourceFile *load();

  struct FoundLayer {
    const ast::Block *layer = nullptr;
    SourceFile *file = nullptr;
  };
  /// The layer that `name` means in `file`.
  static FoundLayer findLayer(SourceFile *file, const std::string &name);
  /// Reads the text of that name in a folder of the library. Null if it is missing or has errors.
  SourceFile *find(const std::string &folder, const std::string &name);
  /// Lists the texts in a folder of the library, for advice.
  std::vector<std::string> textNames(const std::string &folder) const;
  struct FoundOptimizer {
    const ast::Optimizer *declaration = nullptr; ///< null if it is missing or has errors
    bool standard = false;                       ///< whether it is in the library's folder of optimizers
  };
  /// The optimizer that `name` means in `file`: declared in a file that it sees, else in the library's text of that name.
  FoundOptimizer findOptimizer(SourceFile *file, const std::string &name);
  /// Lists the optimizers that `file` can call, for advice.
  std::vector<std::string> optimizerNames(SourceFile *file) const;
  /// The files that `file` sees: itself and everything it imports, each once, nearest first.
  static std::vector<SourceFile *> reach(SourceFile *file);
  /// Names the text to import for a layer that `file` does not see, for advice. Empty if the library has no such layer.
  static std::string importFor(const SourceFile &file, const std::string &layer);
  /// Lists the texts that a file can import from the library's folder of layers, or from all of its folders, for advice.
  static std::vector<std::string> importable(const SourceFile &file, bool layersAlone);

private:
  SourceFile *read(const std::string &path, const std::string &name, Location from);
  /// Tells whether the file is in the library's folder of optimizers.
  bool isStandard(const SourceFile &file) const;
  void checkDuplicates(const ast::File &file);

  const FrontendOptions &options;
  Sources &sources;
  Diagnostics &diagnostics;
  std::map<std::string, std::unique_ptr<SourceFile>> files; ///< by canonical path
  std::vector<std::string> open;                            ///< being read: an import of one of these is a cycle
};

} // namespace npar::dsl
