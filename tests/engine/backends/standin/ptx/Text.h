// PTX as it is written: entries, their statements and variables. Meaning comes with Decode.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace npar::standin::ptx {

struct Operand {
  enum class Kind { Name, Number, Address, Vector, Nothing };
  Kind kind = Kind::Nothing;
  std::string name;   ///< of a register, a variable, a parameter or a label; "" for an address that is a number
  int64_t number = 0; ///< a number, its bits if it is a float, or what is added to an address
  unsigned bits = 0;  ///< 32 or 64 for a float
  std::vector<Operand> parts;
};

/// An instruction; `target` labels are resolved: the number of the statement that follows the label.
struct Statement {
  int line = 0;
  std::string opcode; ///< "add.rn.f32"
  std::string guard;  ///< the predicate of `@%p1`
  bool guardNegated = false;
  std::vector<Operand> operands;
  size_t target = 0; ///< of a branch
};

struct Variable {
  std::string name;
  uint64_t alignment = 1, bytes = 0;
  std::vector<uint8_t> values; ///< of the first bytes
};

struct Parameter {
  std::string name;
  uint64_t offset, bytes;
};

/// `%r<9>` of `.b32`.
struct RegisterClass {
  std::string prefix;
  unsigned bits; ///< 1 for predicates
  unsigned count;
};

struct Entry {
  std::string name;
  std::vector<Parameter> parameters;
  uint64_t parameterBytes = 0;
  unsigned threads[3] = {0, 1, 1}; ///< .reqntid; 0: none
  std::vector<RegisterClass> registers;
  std::vector<Statement> statements;
  std::vector<Variable> shared, local;
};

struct Text {
  int version = 0; ///< 81 for 8.1
  std::string target;
  std::vector<Variable> globals;
  std::vector<Entry> entries;
};

/// Reads PTX. Returns false, with the error and its line in `error`.
bool readText(const std::string &source, Text &text, std::string &error);

} // namespace npar::standin::ptx
