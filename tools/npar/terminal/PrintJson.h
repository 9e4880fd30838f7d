// Prints what other programs read: the result of a command with --json.
#pragma once

#include "engine/json/Document.h"

namespace npar::driver {

/// Prints an object to standard output as a JSON document, which begins with the number of its schema, and a line break.
void printJson(OrderedJson object, json::Form form = json::Form::Indented);

} // namespace npar::driver
