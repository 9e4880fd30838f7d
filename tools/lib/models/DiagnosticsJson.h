// Located messages as data, for editors and programs that embed npar.
#pragma once

#include "dsl/Diagnostics.h"
#include "engine/json/Json.h"

#include <string>

namespace npar::models {

/// [{severity, message, at: {file, line, column, begin, end}, code, notes: [{severity, message, at}], fixes: [{title, trust, edits: [{file,
/// begin, end, text}]}]}]. `file` is the name of the text, absent without a place; `code` is absent in warnings; lines and columns count characters from 1, begin and end
/// bytes.
OrderedJson diagnosticsJson(const dsl::Diagnostics &diagnostics, const dsl::Sources &sources);

} // namespace npar::models
