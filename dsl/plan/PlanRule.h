// A rule as the text has it: what is read before the model is known and checked against the model afterwards.
#pragma once

#include "dsl/Ast.h"
#include "dsl/Program.h"

namespace npar::dsl {

/// The word after `by`: a schedule for a repeat, or a way of attention or of experts for an axis.
struct ScheduleChoice {
  std::string name; ///< name of a known schedule, or a file as written
  std::string path; ///< path of the file; empty for a known schedule
  int chunks = 0;   ///< per stage; 0 when the rule gives none
  Location at;
  std::string way = {}; ///< how attention sees a split sequence, or how rows get to experts (Rule::by); empty for a schedule
};

/// One left-hand name of a rule of the text. A rule whose condition is false is kept, so that its names are checked.
struct PlanRule {
  Rule rule;
  const ast::Rule *source = nullptr;
  std::optional<ScheduleChoice> schedule;
  std::vector<int64_t> counts; ///< the numbers of `stages [...]`
  double live = 0;             ///< the number after `live`; 0 when the rule gives none
  Location axisAt, padAt, opAt, layerAt;
  std::vector<Location> meshAt; ///< one for each mesh axis of the rule
  bool enabled = true;          ///< whether the rule's condition holds
};

} // namespace npar::dsl
