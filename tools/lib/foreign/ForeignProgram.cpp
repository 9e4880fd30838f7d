// A program that lacks nothing, of which npar can recognize and write nothing.
#include "tools/lib/foreign/ForeignProgram.h"

#include <fmt/format.h>

namespace npar::foreign {

void Refusals::error(const dsl::Location &at, const std::string &text, const std::string &help) {
  dsl::Diagnostic &one = diagnostics.error(dsl::Code::F4, at, text);
  if (!help.empty())
    one.help(at, help);
}

void Refusals::warning(const dsl::Location &at, const std::string &text, const std::string &help) {
  dsl::Diagnostic &one = diagnostics.warning(at, text);
  if (!help.empty())
    one.help(at, help);
}

Sign ForeignProgram::signOf(const std::string &) const { return Sign::None; }
Sign ForeignProgram::signOfLine(std::string_view) const { return Sign::None; }
bool ForeignProgram::hasEnding(const std::string &) const { return false; }
std::string ForeignProgram::shown(const std::string &key, const std::string &value, bool) const { return key + " = " + value; }

std::optional<ForeignReference> ForeignProgram::referenceOf(const ForeignEntry &) const { return std::nullopt; }

bool ForeignProgram::writes() const { return false; }
std::string ForeignProgram::write(const ForeignRun &, const dsl::Program &, dsl::Diagnostics &) const { return ""; }
const std::set<std::string> &ForeignProgram::schedules() const {
  static const std::set<std::string> none;
  return none;
}
std::vector<std::string> ForeignProgram::optimizers() const { return {}; }
std::optional<program::ElementType> ForeignProgram::gradientsOf(program::ElementType) const { return std::nullopt; }
bool ForeignProgram::expresses(const PlanShape &) const { return false; }
bool ForeignProgram::numbersDpOutside() const { return false; }

void ForeignProgram::checkPipeline(const dsl::Pipeline &, const ForeignRun &, Refusals &) const {}
void ForeignProgram::checkSequenceOverTensor(const dsl::Rule &, Refusals &) const {}
void ForeignProgram::checkContext(const dsl::Rule &, const dsl::Model &, const ForeignRun &, Refusals &) const {}
void ForeignProgram::checkRules(const dsl::Plan &, const std::string &, const ForeignRun &, Refusals &) const {}
void ForeignProgram::checkStores(const dsl::Plan &, const dsl::Store *, const ForeignRun &, Refusals &) const {}
void ForeignProgram::checkTypes(const dsl::Plan &, const ForeignRun &, Refusals &) const {}
void ForeignProgram::checkRecompute(const dsl::Recompute &, const ForeignRun &, Refusals &) const {}
void ForeignProgram::checkBucket(const dsl::Plan &, Refusals &) const {}

void ForeignProgram::warnOfSpread(const dsl::Pipeline &pipeline, Refusals &refusals) const {
  refusals.warning(pipeline.location, fmt::format("{} spreads the blocks by their number, this plan by their cost", name()),
                   "`stages [...]` gives the blocks of each part");
}

} // namespace npar::foreign
