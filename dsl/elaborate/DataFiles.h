// The files that a clause of a data block names: `stream "a.txt" weight 0.7, "b.u16" weight 0.3`.
#pragma once

#include "dsl/Program.h"
#include "dsl/constants/Evaluate.h"

namespace npar::dsl {

/// A path of the text, from the folder of the text.
std::string pathOfFile(const ast::Name &path, const Sources &sources);

/// Reads a file of a clause; `kind` is the clause's word: stream, file, idx, images or text. Reports an error and throws Stop after it.
DataFile dataFile(const ast::DataFile &from, const std::string &kind, const Sources &sources, Reporter &reporter);

/// Gives the files of a group their weights as whole numbers, as small as they can be. Reports an error and throws Stop after it.
void weighFiles(const ast::DataSource &from, Evaluator &evaluator, Scope &scope, DataGroup &group);

} // namespace npar::dsl
