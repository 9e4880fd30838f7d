// Names become slots of the register file, opcodes the functions that do them.
#include "tests/engine/backends/standin/ptx/Decode.h"

#include "tests/engine/backends/standin/ptx/Exchanges.h"
#include "tests/engine/backends/standin/ptx/MemoryAccess.h"
#include "tests/engine/backends/standin/ptx/Moves.h"

#include <cstring>
#include <unordered_map>

namespace npar::standin::ptx {

namespace {
struct DecodedRegister {
  Slot slot;
  char letter;
};

unsigned bytesOf(char letter) { return letter == 'h' ? 2 : letter == 'd' ? 8 : 4; }
char letterOfBits(unsigned bits) { return bits == 1 ? 'p' : bits == 16 ? 'h' : bits == 32 ? 'w' : 'd'; }
bool startsWith(const std::string &text, const char *prefix) { return text.compare(0, std::strlen(prefix), prefix) == 0; }

const std::map<std::string, Special> specials{
    {"%tid.x", Special::TidX},     {"%tid.y", Special::TidY},        {"%tid.z", Special::TidZ},       {"%ntid.x", Special::NtidX},
    {"%ntid.y", Special::NtidY},   {"%ntid.z", Special::NtidZ},      {"%ctaid.x", Special::CtaidX},   {"%ctaid.y", Special::CtaidY},
    {"%ctaid.z", Special::CtaidZ}, {"%nctaid.x", Special::NctaidX},  {"%nctaid.y", Special::NctaidY}, {"%nctaid.z", Special::NctaidZ},
    {"%laneid", Special::Lane},    {"%warpid", Special::WarpNumber},
};

void doNothing(const Instruction &, Warp &, uint32_t) {}

class Decoder {
public:
  Decoder(const Entry &entry, const std::map<std::string, uint64_t> &globals, Kernel &kernel, std::string &error)
      : entry(entry), globals(globals), kernel(kernel), error(error) {}
  bool run();

private:
  bool fail(const std::string &what) {
    if (error.empty())
      error = "line " + std::to_string(statement->line) + ": " + what;
    return false;
  }
  Slot newSlot(unsigned bytes);
  Slot constant(unsigned bytes, uint64_t value);
  void addRegisters();
  void addSymbols();
  bool source(const Operand &operand, char letter, Slot &slot);
  bool target(const Operand &operand, char letter, Slot &slot);
  bool one(Instruction &made);
  bool use(const Operation &operation, Instruction &made);
  bool convert(Instruction &made);
  bool move(Instruction &made);
  bool access(Instruction &made);
  bool address(const Operand &operand, Instruction &made);

  const Entry &entry;
  const std::map<std::string, uint64_t> &globals;
  Kernel &kernel;
  std::string &error;
  std::unordered_map<std::string, DecodedRegister> registers;
  std::map<std::string, Slot> specialSlots;
  std::map<std::string, uint64_t> symbols; ///< addresses of variables and parameters
  std::map<std::pair<unsigned, uint64_t>, Slot> constants;
  const Statement *statement = nullptr;
};

Slot Decoder::newSlot(unsigned bytes) {
  Slot slot{kernel.fileBytes, kernel.slots++};
  kernel.fileBytes += bytes * warpLanes;
  return slot;
}

Slot Decoder::constant(unsigned bytes, uint64_t value) {
  value &= bytes == 8 ? ~uint64_t{0} : (uint64_t{1} << (8 * bytes)) - 1;
  auto [found, isNew] = constants.try_emplace({bytes, value});
  if (isNew) {
    found->second = newSlot(bytes);
    kernel.constants.push_back({found->second, bytes, value});
  }
  return found->second;
}

void Decoder::addRegisters() {
  for (const RegisterClass &one : entry.registers) {
    char letter = letterOfBits(one.bits);
    kernel.registers += (one.count ? one.count : 1) * (one.bits == 64 ? 2 : 1);
    if (one.count == 0)
      registers[one.prefix] = {newSlot(bytesOf(letter)), letter};
    for (unsigned i = 0; i < one.count; ++i)
      registers[one.prefix + std::to_string(i)] = {newSlot(bytesOf(letter)), letter};
  }
}

void Decoder::addSymbols() {
  symbols = globals;
  for (const Parameter &parameter : entry.parameters) {
    symbols[parameter.name] = parameterBase + parameter.offset;
    kernel.parameters.emplace_back(parameter.offset, parameter.bytes);
  }
  auto place = [&](const std::vector<Variable> &variables, uint64_t base, uint64_t &bytes) {
    for (const Variable &variable : variables) {
      bytes = (bytes + variable.alignment - 1) / variable.alignment * variable.alignment;
      symbols[variable.name] = base + bytes;
      bytes += variable.bytes;
    }
  };
  place(entry.shared, sharedBase, kernel.sharedBytes);
  place(entry.local, localBase, kernel.localBytes);
}

bool Decoder::source(const Operand &operand, char letter, Slot &slot) {
  unsigned bytes = bytesOf(letter);
  if (operand.kind == Operand::Kind::Number) {
    if (operand.bits && operand.bits != bytes * 8)
      return fail("a float of " + std::to_string(operand.bits) + " bits is no operand of '" + statement->opcode + "'");
    slot = constant(bytes, letter == 'p' ? (operand.number ? allLanes : 0) : static_cast<uint64_t>(operand.number));
    return true;
  }
  if (operand.kind != Operand::Kind::Name)
    return fail("an operand of '" + statement->opcode + "' is not known");
  if (auto found = registers.find(operand.name); found != registers.end()) {
    if (found->second.letter != letter)
      return fail("register '" + operand.name + "' has not the size that '" + statement->opcode + "' takes");
    slot = found->second.slot;
    return true;
  }
  if (auto found = specials.find(operand.name); found != specials.end() && letter == 'w') {
    auto [known, isNew] = specialSlots.try_emplace(operand.name);
    if (isNew) {
      known->second = newSlot(4);
      kernel.specials.push_back({known->second, found->second});
    }
    slot = known->second;
    return true;
  }
  if (auto found = symbols.find(operand.name); found != symbols.end() && (letter == 'd' || (letter == 'w' && found->second < spaceEnd))) {
    slot = constant(bytes, found->second);
    return true;
  }
  return fail("'" + operand.name + "' is not known");
}

bool Decoder::target(const Operand &operand, char letter, Slot &slot) {
  if (operand.kind == Operand::Kind::Nothing) { // written, and never read
    slot = newSlot(bytesOf(letter));
    return true;
  }
  if (operand.kind != Operand::Kind::Name || registers.find(operand.name) == registers.end())
    return fail("the result of '" + statement->opcode + "' is no register");
  return source(operand, letter, slot);
}

bool Decoder::use(const Operation &operation, Instruction &made) {
  const std::string &signature = operation.signature;
  size_t first = signature[0] == '-' ? 0 : 1, count = statement->operands.size();
  if (count != signature.size() - 1 + first)
    return fail("'" + statement->opcode + "' has " + std::to_string(count) + " operands");
  made.run = operation.run;
  made.kind = operation.kind;
  if (first) {
    const Operand &result = statement->operands[0];
    made.targets = 1;
    bool withValidity = result.kind == Operand::Kind::Vector && result.parts.size() == 2 && startsWith(statement->opcode, "shfl");
    if (!target(withValidity ? result.parts[0] : result, signature[0], made.target[0]))
      return false;
    if (withValidity) {
      made.targets = 2;
      if (!target(result.parts[1], 'p', made.target[1]))
        return false;
    }
  }
  for (size_t i = 1; i < signature.size(); ++i)
    if (!source(statement->operands[first + i - 1], signature[i], made.source[made.sources++]))
      return false;
  return true;
}

// The registers of a conversion may be larger than its types.
bool Decoder::convert(Instruction &made) {
  std::string key = statement->opcode + ":";
  for (const Operand &operand : statement->operands) {
    auto found = registers.find(operand.name);
    if (operand.kind != Operand::Kind::Name || found == registers.end())
      return fail("a conversion of what is no register");
    key += found->second.letter;
  }
  auto found = lanewiseOperations().find(key);
  if (found == lanewiseOperations().end())
    return fail("'" + statement->opcode + "' is not known for registers of these sizes");
  return use(found->second, made);
}

bool Decoder::move(Instruction &made) {
  const std::string type = statement->opcode.substr(statement->opcode.rfind('.') + 1);
  unsigned bits = type == "pred" ? 1 : static_cast<unsigned>(std::atoi(type.c_str() + 1));
  if (statement->operands.size() != 2 || (bits != 1 && bits != 16 && bits != 32 && bits != 64))
    return fail("'" + statement->opcode + "' is not known");
  char letter = letterOfBits(bits), half = letter == 'd' ? 'w' : 'h';
  const Operand &to = statement->operands[0], &from = statement->operands[1];
  made.kind = Instruction::Kind::Copy;
  made.targets = made.sources = 1;
  auto hasHalves = [&](const Operand &operand) { return operand.kind == Operand::Kind::Vector && operand.parts.size() == 2 && bits >= 32; };
  if (hasHalves(to)) {
    made.run = splitOf(letter);
    made.targets = 2;
    return target(to.parts[0], half, made.target[0]) && target(to.parts[1], half, made.target[1]) && source(from, letter, made.source[0]);
  }
  if (!target(to, letter, made.target[0]))
    return false;
  if (hasHalves(from)) {
    made.run = joinOf(letter);
    made.sources = 2;
    return source(from.parts[0], half, made.source[0]) && source(from.parts[1], half, made.source[1]);
  }
  made.run = copyOf(letter);
  return source(from, letter, made.source[0]);
}

// Addresses have 64 bits, or 32 in the spaces at low addresses.
bool Decoder::address(const Operand &operand, Instruction &made) {
  if (operand.kind != Operand::Kind::Address)
    return fail("'" + statement->opcode + "' has no address");
  made.offset = operand.number;
  Operand name;
  name.kind = operand.name.empty() ? Operand::Kind::Number : Operand::Kind::Name;
  name.name = operand.name;
  auto found = registers.find(operand.name);
  if (found == registers.end() || found->second.letter != 'w')
    return source(name, 'd', made.source[0]);
  Instruction widen;
  widen.run = lanewiseOperations().at("cvt.u64.u32:dw").run;
  widen.targets = widen.sources = 1;
  widen.source[0] = found->second.slot;
  widen.target[0] = made.source[0] = newSlot(8);
  widen.line = statement->line;
  widen.guarded = made.guarded, widen.guardNegated = made.guardNegated, widen.guard = made.guard;
  kernel.code.push_back(widen);
  return true;
}

// `ld.global.nc.v2.b32`: a space, a word about caches, a count, a type.
bool Decoder::access(Instruction &made) {
  std::vector<std::string> words;
  for (size_t begin = 0; begin != std::string::npos;) {
    size_t dot = statement->opcode.find('.', begin);
    words.push_back(statement->opcode.substr(begin, dot == std::string::npos ? dot : dot - begin));
    begin = dot == std::string::npos ? dot : dot + 1;
  }
  bool isLoad = words[0] == "ld";
  Space space = Space::Generic;
  size_t next = 1, count = 1;
  static const std::map<std::string, Space> spaces{
      {"global", Space::Global}, {"const", Space::Global}, {"shared", Space::Shared}, {"local", Space::Local}, {"param", Space::Parameter}};
  if (next < words.size() && spaces.count(words[next]))
    space = spaces.at(words[next++]);
  if (next < words.size() && isLoad && words[next] == "nc")
    ++next;
  if (next < words.size() && (words[next] == "v2" || words[next] == "v4"))
    count = words[next++] == "v2" ? 2 : 4;
  if (next + 1 != words.size() || statement->operands.size() != 2)
    return fail("'" + statement->opcode + "' is not known");
  const Operand &values = statement->operands[isLoad ? 0 : 1];
  std::vector<Operand> parts = values.kind == Operand::Kind::Vector ? values.parts : std::vector<Operand>{values};
  if (parts.size() != count)
    return fail("'" + statement->opcode + "' with " + std::to_string(parts.size()) + " values");
  const std::string &type = words[next];
  unsigned bits = static_cast<unsigned>(std::atoi(type.c_str() + 1));
  char letter = bits <= 16 ? 'h' : bits == 32 ? 'w' : 'd';
  for (const Operand &part : parts)
    if (auto found = registers.find(part.name); found != registers.end())
      letter = found->second.letter;
  made.run = isLoad ? loadOf(space, type, letter) : storeOf(space, type, letter);
  if (!made.run)
    return fail("'" + statement->opcode + "' is not known for such registers");
  made.sources = 1;
  if (!address(statement->operands[isLoad ? 1 : 0], made))
    return false;
  for (const Operand &part : parts)
    if (!(isLoad ? target(part, letter, made.target[made.targets++]) : source(part, letter, made.source[made.sources++])))
      return false;
  return true;
}

bool Decoder::one(Instruction &made) {
  const std::string &opcode = statement->opcode;
  if (opcode == "ret" || opcode == "exit") {
    made.kind = Instruction::Kind::Exit;
    return true;
  }
  if (opcode == "bra" || opcode == "bra.uni") {
    made.kind = Instruction::Kind::Branch;
    made.branch = static_cast<uint32_t>(statement->target); // of the statement; run() makes it that of the instruction
    return true;
  }
  if (opcode == "bar.sync" || opcode == "barrier.sync" || opcode == "barrier.sync.aligned") {
    if (statement->operands.size() != 1 || statement->operands[0].kind != Operand::Kind::Number || statement->operands[0].number != 0)
      return fail("of barriers only number 0 for all threads is known");
    made.kind = Instruction::Kind::Barrier;
    kernel.hasBarrier = true;
    return true;
  }
  if (startsWith(opcode, "membar.") || startsWith(opcode, "fence.")) { // memory is seen by all at once
    made.run = doNothing;
    return true;
  }
  if (startsWith(opcode, "mov."))
    return move(made);
  if (startsWith(opcode, "cvta.")) { // an address is the same in all spaces
    made.run = copyOf('d');
    made.kind = Instruction::Kind::Copy;
    made.targets = made.sources = 1;
    return statement->operands.size() == 2 && target(statement->operands[0], 'd', made.target[0]) &&
           source(statement->operands[1], 'd', made.source[0]);
  }
  if (startsWith(opcode, "cvt."))
    return convert(made);
  if (startsWith(opcode, "ld.") || startsWith(opcode, "st."))
    return access(made);
  for (const Operations *operations : {&lanewiseOperations(), &exchangeOperations()})
    if (auto found = operations->find(opcode); found != operations->end())
      return use(found->second, made);
  return fail("'" + opcode + "' is not known");
}

bool Decoder::run() {
  kernel.name = entry.name;
  kernel.parameterBytes = entry.parameterBytes;
  std::copy(std::begin(entry.threads), std::end(entry.threads), kernel.threads);
  addRegisters();
  addSymbols();
  std::vector<uint32_t> firstOf; // instruction of each statement
  for (const Statement &next : entry.statements) {
    statement = &next;
    firstOf.push_back(static_cast<uint32_t>(kernel.code.size()));
    Instruction made;
    made.line = next.line;
    made.guarded = !next.guard.empty();
    made.guardNegated = next.guardNegated;
    if (made.guarded) {
      Operand guard;
      guard.kind = Operand::Kind::Name;
      guard.name = next.guard;
      if (!source(guard, 'p', made.guard))
        return false;
    }
    if (!one(made))
      return false;
    kernel.code.push_back(made);
  }
  if (kernel.code.empty() || (kernel.code.back().kind != Instruction::Kind::Exit && kernel.code.back().kind != Instruction::Kind::Branch)) {
    error = "kernel '" + entry.name + "' does not end";
    return false;
  }
  for (size_t i = 0; i < kernel.code.size(); ++i) {
    kernel.code[i].number = static_cast<uint32_t>(i);
    if (kernel.code[i].kind == Instruction::Kind::Branch)
      kernel.code[i].branch = firstOf[kernel.code[i].branch];
  }
  return true;
}
} // namespace

bool decode(const Entry &entry, const std::map<std::string, uint64_t> &globals, Kernel &kernel, std::string &error) {
  return Decoder(entry, globals, kernel, error).run();
}

} // namespace npar::standin::ptx
