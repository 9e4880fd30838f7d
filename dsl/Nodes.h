// The kinds of nodes that models are made of: the language's side of the nn dialect, and what import goes by.
#pragma once

#include <string>
#include <vector>

namespace npar::dsl {

enum class AttributeKind { Truth, Integer, Number, Numbers, Text, Integers, Texts };

struct NodeAttribute {
  std::string name;
  AttributeKind kind;
  bool optional = false;
};

/// Properties that all nodes of a kind share; `name` is the mnemonic of an nn op. The use of a parameter has no NodeKind.
struct NodeKind {
  static constexpr int anyNumber = -1; ///< of operands, but at least one

  std::string name;
  int operands = 0;
  std::vector<NodeAttribute> attributes = {};
  std::string keep = {}; ///< word of a plan's `keep` that selects the kind, in addition to its name
};

/// Truth values over `batch`: the samples that count, which do not fill up a batch. Which ones these are is known with all losses, so
/// import makes the ops; like the use of a parameter it has no NodeKind.
constexpr const char *countingNode = "counting";

/// An attribute that nodes of any kind can have: under types of 16 bits the result stays float32.
constexpr const char *unroundedNode = "unrounded";

/// All that operations, arithmetic, selections and inputs make: what a rule may name, `in op select`.
const std::vector<NodeKind> &nodeKinds();
/// The kind of that name, or null.
const NodeKind *findNodeKind(const std::string &name);

} // namespace npar::dsl
