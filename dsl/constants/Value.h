// The values of expressions of the language, and the scopes that name them.
#pragma once

#include "dsl/Diagnostics.h"

#include <map>
#include <string>
#include <variant>
#include <vector>

namespace npar::dsl {

struct Instance; // of a layer

/// An axis, or a group `[part, head]` of axes that a layer takes in place of one. A product axis is a group with a name and a size.
struct AxisValue {
  std::vector<std::string> names;
  bool group = false;
  bool product = false;
  std::vector<std::string> products = {}; ///< names of the product axes that it is written with
};

struct TensorValue {
  int node = -1;
};

/// A declared parameter; becomes a tensor (a new use) whenever an expression names it.
struct ParameterValue {
  size_t index = 0;
};

/// The value of everything that a statement with an error declares. A use of it is not reported, because it would repeat the error.
struct Poison {};

/// The word `none`: a constant that may be given and is not.
struct None {};

/// A value that an optimizer computes once per step or for each element.
struct FormulaValue {
  size_t node = 0;
};

/// Constants in a list, such as an optimizer's `betas = (0.9, 0.999)`.
using NumberList = std::vector<double>;
using TextList = std::vector<std::string>;

using Value = std::variant<Poison, int64_t, double, bool, std::string, AxisValue, TensorValue, ParameterValue, Instance *, None,
                           FormulaValue, NumberList, TextList>;

/// What a value is, for messages: "a number", "an axis" ...
std::string kindOf(const Value &value);
/// A constant as a person writes it.
std::string textOf(const Value &value);
std::string textOf(double number);
/// Limits of the numbers that models compute with: smaller ones may become 0 in float32, larger ones become infinite.
constexpr double smallestNumber = 1e-37, largestNumber = 3.4e38;
/// "1e+39, which float32 cannot hold (...)"; empty for a number that it can.
std::string beyondFloat32(double number);
inline bool isNumber(const Value &v) { return std::holds_alternative<int64_t>(v) || std::holds_alternative<double>(v); }
inline double toDouble(const Value &v) {
  return std::holds_alternative<int64_t>(v) ? static_cast<double>(std::get<int64_t>(v)) : std::get<double>(v);
}

struct Binding {
  Value value;
  Location location;
};

class Scope {
public:
  explicit Scope(Scope *parent = nullptr) : parent(parent) {}
  Binding *find(const std::string &name);
  Binding *findHere(const std::string &name);
  void bind(const std::string &name, Value value, Location at) { bindings[name] = {std::move(value), at}; }
  /// The names bound in this scope itself.
  const std::map<std::string, Binding> &own() const { return bindings; }
  /// All names visible from here.
  std::vector<std::string> names() const;

private:
  Scope *parent;
  std::map<std::string, Binding> bindings;
};

} // namespace npar::dsl
