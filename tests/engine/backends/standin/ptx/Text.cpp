// A parser for the PTX that compilers write: directives and instructions, no expressions.
#include "tests/engine/backends/standin/ptx/Text.h"

#include "tests/engine/backends/standin/ptx/Words.h"

#include <algorithm>
#include <cstdlib>
#include <map>

namespace npar::standin::ptx {

namespace {
/// Bits of `.b32`, `.f64`, `.pred`, ...; 0 for no type.
unsigned bitsOf(const std::string &type) {
  if (type == ".pred")
    return 1;
  if (type.size() < 3 || type[0] != '.' || std::string("bsuf").find(type[1]) == std::string::npos)
    return 0;
  unsigned bits = static_cast<unsigned>(std::atoi(type.c_str() + 2));
  return bits == 8 || bits == 16 || bits == 32 || bits == 64 ? bits : 0;
}

class Parser {
public:
  Parser(const std::string &source, Text &text, std::string &error) : words(cutWords(source)), text(text), error(error) {}
  bool run();

private:
  const std::string &word(size_t ahead = 0) const { return words[std::min(next + ahead, words.size() - 1)].text; }
  bool fail(const std::string &what) {
    if (error.empty())
      error = "line " + std::to_string(words[std::min(next, words.size() - 1)].line) + ": " + what;
    return false;
  }
  bool take(const char *expected) {
    if (word() != expected)
      return fail("'" + std::string(expected) + "' is expected, not '" + word() + "'");
    ++next;
    return true;
  }
  bool number(uint64_t &value);
  bool variable(Variable &made);
  bool parameter(Entry &entry);
  bool entry();
  bool body(Entry &entry);
  bool registers(Entry &entry);
  bool instruction(Entry &entry);
  bool operand(Operand &made);
  bool immediate(Operand &made);

  std::vector<Word> words;
  size_t next = 0;
  Text &text;
  std::string &error;
};

bool Parser::number(uint64_t &value) {
  char *end = nullptr;
  value = std::strtoull(word().c_str(), &end, 0);
  if (word().empty() || *end != 0)
    return fail("a number is expected, not '" + word() + "'");
  ++next;
  return true;
}

// `.align 8 .b8 name[24] = {1, 2}`, after its space.
bool Parser::variable(Variable &made) {
  if (word() == ".align") {
    ++next;
    if (!number(made.alignment))
      return false;
  }
  unsigned bits = bitsOf(word());
  if (bits < 8)
    return fail("type '" + word() + "' of a variable is not known");
  ++next;
  made.name = word();
  ++next;
  made.bytes = bits / 8;
  made.alignment = std::max<uint64_t>(made.alignment, bits / 8);
  if (word() == "[") {
    uint64_t count = 0;
    ++next;
    if (word() != "]" && !number(count))
      return false;
    if (!take("]"))
      return false;
    made.bytes *= count;
  }
  if (word() == "=") {
    ++next;
    if (!take("{"))
      return false;
    while (word() != "}") {
      uint64_t value = 0;
      if (!number(value))
        return false;
      for (unsigned i = 0; i < bits / 8; ++i)
        made.values.push_back(static_cast<uint8_t>(value >> (8 * i)));
      if (word() == ",")
        ++next;
    }
    ++next;
  }
  return true;
}

bool Parser::parameter(Entry &entry) {
  if (!take(".param"))
    return false;
  Variable made;
  // `.u64 .ptr .align 1 name`: what a pointer's target is aligned to says nothing of the parameter.
  if (word(1) == ".ptr") {
    unsigned bits = bitsOf(word());
    next += 2;
    while (word().compare(0, 1, ".") == 0) {
      bool hasNumber = word() == ".align";
      next += hasNumber ? 2 : 1;
    }
    made.name = word();
    made.bytes = made.alignment = bits / 8;
    ++next;
  } else if (!variable(made)) {
    return false;
  }
  uint64_t offset = (entry.parameterBytes + made.alignment - 1) / made.alignment * made.alignment;
  entry.parameters.push_back({made.name, offset, made.bytes});
  entry.parameterBytes = offset + made.bytes;
  return true;
}

bool Parser::entry() {
  Entry made;
  made.name = word();
  ++next;
  if (word() == "(") {
    ++next;
    while (word() != ")") {
      if (!parameter(made))
        return false;
      if (word() == ",")
        ++next;
    }
    ++next;
  }
  while (word() == ".reqntid" || word() == ".maxntid") {
    bool required = word() == ".reqntid";
    ++next;
    for (int i = 0; i < 3; ++i) {
      uint64_t threads = 1;
      if (!number(threads))
        return false;
      if (required)
        made.threads[i] = static_cast<unsigned>(threads);
      if (word() != ",")
        break;
      ++next;
    }
  }
  if (!take("{") || !body(made))
    return false;
  text.entries.push_back(std::move(made));
  return true;
}

bool Parser::registers(Entry &entry) {
  unsigned bits = bitsOf(word());
  if (bits == 0 || bits == 8)
    return fail("registers of '" + word() + "' are not known");
  ++next;
  do {
    if (word() == ",")
      ++next;
    RegisterClass made{word(), bits, 0};
    ++next;
    if (word() == "<") {
      ++next;
      uint64_t count = 0;
      if (!number(count) || !take(">"))
        return false;
      made.count = static_cast<unsigned>(count);
    }
    entry.registers.push_back(made);
  } while (word() == ",");
  return true;
}

bool Parser::immediate(Operand &made) {
  bool negative = word() == "-";
  next += negative;
  made.kind = Operand::Kind::Number;
  const std::string digits = word();
  char *end = nullptr;
  if (digits.size() == 10 && (digits.compare(0, 2, "0f") == 0 || digits.compare(0, 2, "0F") == 0))
    made.bits = 32;
  else if (digits.size() == 18 && (digits.compare(0, 2, "0d") == 0 || digits.compare(0, 2, "0D") == 0))
    made.bits = 64;
  made.number = static_cast<int64_t>(made.bits ? std::strtoull(digits.c_str() + 2, &end, 16) : std::strtoull(digits.c_str(), &end, 0));
  if (digits.empty() || *end != 0 || (made.bits && negative))
    return fail("'" + digits + "' is no number");
  if (negative)
    made.number = -made.number;
  ++next;
  return true;
}

bool Parser::operand(Operand &made) {
  if (word() == "_") {
    ++next;
    return true;
  }
  if (word() == "{") {
    made.kind = Operand::Kind::Vector;
    do {
      ++next;
      made.parts.emplace_back();
      if (!operand(made.parts.back()))
        return false;
    } while (word() == ",");
    return take("}");
  }
  if (word() == "[") {
    ++next;
    made.kind = Operand::Kind::Address;
    if (word() != "-" && !(word()[0] >= '0' && word()[0] <= '9')) {
      made.name = word();
      ++next;
    }
    if (word() == "+")
      ++next;
    if (word() != "]") {
      Operand added;
      if (!immediate(added))
        return false;
      made.number = added.number;
    }
    return take("]");
  }
  if (word() == "-" || (word()[0] >= '0' && word()[0] <= '9'))
    return immediate(made);
  if (word().empty() || std::string("%$_").find(word()[0]) == std::string::npos) {
    char c = word().empty() ? ' ' : word()[0];
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')))
      return fail("operand '" + word() + "' is not known");
  }
  made.kind = Operand::Kind::Name;
  made.name = word();
  ++next;
  if (word() != "|")
    return true;
  // `%r1|%p1`: a result and whether it is one.
  Operand first = std::move(made), second;
  ++next;
  if (!operand(second))
    return false;
  made = {};
  made.kind = Operand::Kind::Vector;
  made.parts = {std::move(first), std::move(second)};
  return true;
}

bool Parser::instruction(Entry &entry) {
  Statement made;
  made.line = words[next].line;
  if (word() == "@") {
    ++next;
    made.guardNegated = word() == "!";
    next += made.guardNegated;
    made.guard = word();
    ++next;
  }
  made.opcode = word();
  ++next;
  while (word() != ";") {
    made.operands.emplace_back();
    if (!operand(made.operands.back()))
      return false;
    if (word() == ",")
      ++next;
    else if (word() != ";")
      return fail("'" + word() + "' is not expected here");
  }
  ++next;
  entry.statements.push_back(std::move(made));
  return true;
}

bool Parser::body(Entry &entry) {
  std::map<std::string, size_t> labels;
  while (word() != "}") {
    if (word(1) == ":") {
      labels[word()] = entry.statements.size();
      next += 2;
    } else if (word() == ".reg") {
      ++next;
      if (!registers(entry) || !take(";"))
        return false;
    } else if (word() == ".shared" || word() == ".local") {
      auto &list = word() == ".shared" ? entry.shared : entry.local;
      ++next;
      list.emplace_back();
      if (!variable(list.back()) || !take(";"))
        return false;
    } else if (word().empty() || word()[0] == '.' || word() == "{") {
      return fail("'" + word() + "' is not known in a kernel");
    } else if (!instruction(entry)) {
      return false;
    }
  }
  ++next;
  for (Statement &statement : entry.statements)
    if (statement.opcode.compare(0, 3, "bra") == 0) {
      const std::string label = statement.operands.empty() ? "" : statement.operands[0].name;
      auto found = labels.find(label);
      if (found == labels.end() || found->second == entry.statements.size()) {
        error = "line " + std::to_string(statement.line) + ": there is no label '" + label + "' before an instruction";
        return false;
      }
      statement.target = found->second;
    }
  return true;
}

bool Parser::run() {
  while (!word().empty()) {
    if (word() == ".version") {
      const std::string version = word(1);
      size_t dot = version.find('.');
      if (dot == std::string::npos)
        return fail("'" + version + "' is no version");
      text.version = std::atoi(version.c_str()) * 10 + std::atoi(version.c_str() + dot + 1);
      next += 2;
    } else if (word() == ".target") {
      text.target = word(1);
      next += 2;
    } else if (word() == ".address_size") {
      if (word(1) != "64")
        return fail("addresses of " + word(1) + " bits are not known");
      next += 2;
    } else if (word() == ".visible") {
      ++next;
    } else if (word() == ".entry") {
      ++next;
      if (!entry())
        return false;
    } else if (word() == ".global" || word() == ".const") {
      ++next;
      text.globals.emplace_back();
      if (!variable(text.globals.back()) || !take(";"))
        return false;
    } else {
      return fail("'" + word() + "' is not known here");
    }
  }
  return text.version != 0 && !text.target.empty() ? true : fail("there is no '.version' or no '.target'");
}
} // namespace

bool readText(const std::string &source, Text &text, std::string &error) { return Parser(source, text, error).run(); }

} // namespace npar::standin::ptx
