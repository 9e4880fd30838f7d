// setp: comparisons, alone or combined with a predicate.
#include "tests/engine/backends/standin/ptx/Floats.h"
#include "tests/engine/backends/standin/ptx/Operations.h"

namespace npar::standin::ptx {

namespace {
enum class Relation { Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual, Number, NotNumber };

template <Relation relation, typename Value> bool holds(Value a, Value b) {
  switch (relation) {
  case Relation::Equal:
    return a == b;
  case Relation::NotEqual:
    return a < b || a > b;
  case Relation::Less:
    return a < b;
  case Relation::LessEqual:
    return a <= b;
  case Relation::Greater:
    return a > b;
  case Relation::GreaterEqual:
    return a >= b;
  case Relation::Number:
    return a == a && b == b;
  case Relation::NotNumber:
    return a != a || b != b;
  }
  return false;
}

/// An integer in its register.
template <typename Value> struct Integer {
  using Register = std::make_unsigned_t<Value>;
  static Value read(Register bits) { return static_cast<Value>(bits); }
};

/// `unordered`: true as well where one is NaN.
template <typename Type, Relation relation, bool unordered> bool compare(typename Type::Register a, typename Type::Register b) {
  auto x = Type::read(a), y = Type::read(b);
  return holds<relation>(x, y) || (unordered && (x != x || y != y));
}

enum class Joint { And, Or, Xor };
template <typename Type, Relation relation, bool unordered, Joint joint>
bool compareJoined(typename Type::Register a, typename Type::Register b, bool c) {
  bool result = compare<Type, relation, unordered>(a, b);
  return joint == Joint::And ? result && c : joint == Joint::Or ? result || c : result != c;
}

template <typename Type, Relation relation, bool unordered = false>
void addRelation(Operations &all, const std::string &name, const std::string &type) {
  all["setp." + name + type] = lanewise<compare<Type, relation, unordered>>();
  all["setp." + name + ".and" + type] = lanewise<compareJoined<Type, relation, unordered, Joint::And>>();
  all["setp." + name + ".or" + type] = lanewise<compareJoined<Type, relation, unordered, Joint::Or>>();
  all["setp." + name + ".xor" + type] = lanewise<compareJoined<Type, relation, unordered, Joint::Xor>>();
}

template <typename Type> void addOrders(Operations &all, const std::string &type) {
  addRelation<Type, Relation::Less>(all, "lt", type);
  addRelation<Type, Relation::LessEqual>(all, "le", type);
  addRelation<Type, Relation::Greater>(all, "gt", type);
  addRelation<Type, Relation::GreaterEqual>(all, "ge", type);
}

template <typename Type> void addEquality(Operations &all, const std::string &type) {
  addRelation<Type, Relation::Equal>(all, "eq", type);
  addRelation<Type, Relation::NotEqual>(all, "ne", type);
}

template <typename Value> void addInteger(Operations &all) {
  using Type = Integer<Value>;
  const std::string bits = std::to_string(sizeof(Value) * 8);
  const std::string type = (std::is_signed_v<Value> ? ".s" : ".u") + bits;
  addEquality<Type>(all, type);
  addOrders<Type>(all, type);
  if (std::is_signed_v<Value>)
    return;
  addEquality<Type>(all, ".b" + bits);
  addRelation<Type, Relation::Less>(all, "lo", type);
  addRelation<Type, Relation::LessEqual>(all, "ls", type);
  addRelation<Type, Relation::Greater>(all, "hi", type);
  addRelation<Type, Relation::GreaterEqual>(all, "hs", type);
}

template <typename Type> void addFloatComparisons(Operations &all, const std::string &type) {
  addEquality<Type>(all, type);
  addOrders<Type>(all, type);
  addRelation<Type, Relation::Equal, true>(all, "equ", type);
  addRelation<Type, Relation::NotEqual, true>(all, "neu", type);
  addRelation<Type, Relation::Less, true>(all, "ltu", type);
  addRelation<Type, Relation::LessEqual, true>(all, "leu", type);
  addRelation<Type, Relation::Greater, true>(all, "gtu", type);
  addRelation<Type, Relation::GreaterEqual, true>(all, "geu", type);
  addRelation<Type, Relation::Number>(all, "num", type);
  addRelation<Type, Relation::NotNumber>(all, "nan", type);
}
} // namespace

void addComparisons(Operations &all) {
  addInteger<int16_t>(all);
  addInteger<uint16_t>(all);
  addInteger<int32_t>(all);
  addInteger<uint32_t>(all);
  addInteger<int64_t>(all);
  addInteger<uint64_t>(all);
  addFloatComparisons<F32>(all, ".f32");
  addFloatComparisons<F64>(all, ".f64");
  addFloatComparisons<F16>(all, ".f16");
}

} // namespace npar::standin::ptx
