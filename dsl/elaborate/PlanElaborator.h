// A plan: mesh, micro-batch and rules. Evaluated before the model (which needs the size of `batch`), checked against it afterwards.
#pragma once

#include "dsl/Program.h"
#include "dsl/Schedules.h"
#include "dsl/elaborate/Settings.h"
#include "dsl/elaborate/TrainElaborator.h"

namespace npar::dsl {

class PlanElaborator {
public:
  PlanElaborator(const KnownSchedules &schedules, Settings &settings, Evaluator &evaluator, Sources &sources, Diagnostics &diagnostics)
      : schedules(schedules), settings(settings), evaluator(evaluator), reporter(evaluator.reporter), sources(sources),
        diagnostics(diagnostics) {}

  /// The plan's own text: mesh sizes, rules, micro; then D and M from the batch. `source` null: one rank (`--plan none`).
  void declare(const ast::Plan *source, const ElaboratedTrain &train);

  /// The rules against the axes, blocks and operations of the model.
  void check(const Model &model);

  Plan plan;

private:
  /// What stands behind `by`.
  struct Chosen {
    std::string name; ///< of a known schedule, or a file as written
    std::string path; ///< of the file
    int chunks = 0;   ///< 0: not said
    Location at;
    std::string way = {}; ///< no schedule: how attention sees a split sequence (Rule::by)
  };

  /// One left-hand name of a rule of the text, also when its condition is false.
  struct Entry {
    Rule rule;
    const ast::Rule *source = nullptr;
    std::optional<Chosen> schedule;
    std::vector<int64_t> counts; ///< of `stages [...]`
    Location axisAt, padAt, opAt, layerAt;
    std::vector<Location> meshAt;
    bool enabled = true;
  };

  /// A part of a mesh axis by the sizes in front of it and with it: of 8 = 4 * 2 the parts are (1, 4) and (4, 8).
  struct Piece {
    std::string mesh;
    int64_t from = 1, to = 1;
  };
  /// What a factor of a product axis takes.
  struct Share {
    std::string factor;
    std::vector<Piece> pieces;
  };

  void mesh(const ast::Plan &source);
  void rule(const ast::Rule &source);
  std::optional<Chosen> schedule(const ast::Rule &source);
  std::optional<Chosen> way(const ast::Rule &source);
  std::vector<int64_t> counts(const ast::Rule &source);
  void settingsOf(const ast::Plan *source);
  void micro(const ast::Plan *source);
  void parallelism(const ElaboratedTrain &train);
  const MeshAxis *findMesh(const std::string &name) const;
  /// A word of the text, or the text that a constant of this name holds.
  std::string word(const ast::Expression &expression);
  int64_t bytes(const ast::Quantity &quantity);

  // PlanStore.cpp
  void store(const ast::StoreRule &source);
  void bucket(const std::vector<ast::Quantity> &sources);
  void checkStores();

  // PlanPrecision.cpp
  void precision(const ast::Plan *source);
  std::optional<ElementType> elementType(const ast::Expression &expression, const std::string &what,
                                         const std::vector<std::string> &allowed);
  void checkKeeps(const Model &model);

  // PlanRecompute.cpp
  void recompute(const ast::Plan *source);
  void checkRecompute(const Model &model);
  void limits(const std::vector<ast::Quantity> &sources);

  // PlanProducts.cpp
  std::vector<Share> shares(const Entry &entry, const ProductAxis &product, const Model &model) const;
  /// Cuts the mesh axes that a product axis takes in parts: `cuts` and `fineMesh`.
  void cutMesh(const Model &model);
  /// The parts in place of the mesh axes that were cut.
  std::vector<std::string> fineNames(const std::vector<std::string> &mesh) const;
  /// The rule over the cut mesh; that of a product axis as one rule per factor.
  void addRules(const Entry &entry, const Model &model);

  // PlanCheck.cpp
  static const Axis *findAxis(const Model &model, const std::string &name);
  static const ProductAxis *findProduct(const Model &model, const std::string &name);
  void checkNames(const Entry &entry, const Model &model);
  void checkNarrowing(const Entry &entry, const Model &model);
  void checkDivision(const Entry &entry, const Model &model);
  void checkPipeline(const Model &model);
  void readSchedule(const MeshAxis &stages, const Chosen &chosen);
  void checkBlocks(const MeshAxis &stages, int blocks);
  void checkCounts(const MeshAxis &stages, int blocks);
  int64_t chunksOf(const Pipeline &pipeline) const;
  void checkMicros(const MeshAxis &stages, Location at);
  void checkConflicts();
  void checkWay(const Entry &entry, const Model &model);
  int64_t meshSize(const Entry &entry) const;

  const KnownSchedules &schedules;
  Settings &settings;
  Evaluator &evaluator;
  Reporter &reporter;
  Sources &sources;
  Diagnostics &diagnostics;
  Scope scope;
  std::vector<Entry> entries;
  std::map<std::string, std::vector<Piece>> cuts; ///< of the mesh axes that product axes take in parts
  std::vector<MeshAxis> fineMesh;
  std::map<std::string, const ast::Expression *> values; ///< of the plan's settings, by their words
  Location microAt;
};

/// Whether a layer's path, or one of its parents, matches a pattern; `*` stands for anything but a point.
bool matchesPath(const std::string &pattern, const std::string &path);
/// What a star stands for, with a path of the model.
std::string starHelp(const Model &model);

} // namespace npar::dsl
