// Checks that each logical element of a parameter or optimizer state has exactly one owner: it is initialised, counted in the norm,
// hashed and saved once, whatever the mesh.
#include "engine/program/Checks.h"
#include "engine/program/Classes.h"

namespace npar::program {

std::string checkOwnership(const Program &program) {
  std::vector<const RankClass *> owners(program.variables()->size(), nullptr);
  std::vector<bool> kept(program.variables()->size());
  for (const RankClass *rankClass : *program.classes()) {
    std::vector<bool> here(program.variables()->size());
    for (const Piece *piece : *rankClass->pieces()) {
      std::string name = "'" + program.variables()->Get(piece->variable())->name()->str() + "'";
      if (here[piece->variable()])
        return rankClass->name()->str() + " keeps two pieces of " + name;
      here[piece->variable()] = kept[piece->variable()] = true;
      if (!piece->owner())
        continue;
      if (owners[piece->variable()])
        return name + " is owned by " + owners[piece->variable()]->name()->str() + " and by " + rankClass->name()->str();
      owners[piece->variable()] = rankClass;
      // Owners within the class are the ranks at coordinate 0 of the mesh axes that do not split the variable. An axis that the class fixes
      // cannot split it, because then no rank would keep the elements of the other coordinates.
      std::vector<uint32_t> splitting(piece->mesh_axes()->begin(), piece->mesh_axes()->end());
      splitting.insert(splitting.end(), piece->flat_axes()->begin(), piece->flat_axes()->end());
      for (uint32_t axis : splitting)
        if (fixedCoordinate(*rankClass, axis) >= 0 && program.mesh()->Get(axis)->size() > 1)
          return name + " is split over mesh axis '" + program.mesh()->Get(axis)->name()->str() + "', which its owner " +
                 rankClass->name()->str() + " fixes";
    }
  }
  for (uint32_t index = 0; index < owners.size(); ++index) {
    const Variable *variable = program.variables()->Get(index);
    bool must = variable->kind() == VariableKind::Parameter || variable->kind() == VariableKind::State || kept[index];
    if (must && !owners[index])
      return "'" + variable->name()->str() + "' is owned by no rank";
  }
  return "";
}

} // namespace npar::program
