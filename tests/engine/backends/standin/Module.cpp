// Decodes all kernels of a text at once: what is not known is an error of loading, not of a launch.
#include "tests/engine/backends/standin/Module.h"

#include "tests/engine/backends/standin/ptx/Decode.h"

#include <cstring>

namespace npar::standin {

std::shared_ptr<Module> loadModule(const std::string &source, Memory &memory, Device &device, int architecture, std::string &error) {
  ptx::Text text;
  if (!ptx::readText(source, text, error))
    return nullptr;
  // PTX for an older architecture runs on a newer one, but that for one alone (sm_90a) does not.
  size_t digits = 0;
  int target = text.target.compare(0, 3, "sm_") == 0 ? std::stoi("0" + text.target.substr(3), &digits) : 0;
  bool exact = digits + 2 != text.target.size();
  if (target == 0 || (exact ? target != architecture : target > architecture)) {
    error = "the text is for " + text.target + ", the device is sm_" + std::to_string(architecture);
    return nullptr;
  }
  auto module = std::make_shared<Module>();
  module->device = &device;
  std::map<std::string, uint64_t> globals;
  for (const ptx::Variable &variable : text.globals) {
    uint64_t address = memory.allocate(device.number, variable.bytes);
    if (address == 0) {
      error = "no memory for variable '" + variable.name + "'";
      break;
    }
    memory.giveToModule(address);
    module->globals.push_back(address);
    globals[variable.name] = address;
    uint8_t *bytes = memory.find(device.number, address, variable.bytes);
    std::memset(bytes, 0, variable.bytes); // as the PTX manual says of variables without values
    std::memcpy(bytes, variable.values.data(), std::min<size_t>(variable.values.size(), variable.bytes));
  }
  for (const ptx::Entry &entry : text.entries)
    if (error.empty() && ptx::decode(entry, globals, module->kernels[entry.name], error))
      module->kernels[entry.name].version = text.version;
  if (error.empty())
    return module;
  for (uint64_t address : module->globals)
    memory.release(address);
  return nullptr;
}

} // namespace npar::standin
