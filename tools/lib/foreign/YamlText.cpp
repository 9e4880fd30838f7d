// YAML as a flat list of settings with their places, made from the parser's events: an alias is an index here, never a copy of a tree.
#include "tools/lib/foreign/EntryList.h"

#include <map>
#include <set>
#include <sstream>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

namespace npar::foreign {
namespace {

constexpr size_t mostBrackets = 100; ///< nested, before the parser follows them down call by call

struct YamlNode {
  enum class Kind { Null, Scalar, List, Map };
  Kind kind = Kind::Null;
  YAML::Mark mark;
  std::string text;
  bool isQuoted = false;
  std::vector<size_t> children; ///< of a map: key, value, key, value ...
};

/// Returns whether a tag only names the type that a plain value has: `!!str`, `!!int`.
bool isPlainTag(const std::string &tag) {
  const std::string start = "tag:yaml.org,2002:";
  return tag.rfind(start, 0) == 0 &&
         std::set<std::string>{"bool", "float", "int", "map", "null", "seq", "str"}.count(tag.substr(start.size()));
}

/// Nodes in the order in which they begin; the root is the first. Limits end the parser by an exception, which has a place.
class YamlTree : public YAML::EventHandler {
public:
  std::vector<YamlNode> nodes;

  void OnDocumentStart(const YAML::Mark &) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark &mark, YAML::anchor_t anchor) override { add(YamlNode::Kind::Null, mark, "", anchor); }
  void OnAlias(const YAML::Mark &mark, YAML::anchor_t anchor) override {
    auto known = anchors.find(anchor);
    if (known == anchors.end())
      throw YAML::ParserException(mark, "this alias names nothing");
    if (++aliases > mostForeignValues)
      throw YAML::ParserException(mark, "there are too many aliases");
    place(known->second);
  }
  void OnScalar(const YAML::Mark &mark, const std::string &tag, YAML::anchor_t anchor, const std::string &value) override {
    YamlNode &node = nodes[add(YamlNode::Kind::Scalar, mark, tag, anchor)];
    node.text = value, node.isQuoted = tag == "!";
  }
  void OnSequenceStart(const YAML::Mark &mark, const std::string &tag, YAML::anchor_t anchor, YAML::EmitterStyle::value) override {
    open.push_back(add(YamlNode::Kind::List, mark, tag, anchor));
  }
  void OnSequenceEnd() override { open.pop_back(); }
  void OnMapStart(const YAML::Mark &mark, const std::string &tag, YAML::anchor_t anchor, YAML::EmitterStyle::value) override {
    open.push_back(add(YamlNode::Kind::Map, mark, tag, anchor));
  }
  void OnMapEnd() override { open.pop_back(); }

private:
  size_t add(YamlNode::Kind kind, const YAML::Mark &mark, const std::string &tag, YAML::anchor_t anchor) {
    if (tag.size() > 1 && !isPlainTag(tag))
      throw YAML::ParserException(mark, "npar knows no tag '" + tag.substr(0, 60) + "'");
    if (open.size() > deepestForeignFile)
      throw YAML::ParserException(mark, "this is nested more than " + std::to_string(deepestForeignFile) + " deep");
    if (nodes.size() == mostForeignValues)
      throw YAML::ParserException(mark, "this file has more than " + std::to_string(mostForeignValues) + " values");
    size_t index = nodes.size();
    nodes.emplace_back();
    nodes.back().kind = kind, nodes.back().mark = mark;
    if (anchor != YAML::NullAnchor)
      anchors[anchor] = index;
    place(index);
    return index;
  }
  void place(size_t index) {
    if (!open.empty())
      nodes[open.back()].children.push_back(index);
  }

  std::vector<size_t> open;
  std::map<YAML::anchor_t, size_t> anchors;
  size_t aliases = 0;
};

/// Walks the tree. Walks and counts the target of an alias once per alias.
class YamlFlattener {
public:
  YamlFlattener(const YamlTree &tree, EntryList &entries) : tree(tree), entries(entries) {}

  bool map(const YamlNode &node, const std::string &path, size_t depth) {
    for (size_t i = 0; i + 1 < node.children.size(); i += 2) {
      const YamlNode &key = tree.nodes[node.children[i]];
      dsl::Location at = placeOf(key.mark);
      if (key.kind != YamlNode::Kind::Scalar)
        return entries.refuse(at, "this key is no word");
      if (key.text == "<<" && !key.isQuoted)
        return entries.refuse(at, "npar does not merge mappings ('<<'): write the keys that it stands for");
      std::string name;
      if (!entries.join(path, key.text, at, name) || !value(tree.nodes[node.children[i + 1]], name, at, depth + 1))
        return false;
    }
    return true;
  }

private:
  dsl::Location placeOf(const YAML::Mark &mark) const {
    return entries.at(static_cast<size_t>(mark.line) + 1, static_cast<size_t>(mark.column) + 1);
  }

  bool value(const YamlNode &node, const std::string &path, dsl::Location at, size_t depth) {
    if (!entries.enter(depth, at))
      return false;
    switch (node.kind) {
    case YamlNode::Kind::Null:
      return true;
    case YamlNode::Kind::Scalar:
      return entries.add(path, wordOf(node), at);
    case YamlNode::Kind::List:
      return entries.add(path, listOf(node), at);
    case YamlNode::Kind::Map:
      return map(node, path, depth);
    }
    return true;
  }

  static std::string wordOf(const YamlNode &node) {
    if (node.isQuoted) // a word in quotes stays one
      return node.text;
    return node.text == "True" || node.text == "yes" ? "true" : node.text == "False" || node.text == "no" ? "false" : node.text;
  }

  std::string listOf(const YamlNode &list) const {
    std::string text;
    for (size_t child : list.children) {
      const YamlNode &part = tree.nodes[child];
      text += (text.empty() ? "" : " ") + (part.kind == YamlNode::Kind::Scalar ? part.text.substr(0, longestForeignList) : "...");
      if (text.size() > longestForeignList)
        break;
    }
    return text;
  }

  const YamlTree &tree;
  EntryList &entries;
};

} // namespace

std::vector<ForeignEntry> readYaml(const std::string &text, uint32_t file, dsl::Diagnostics &diagnostics) {
  EntryList entries(file, diagnostics);
  if (uint32_t line = lineOfDeepNesting(text, mostBrackets)) {
    entries.refuse(entries.at(line, 1), "this is nested more than " + std::to_string(mostBrackets) + " deep");
    return {};
  }
  YamlTree tree;
  try {
    std::istringstream stream(text);
    YAML::Parser parser(stream);
    parser.HandleNextDocument(tree);
  } catch (const YAML::Exception &error) {
    bool known = error.mark.line >= 0;
    entries.refuse(entries.at(known ? static_cast<size_t>(error.mark.line) + 1 : 1, known ? static_cast<size_t>(error.mark.column) + 1 : 1),
                   "this is no YAML: " + error.msg.substr(0, 200));
    return {};
  }
  if (tree.nodes.empty() || tree.nodes.front().kind != YamlNode::Kind::Map)
    entries.refuse(entries.at(1, 1), "this is no list of keys with values");
  else
    YamlFlattener(tree, entries).map(tree.nodes.front(), "", 0);
  return entries.take();
}

} // namespace npar::foreign
