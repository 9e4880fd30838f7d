// Goes through a program's variables: what outlives a step is stored, a parameter in 16 bits through its master.
#include "engine/checkpoint/CheckpointTensors.h"

#include "engine/files/StreamHash.h"
#include "engine/program/Elements.h"
#include "engine/program/ModelState.h"
#include "engine/program/Precision.h"
#include "engine/safetensors/Safetensors.h"
#include "engine/safetensors/StoredType.h"

#include <algorithm>

namespace npar::engine {

using namespace program;

static CheckpointTensor tensorOf(const Program &program, uint32_t index) {
  const Variable &variable = *program.variables()->Get(index);
  const Variable *parameter = variable.of() >= 0 ? program.variables()->Get(static_cast<uint32_t>(variable.of())) : nullptr;
  bool master = isMaster(variable), isParameter = master || variable.kind() == VariableKind::Parameter;
  CheckpointTensor result;
  result.variable = index;
  result.written = master ? static_cast<uint32_t>(variable.of()) : index;
  ManifestTensor &tensor = result.tensor;
  tensor.name = (master ? parameter : &variable)->name()->str();
  tensor.kind = isParameter ? "parameter" : "state";
  tensor.of = parameter && !master ? parameter->name()->str() : "";
  if (isModelState(variable))
    tensor.slot = modelStateSlot;
  else if (!master)
    tensor.slot = variable.frozen() ? frozenSlot : variable.slot()->str();
  tensor.type = storedWord(variable.type());
  tensor.shape.assign(variable.shape()->begin(), variable.shape()->end());
  const Variable &stored = parameter ? *parameter : variable; // the optimizer's state has its parameter's stored shape
  tensor.stored.assign(stored.stored()->begin(), stored.stored()->end());
  return result;
}

std::vector<CheckpointTensor> checkpointTensors(const Program &program) {
  std::vector<CheckpointTensor> tensors;
  for (uint32_t i = 0; i < program.variables()->size(); ++i)
    if (isStored(program, i))
      tensors.push_back(tensorOf(program, i));
  std::stable_sort(tensors.begin(), tensors.end(), [](const CheckpointTensor &a, const CheckpointTensor &b) {
    auto order = [](const CheckpointTensor &each) { return each.tensor.kind == "parameter" ? each.written : UINT32_MAX; };
    return order(a) < order(b);
  });
  return tensors;
}

std::vector<OwnedPiece> checkpointPieces(const Program &program, const std::vector<int64_t> &ranks) {
  std::vector<bool> stored;
  for (uint32_t i = 0; i < program.variables()->size(); ++i)
    stored.push_back(isStored(program, i));
  std::vector<OwnedPiece> pieces = ownedPieces(program, ranks);
  pieces.erase(std::remove_if(pieces.begin(), pieces.end(), [&](const OwnedPiece &piece) { return !stored[piece.variable]; }),
               pieces.end());
  return pieces;
}

uint64_t bytesOf(const Program &program, const std::vector<OwnedPiece> &pieces) {
  uint64_t bytes = 0;
  for (const OwnedPiece &piece : pieces)
    bytes += piece.elements() * sizeOf(program.variables()->Get(piece.variable)->type());
  return bytes;
}

std::string modelHash(const Program &program) {
  std::string text;
  for (const Variable *variable : *program.variables())
    if (variable->kind() == VariableKind::Parameter)
      text += variable->name()->str() + shapeText({variable->stored()->begin(), variable->stored()->end()}) + "\n";
  return files::hashText(text.data(), text.size());
}

int64_t findState(const Program &program, const std::string &slot) {
  for (uint32_t i = 0; i < program.variables()->size(); ++i) {
    const Variable &variable = *program.variables()->Get(i);
    if (variable.kind() == VariableKind::State && variable.of() < 0 && variable.slot()->str() == slot)
      return i;
  }
  return -1;
}

} // namespace npar::engine
