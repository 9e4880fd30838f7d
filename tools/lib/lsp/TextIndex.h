// Lists the declarations of a text, and the uses of names with the declarations that they mean.
#pragma once

#include "dsl/Ast.h"
#include "tools/lib/lsp/Scan.h"
#include "tools/lib/lsp/Text.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace npar::lsp {

enum class SymbolKind {
  Layer,
  Model,
  Train,
  Optimizer,
  Plan,
  Config,
  Family,
  Machine,
  Data,
  Constant,
  Axis,
  MeshAxis,
  Input,
  Parameter,
  State,
  Instance, ///< of a layer
  Value,
  Repeat,
  Measure ///< a loss, a metric, an output or a number of the log
};

const char *wordOf(SymbolKind kind);

struct Symbol {
  SymbolKind kind = SymbolKind::Value;
  std::string name;
  ByteRange at;                       ///< its name, at its first definition
  int owner = -1;                     ///< the declaration that it is in; -1 for top-level declarations
  std::string layer;                  ///< Instance: the layer's name; Train, Plan, Config, Family, Data: the model's name
  std::vector<ByteRange> definitions; ///< in order; a value may be assigned several times
};

/// The kind of thing that a use of a name means.
enum class Want {
  Symbol,    ///< Reference::symbol
  Callee,    ///< a layer, or an operation
  Model,     ///< a model
  Optimizer, ///< an optimizer
  Axis,      ///< an axis or a repeat of model `of`
  Constant,  ///< a constant of the model, layer or optimizer `of`
  Input,     ///< an input of model `of`
  Member,    ///< a parameter, a state or an inner layer of layer `of`
  Text,      ///< an imported text
  Schedule,  ///< a schedule, or a way of attention
  Setting,   ///< the word of a setting, such as `micro`
  Word       ///< a word of the language, or nothing that is known
};

struct Reference {
  ByteRange at;
  std::string name;
  Want want = Want::Word;
  int symbol = -1;
  std::string of;
};

struct TextIndex {
  TextPointer text;
  std::vector<Symbol> symbols;
  std::vector<Reference> references; ///< definitions are not among them
  std::vector<std::string> imports;  ///< as written
  std::vector<ByteRange> wholes;     ///< by symbol: the whole declaration of a top-level symbol, otherwise the name

  /// The symbol that is defined at an offset, or -1.
  int definedAt(size_t offset) const;
  const Reference *referenceAt(size_t offset) const;
  /// The top-level declaration of a kind with this name, or -1.
  int find(SymbolKind kind, const std::string &name) const;
  /// The symbol with this name inside a declaration, or -1.
  int findIn(int owner, const std::string &name) const;
};

/// Reads the meanings off a syntax tree of the text.
TextIndex indexOf(const dsl::ast::File &tree, const dsl::Sources &sources, TextPointer text);

} // namespace npar::lsp
