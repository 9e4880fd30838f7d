// Expands words of a shell script: variables, sums, outputs, braces, and the splitting into several words.
#pragma once

#include "tools/lib/foreign/shell/Arithmetic.h"
#include "tools/lib/foreign/shell/Pattern.h"

#include <functional>

namespace npar::foreign::shell {

/// A pattern; `unknown`: why it is not known, null if it is.
struct KnownPattern {
  Pattern pattern;
  UnknownPointer unknown;
};

class Expander {
public:
  /// Runs the commands of a `$(...)` and returns what they print.
  using OutputOf = std::function<Text(const Part &part, const Unit &unit)>;
  Expander(Environment &environment, OutputOf outputOf) : environment(environment), outputOf(std::move(outputOf)) {}

  /// The words that a word becomes.
  std::vector<Text> fields(const Word &word, const Unit &unit);
  std::vector<Text> fields(const std::vector<Word> &words, const Unit &unit);
  /// The text of a word where it is not split, as on the right of `=`.
  Text text(const Word &word, const Unit &unit);
  KnownPattern pattern(const Word &word, const Unit &unit);
  Number sum(const Word &word, const Unit &unit);
  void assign(const Assignment &assignment, const Unit &unit, bool isMap = false);

private:
  /// A piece of an expanded word. Break: another word begins.
  struct Piece {
    Text text;
    bool isQuoted = false, isBreak = false;
  };
  /// What a parameter stands for. Without elements and `unknown`, it is not set.
  struct Value {
    std::vector<Text> elements;
    bool isList = false, isJoined = false; ///< `[@]`, or `[*]`
    UnknownPointer unset;                  ///< nothing sets it; why it is not known
  };
  std::vector<Piece> pieces(const Word &word, const Unit &unit);
  void parameter(const Part &part, const Unit &unit, std::vector<Piece> &out);
  void add(const Value &value, const Part &part, const Unit &unit, std::vector<Piece> &out);
  Value valueOf(const Part &part, const Unit &unit);
  Value elementsOf(const std::string &name, const Part &part, const Unit &unit);
  bool choose(Value &value, const Part &part, const Unit &unit, std::vector<Piece> &out);
  Text changed(const Text &text, const Part &part, const Unit &unit);
  Text replaced(const Text &text, const Part &part, const Unit &unit);
  void cut(Value &value, const Part &part, const Unit &unit);
  void split(const Text &text, std::vector<Text> &fields, Text &current, bool &has);
  std::vector<Word> withoutBraces(const Word &word, Origin at);
  Text literal(const Part &part, const Unit &unit) const;
  Text unknownPart(const Part &part, const Unit &unit, UnknownPointer why) const;
  UnknownPointer unfollowed(const Part &part, const Unit &unit) const;
  UnknownPointer anyOrder(const Part &part, const Unit &unit) const;
  Text joined(const std::vector<Text> &texts, Origin at);

  Environment &environment;
  OutputOf outputOf;
  int depth = 0;
};

} // namespace npar::foreign::shell
